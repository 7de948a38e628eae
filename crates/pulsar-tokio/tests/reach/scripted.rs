//! A peer that speaks Pulsar's protocol as a test wants it: it takes everything, unless told
//! otherwise, keeps what it hears, and can be told to say something.

use std::sync::{Arc, Mutex};

use bytes::BytesMut;
use pulsar_wire::proto::{
    AuthData, CommandAuthChallenge, CommandConnect, CommandConnected, CommandLookupTopic,
    CommandLookupTopicResponse, CommandPartitionedTopicMetadataResponse, CommandPong, CommandProducerSuccess,
    CommandSendReceipt, CommandSuccess, LookupType, MetadataLookupType,
};
use pulsar_wire::{Command, FrameDecoder, encode_frame};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};
use tokio_rustls::TlsAcceptor;

use crate::support::within;

/// What is answered to a command instead of the usual; none for the usual.
type Script = dyn Fn(&Command) -> Option<Vec<Command>> + Send + Sync;

type Server = Option<Arc<rustls::ServerConfig>>;

/// Ends when it is dropped.
pub(crate) struct Scripted {
    url: String,
    state: Arc<State>,
    accepting: tokio::task::JoinHandle<()>,
}

struct State {
    url: String,
    script: Box<Script>,
    tls: Mutex<Server>,
    heard: watch::Sender<Vec<Command>>,
    orders: broadcast::Sender<Order>,
}

#[derive(Clone)]
enum Order {
    Say(Box<Command>),
    Cut,
}

impl Scripted {
    pub(crate) async fn plain() -> Self {
        Self::start(None, |_| None).await
    }

    pub(crate) async fn with_tls(server: Arc<rustls::ServerConfig>) -> Self {
        Self::start(Some(server), |_| None).await
    }

    pub(crate) async fn with_script(
        script: impl Fn(&Command) -> Option<Vec<Command>> + Send + Sync + 'static,
    ) -> Self {
        Self::start(None, script).await
    }

