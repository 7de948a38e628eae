//! What is said on a connection before anything else can be.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::BytesMut;
use pulsar_wire::{Command, DEFAULT_MAX_MESSAGE_SIZE, FRAME_SLACK, FrameDecoder, encode_frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use super::dial::DialOptions;
use super::stream::Stream;
use super::{Link, State, Waiter, read, write};
use crate::auth::{Authenticator, Credentials};
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;
use crate::service_url::ServiceUrl;
use crate::session::connection::{Connection, Incoming};
use crate::tls;

/// The content types with which TLS begins its records: alert and handshake. No frame of Pulsar
/// is so large that it begins with one.
const TLS_RECORDS: [u8; 2] = [0x15, 0x16];

/// A socket on its way to becoming a link.
pub(super) struct Handshake {
    stream: Stream,
    address: ServiceUrl,
    has_certificate: bool,
    authenticator: Arc<Authenticator>,
    connection: Connection<Waiter>,
    decoder: FrameDecoder,
    input: BytesMut,
}

impl Handshake {
    pub(super) fn new(
        stream: Stream,
        address: &ServiceUrl,
        options: &DialOptions,
        credentials: Option<Credentials>,
    ) -> Self {
        Self {
            stream,
            address: address.clone(),
            has_certificate: options.tls.has_certificate(),
            authenticator: options.authenticator.clone(),
            connection: Connection::new(Instant::now(), options.keep_alive, credentials),
            decoder: FrameDecoder::new(DEFAULT_MAX_MESSAGE_SIZE + FRAME_SLACK),
            input: BytesMut::with_capacity(64 << 10),
        }
    }

    pub(super) async fn shake(mut self, target: &Target) -> Result<Self, Error> {
        let hello = self.connection.connect(target.behind_proxy());
        self.send(&hello).await;
        loop {
            if self.input.first().is_some_and(|byte| TLS_RECORDS.contains(byte)) {
                let text = format!(
                    "{} speaks TLS, expected pulsar+ssl:// in its address",
                    self.address
                );
                return Err(Error::new(ErrorKind::Tls, text));
            }
            while let Some(frame) = self
                .decoder
                .decode(&mut self.input)
                .map_err(|error| self.no_pulsar(error))?
            {
                match self.connection.receive(frame.command)? {
                    Incoming::Up => {
                        self.decoder
                            .set_limit(self.connection.max_message_size() + FRAME_SLACK);
                        return Ok(self);
                    }
                    Incoming::Reply(command) => self.send(&command).await,
                    Incoming::Challenge => {
                        let credentials = self.authenticator.credentials().await?;
                        let response = self.connection.respond(credentials)?;
                        self.send(&response).await;
                    }
                    _ => {}
                }
            }
            let read = self.stream.read_buf(&mut self.input).await;
            if !read.as_ref().is_ok_and(|count| *count > 0) {
                return Err(self.broken(read.err()));
            }
        }
    }

    /// Sends a command. A failure shows when the answer is read, perhaps with the peer's reason:
    /// brokers refuse a client's certificate after their own part of the handshake.
    async fn send(&mut self, command: &Command) {
        let mut frame = BytesMut::new();
        encode_frame(command, &mut frame);
        let sending = async {
            self.stream.write_all(&frame).await?;
            self.stream.flush().await
        };
        if let Err(error) = sending.await {
            tracing::debug!(broker = %self.address, %error, "the handshake cannot be sent");
        }
    }

    fn broken(&self, error: Option<io::Error>) -> Error {
        let address = &self.address;
        let refusal = error
            .as_ref()
            .and_then(|error| tls::explain_refusal(error, &address.to_string(), self.has_certificate));
        if let Some(text) = refusal {
            return Error::with_source(ErrorKind::Tls, text, error.unwrap_or_else(end_of_file));
        }
        let hint = match (self.stream.is_tls(), self.has_certificate) {
            (false, _) => "is it a port with TLS (pulsar+ssl://)?",
            (true, false) => "does it require a client certificate?",
            (true, true) => "does it trust the client certificate?",
        };
        let text = format!("{address} closed the connection during the handshake; {hint}");
        Error::with_source(ErrorKind::Unreachable, text, error.unwrap_or_else(end_of_file))
    }

    fn no_pulsar(&self, error: pulsar_wire::FrameError) -> Error {
        let text = format!("{} does not speak Pulsar's protocol", self.address);
        Error::with_source(ErrorKind::Unreachable, text, error)
    }

    pub(super) fn start(self, number: u64, target: Target) -> Arc<Link> {
        let link = Arc::new(Link {
            number,
            target,
            address: self.address,
            authenticator: self.authenticator,
            max_message_size: self.connection.max_message_size(),
            watches_topics: self.connection.watches_topics(),
            ids: self.connection.ids(),
            state: Mutex::new(State {
                connection: self.connection,
                sessions: HashMap::new(),
                down: None,
                renewing: false,
                no_credentials: None,
            }),
            outbox: Mutex::new(Vec::new()),
            writable: Notify::new(),
            ending: Notify::new(),
        });
        let (reader, writer) = self.stream.into_split();
        tokio::spawn(read(link.clone(), reader, self.decoder, self.input));
        tokio::spawn(write(link.clone(), writer));
        link
    }
}

fn end_of_file() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
