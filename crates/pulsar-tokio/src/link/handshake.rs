//! From a socket to a link: what is said before anything else can be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use pulsar_wire::{DEFAULT_MAX_MESSAGE_SIZE, FRAME_SLACK, FrameDecoder, encode_frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::{Link, State, Waiter, read, write};
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;
use crate::session::connection::{Connection, Incoming};

/// A socket on its way to becoming a link.
pub(super) struct Handshake {
    stream: TcpStream,
    connection: Connection<Waiter>,
    decoder: FrameDecoder,
    input: BytesMut,
}

impl Handshake {
    pub(super) fn new(stream: TcpStream, keep_alive: Duration) -> Self {
        Self {
            stream,
            connection: Connection::new(Instant::now(), keep_alive),
            decoder: FrameDecoder::new(DEFAULT_MAX_MESSAGE_SIZE + FRAME_SLACK),
            input: BytesMut::with_capacity(64 << 10),
        }
    }

    pub(super) async fn shake(mut self, target: &Target) -> Result<Self, Error> {
        let address = target.address();
        let lost = |source: std::io::Error| {
            let text = format!("the connection to {address} broke during the handshake");
            Error::with_source(ErrorKind::Unreachable, text, source)
        };
        let mut hello = BytesMut::new();
        encode_frame(&Connection::<Waiter>::connect(target.behind_proxy()), &mut hello);
        self.stream.write_all(&hello).await.map_err(lost)?;
        loop {
            while let Some(frame) = self
                .decoder
                .decode(&mut self.input)
                .map_err(|error| no_pulsar(target, error))?
            {
                match self.connection.receive(frame.command)? {
                    Incoming::Up => {
                        self.decoder
                            .set_limit(self.connection.max_message_size() + FRAME_SLACK);
                        return Ok(self);
                    }
                    Incoming::Reply(command) => {
                        let mut reply = BytesMut::new();
                        encode_frame(&command, &mut reply);
                        self.stream.write_all(&reply).await.map_err(lost)?;
                    }
                    _ => {}
                }
            }
            if self.stream.read_buf(&mut self.input).await.map_err(lost)? == 0 {
                let text = format!("{address} closed the connection during the handshake");
                return Err(Error::new(ErrorKind::Unreachable, text));
            }
        }
    }

    pub(super) fn start(self, number: u64, target: Target) -> Arc<Link> {
        let link = Arc::new(Link {
            number,
            target,
            max_message_size: self.connection.max_message_size(),
            ids: self.connection.ids(),
            state: Mutex::new(State {
                connection: self.connection,
                sessions: HashMap::new(),
                down: None,
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

fn no_pulsar(target: &Target, error: pulsar_wire::FrameError) -> Error {
    let text = format!("{} does not speak Pulsar's protocol", target.address());
    Error::with_source(ErrorKind::Unreachable, text, error)
}