    pub(crate) async fn start(
        tls: Server,
        script: impl Fn(&Command) -> Option<Vec<Command>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let scheme = if tls.is_some() { "pulsar+ssl" } else { "pulsar" };
        let state = Arc::new(State {
            url: format!("{scheme}://{address}"),
            script: Box::new(script),
            tls: Mutex::new(tls),
            heard: watch::Sender::new(Vec::new()),
            orders: broadcast::Sender::new(16),
        });
        let accepting = tokio::spawn(accept(listener, state.clone()));
        Self {
            url: state.url.clone(),
            state,
            accepting,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `127.0.0.1:port`
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").expect("a URL").1
    }

    /// The certificate of connections to come.
    pub(crate) fn show(&self, server: Arc<rustls::ServerConfig>) {
        *self.state.tls.lock().expect("no panic") = Some(server);
    }

    /// Says something on every connection.
    pub(crate) fn say(&self, command: impl Into<Command>) {
        let _ = self.state.orders.send(Order::Say(Box::new(command.into())));
    }

    /// Ends every connection.
    pub(crate) fn cut(&self) {
        let _ = self.state.orders.send(Order::Cut);
    }

    /// What of what was heard `pick` takes.
    pub(crate) fn heard<T>(&self, pick: impl Fn(&Command) -> Option<T>) -> Vec<T> {
        self.state.heard.borrow().iter().filter_map(pick).collect()
    }

    /// The same, once there are that many.
    pub(crate) async fn wait<T>(&self, count: usize, pick: impl Fn(&Command) -> Option<T>) -> Vec<T> {
        let mut heard = self.state.heard.subscribe();
        let waiting = heard.wait_for(|heard| heard.iter().filter_map(&pick).count() >= count);
        within("what the client says", waiting).await.expect("a peer");
        self.heard(pick)
    }

    pub(crate) fn connects(&self) -> Vec<CommandConnect> {
        self.heard(connect)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.cut();
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            return;
        };
        let server = state.tls.lock().expect("no panic").clone();
        let state = state.clone();
        tokio::spawn(async move {
            match server {
                None => serve(socket, state).await,
                Some(server) => {
                    if let Ok(stream) = TlsAcceptor::from(server).accept(socket).await {
                        serve(stream, state).await;
                    }
                }
            }
        });
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, state: Arc<State>) {
    let mut orders = state.orders.subscribe();
    let mut decoder = FrameDecoder::default();
    let mut input = BytesMut::new();
    loop {
        let mut output = BytesMut::new();
        while let Ok(Some(frame)) = decoder.decode(&mut input) {
            state.heard.send_modify(|heard| heard.push(frame.command.clone()));
            let answers = (state.script)(&frame.command).unwrap_or_else(|| usual(&frame.command, &state.url));
            for answer in answers {
                encode_frame(&answer, &mut output);
            }
        }
        if stream.write_all(&output).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        let order = tokio::select! {
            read = stream.read_buf(&mut input) => match read {
                Ok(count) if count > 0 => continue,
                _ => return,
            },
            order = orders.recv() => order,
        };
        match order {
            Ok(Order::Say(command)) => {
                let mut frame = BytesMut::new();
                encode_frame(&command, &mut frame);
                if stream.write_all(&frame).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// What a broker answers that has every topic and takes everybody.
fn usual(command: &Command, url: &str) -> Vec<Command> {
    let answer = match command {
        Command::Connect(_) => connected(),
        Command::LookupTopic(lookup) => found(lookup, url, false),
        Command::PartitionMetadata(question) => CommandPartitionedTopicMetadataResponse {
            partitions: Some(0),
            request_id: question.request_id,
            response: Some(MetadataLookupType::Success as i32),
            ..Default::default()
        }
        .into(),
        Command::Producer(producer) => CommandProducerSuccess {
            request_id: producer.request_id,
            producer_name: "scripted".into(),
            last_sequence_id: Some(-1),
            ..Default::default()
        }
        .into(),
        Command::Send(send) => CommandSendReceipt {
            producer_id: send.producer_id,
            sequence_id: send.sequence_id,
            message_id: Some(pulsar_wire::proto::MessageIdData {
                ledger_id: 1,
                entry_id: send.sequence_id,
                ..Default::default()
            }),
            ..Default::default()
        }
        .into(),
        Command::CloseProducer(close) => CommandSuccess {
            request_id: close.request_id,
            ..Default::default()
        }
        .into(),
        Command::Ping(_) => CommandPong {}.into(),
        _ => return Vec::new(),
    };
    vec![answer]
}

pub(crate) fn connected() -> Command {
    CommandConnected {
        server_version: "scripted".to_owned(),
        protocol_version: Some(21),
        max_message_size: Some(5 << 20),
        ..Default::default()
    }
    .into()
}

/// The answer that the broker at `url` has the topic.
pub(crate) fn found(lookup: &CommandLookupTopic, url: &str, proxied: bool) -> Command {
    let (plain, tls) = if url.starts_with("pulsar+ssl") {
        (None, Some(url.to_owned()))
    } else {
        (Some(url.to_owned()), None)
    };
    CommandLookupTopicResponse {
        broker_service_url: plain,
        broker_service_url_tls: tls,
        response: Some(LookupType::Connect as i32),
        request_id: lookup.request_id,
        authoritative: Some(true),
        proxy_through_service_url: Some(proxied),
        ..Default::default()
    }
    .into()
}

/// What Pulsar asks for when credentials have expired.
pub(crate) fn challenge() -> CommandAuthChallenge {
    CommandAuthChallenge {
        challenge: Some(AuthData {
            auth_method_name: Some("token".to_owned()),
            auth_data: Some("PulsarAuthRefresh".into()),
        }),
        ..Default::default()
    }
}

pub(crate) fn connect(command: &Command) -> Option<CommandConnect> {
    match command {
        Command::Connect(connect) => Some((**connect).clone()),
        _ => None,
    }
}

/// The credentials in answers to challenges.
pub(crate) fn response(command: &Command) -> Option<String> {
    let Command::AuthResponse(response) = command else {
        return None;
    };
    let data = response.response.as_ref()?.auth_data.as_ref()?;
    Some(String::from_utf8_lossy(data).into_owned())
}

/// A port where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// A server that takes connections and says nothing, then ends them when `first` is written.
pub(crate) async fn mute() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

/// Reads a little and ends the connection, as a port does that speaks something else.
pub(crate) async fn hang_up(mut socket: TcpStream) {
    let _ = socket.read(&mut [0; 64]).await;
}
