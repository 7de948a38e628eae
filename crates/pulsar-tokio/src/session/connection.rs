//! One connection: the handshake, the numbers of requests and who waits for their answers, and
//! whether the other side is still alive.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pulsar_wire::proto::{
    AuthData, CommandAuthResponse, CommandConnect, CommandConnected, CommandPong, FeatureFlags,
};
use pulsar_wire::{Command, DEFAULT_MAX_MESSAGE_SIZE, PROTOCOL_VERSION, ServerError};

use crate::auth::Credentials;
use crate::error::{Error, ErrorKind};
use crate::secret::scrub;

/// The numbers of one connection's requests. All kinds of requests share them, and none comes twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestIds(Arc<AtomicU64>);

impl RequestIds {
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// The state of one connection; `W` is what waits for the answer to a request.
#[derive(Debug)]
pub(crate) struct Connection<W> {
    phase: Phase,
    ids: RequestIds,
    waiting: HashMap<u64, W>,
    keep_alive: Duration,
    last_heard: Instant,
    pinged: bool,
    max_message_size: usize,
    watches_topics: bool,
    /// What the broker was shown last.
    credentials: Option<Credentials>,
}

/// The request number, -1 in Java, of an error that answers no request.
const NO_REQUEST: u64 = u64::MAX;

/// How clients introduce themselves.
const CLIENT_VERSION: &str = concat!("pulsar-tokio-", env!("CARGO_PKG_VERSION"));

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Handshake,
    Up,
    Down,
}

/// Where an incoming command belongs.
#[derive(Debug)]
pub(crate) enum Incoming<W> {
    /// The handshake is over.
    Up,
    /// Send this back.
    Reply(Command),
    /// The answer to a request.
    Answer(W, Command),
    /// A command for a producer or a consumer on this connection.
    Session(Command),
    /// The broker wants (fresh) credentials.
    Challenge,
    /// Nobody waits for it.
    Nothing,
}

/// What the clock asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Fine,
    Ping,
    Dead,
}

impl<W> Connection<W> {
    pub(crate) fn new(now: Instant, keep_alive: Duration, credentials: Option<Credentials>) -> Self {
        Self {
            phase: Phase::Handshake,
            ids: RequestIds::default(),
            waiting: HashMap::new(),
            keep_alive,
            last_heard: now,
            pinged: false,
            max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
            watches_topics: false,
            credentials,
        }
    }

    /// The command that begins the handshake. `proxy_to` names the broker behind a proxy.
    ///
    /// The `original_…` fields stay empty: only a proxy, which speaks for somebody else, fills them.
    pub(crate) fn connect(&self, proxy_to: Option<String>) -> Command {
        let (method, data) = self.credentials.as_ref().map(shown).unzip();
        Command::Connect(Box::new(CommandConnect {
            client_version: CLIENT_VERSION.to_owned(),
            auth_method_name: method,
            auth_data: data,
            protocol_version: Some(PROTOCOL_VERSION),
            proxy_to_broker_url: proxy_to,
            feature_flags: Some(FeatureFlags {
                supports_auth_refresh: Some(true),
                supports_topic_watchers: Some(true),
                ..FeatureFlags::default()
            }),
            ..CommandConnect::default()
        }))
    }

    /// The answer to a challenge.
    ///
    /// # Errors
    ///
    /// There are no credentials to answer with.
    pub(crate) fn respond(&mut self, credentials: Option<Credentials>) -> Result<Command, Error> {
        let Some(credentials) = credentials else {
            let text = "the broker asks for authentication, and none is given";
            return Err(Error::new(ErrorKind::Credentials, text));
        };
        let (method, data) = shown(&credentials);
        self.credentials = Some(credentials);
        Ok(Command::AuthResponse(CommandAuthResponse {
            client_version: Some(CLIENT_VERSION.to_owned()),
            response: Some(AuthData {
                auth_method_name: Some(method),
                auth_data: Some(data),
            }),
            protocol_version: Some(PROTOCOL_VERSION),
        }))
    }

    /// What the broker was shown last.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// A number for a request whose answer `waiter` gets. Numbers are never used twice.
    pub(crate) fn request(&mut self, waiter: W) -> u64 {
        let id = self.ids.next();
        self.waiting.insert(id, waiter);
        id
    }

    /// The numbers of this connection, for requests whose answers find their way by themselves.
    pub(crate) fn ids(&self) -> RequestIds {
        self.ids.clone()
    }

    /// Nobody waits for this answer any more; who did is handed back.
    pub(crate) fn forget(&mut self, request_id: u64) -> Option<W> {
        self.waiting.remove(&request_id)
    }

    /// Any byte is a sign of life, also one that belongs to half a frame.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
        self.pinged = false;
    }

    /// # Errors
    ///
    /// The connection has to end: the broker refused the handshake or broke the protocol.
    pub(crate) fn receive(&mut self, mut command: Command) -> Result<Incoming<W>, Error> {
        self.hide_what_was_shown(&mut command);
        match (&self.phase, command) {
            (_, Command::Ping(_)) => Ok(Incoming::Reply(Command::Pong(CommandPong {}))),
            (_, Command::Pong(_)) => Ok(Incoming::Nothing),
            (Phase::Handshake, Command::Connected(connected)) => {
                self.connected(&connected);
                Ok(Incoming::Up)
            }
            (Phase::Handshake, Command::Error(error)) => Err(Error::refused(
                ServerError::from_i32(error.error),
                &error.message,
                format_args!("connect {}", self.identity()),
            )),
            (Phase::Handshake | Phase::Up, Command::AuthChallenge(_)) => Ok(Incoming::Challenge),
            // Not the answer to a request: the broker says why it ends the connection.
            (Phase::Up, Command::Error(error)) if error.request_id == NO_REQUEST => Err(Error::refused(
                ServerError::from_i32(error.error),
                &error.message,
                format_args!("keep the connection {}", self.identity()),
            )),
            (Phase::Handshake, other) => Err(Error::new(
                ErrorKind::ConnectionLost,
                format!(
                    "the broker answered the handshake with {}, expected CONNECTED",
                    other.name()
                ),
            )),
            (Phase::Up, command) => Ok(self.route(command)),
            (Phase::Down, _) => Ok(Incoming::Nothing),
        }
    }

    /// A broker may repeat in its words what it was shown.
    fn hide_what_was_shown(&self, command: &mut Command) {
        let Some(credentials) = &self.credentials else {
            return;
        };
        let text = match command {
            Command::Error(error) => Some(&mut error.message),
            Command::SendError(error) => Some(&mut error.message),
            Command::LookupTopicResponse(response) => response.message.as_mut(),
            Command::PartitionMetadataResponse(response) => response.message.as_mut(),
            _ => None,
        };
        if let Some(text) = text {
            *text = scrub(text, &credentials.secrets());
        }
    }

    /// How the client said who it is, for errors.
    fn identity(&self) -> String {
        match &self.credentials {
            Some(credentials) => format!("with authentication {:?}", credentials.method),
            None => "without authentication".to_owned(),
        }
    }

    fn route(&mut self, command: Command) -> Incoming<W> {
        // Acknowledgement answers carry the consumer's number and are by far the most frequent:
        // they go straight there.
        if matches!(command, Command::AckResponse(_)) {
            return Incoming::Session(command);
        }
        let is_answer = matches!(
            command,
            Command::Success(_)
                | Command::Error(_)
                | Command::ProducerSuccess(_)
                | Command::LookupTopicResponse(_)
                | Command::PartitionMetadataResponse(_)
                | Command::ConsumerStatsResponse(_)
                | Command::GetLastMessageIdResponse(_)
                | Command::GetTopicsOfNamespaceResponse(_)
                | Command::WatchTopicListSuccess(_)
                | Command::GetSchemaResponse(_)
                | Command::GetOrCreateSchemaResponse(_)
        );
        if !is_answer {
            return Incoming::Session(command);
        }
        // A producer that waits for exclusive access is answered twice; only the second counts.
        if let Command::ProducerSuccess(success) = &command
            && success.producer_ready == Some(false)
        {
            return Incoming::Nothing;
        }
        match command.request_id().and_then(|id| self.waiting.remove(&id)) {
            Some(waiter) => Incoming::Answer(waiter, command),
            None => Incoming::Nothing,
        }
    }

    fn connected(&mut self, connected: &CommandConnected) {
        self.phase = Phase::Up;
        self.watches_topics = connected
            .feature_flags
            .as_ref()
            .is_some_and(|flags| flags.supports_topic_watchers == Some(true));
        if let Some(size) = connected
            .max_message_size
            .and_then(|size| usize::try_from(size).ok())
            .filter(|size| *size > 0)
        {
            self.max_message_size = size;
        }
    }

    /// When [`Connection::life`] wants to be asked again.
    pub(crate) fn next_check(&self) -> Instant {
        self.last_heard + self.keep_alive * if self.pinged { 2 } else { 1 }
    }

    /// Asks for a ping after one silent interval and gives up after the second.
    pub(crate) fn life(&mut self, now: Instant) -> Life {
        let silence = now.saturating_duration_since(self.last_heard);
        if silence < self.keep_alive {
            Life::Fine
        } else if !self.pinged {
            self.pinged = true;
            Life::Ping
        } else if silence < self.keep_alive * 2 {
            Life::Fine
        } else {
            Life::Dead
        }
    }

    pub(crate) fn max_message_size(&self) -> usize {
        self.max_message_size
    }

    /// Whether the broker tells of topics that come and go.
    pub(crate) fn watches_topics(&self) -> bool {
        self.watches_topics
    }

    /// Ends the connection; whoever still waits gets told.
    pub(crate) fn down(&mut self) -> Vec<W> {
        self.phase = Phase::Down;
        self.waiting.drain().map(|(_, waiter)| waiter).collect()
    }
}

/// Method and data, as they go over the wire.
fn shown(credentials: &Credentials) -> (String, Bytes) {
    let data = Bytes::copy_from_slice(credentials.data.reveal().as_bytes());
    (credentials.method.to_owned(), data)
}

#[cfg(test)]
mod tests {
    use pulsar_wire::proto::{CommandAuthChallenge, CommandError, CommandPing, CommandSuccess};

    use super::*;

    const KEEP_ALIVE: Duration = Duration::from_secs(30);

    fn up(now: Instant) -> Connection<&'static str> {
        let mut connection = Connection::new(now, KEEP_ALIVE, None);
        let connected = CommandConnected {
            max_message_size: Some(1000),
            ..CommandConnected::default()
        };
        assert!(matches!(
            connection.receive(Command::Connected(connected)),
            Ok(Incoming::Up)
        ));
        connection
    }

    fn success(request_id: u64) -> Command {
        Command::Success(CommandSuccess {
            request_id,
            ..CommandSuccess::default()
        })
    }

    #[test]
    fn the_broker_says_how_large_a_message_may_be() {
        assert_eq!(up(Instant::now()).max_message_size(), 1000);
    }

    #[test]
    fn an_answer_goes_to_the_one_who_asked_and_only_once() {
        let mut connection = up(Instant::now());
        let first = connection.request("first");
        let second = connection.request("second");
        assert_ne!(first, second);
        assert!(matches!(
            connection.receive(success(second)),
            Ok(Incoming::Answer("second", _))
        ));
        assert!(matches!(
            connection.receive(success(second)),
            Ok(Incoming::Nothing)
        ));
        assert_eq!(connection.down(), ["first"]);
    }

    #[test]
    fn a_ping_is_answered_also_before_the_handshake() {
        let mut connection = Connection::<()>::new(Instant::now(), KEEP_ALIVE, None);
        let reply = connection.receive(Command::Ping(CommandPing {}));
        assert!(matches!(reply, Ok(Incoming::Reply(Command::Pong(_)))));
    }

    #[test]
    fn a_refused_handshake_is_an_error_with_the_brokers_words() {
        let mut connection = Connection::<()>::new(Instant::now(), KEEP_ALIVE, None);
        let refusal = CommandError {
            message: "no entry".into(),
            error: 10,
            ..CommandError::default()
        };
        let error = connection.receive(Command::Error(refusal)).unwrap_err();
        assert!(error.to_string().contains("no entry"));
    }

    fn shown() -> Credentials {
        Credentials {
            method: "token",
            data: "hunter22".into(),
        }
    }

    #[test]
    fn a_challenge_is_answered_with_what_is_shown_from_then_on() {
        let mut connection = Connection::<()>::new(Instant::now(), KEEP_ALIVE, None);
        let challenge = Command::AuthChallenge(CommandAuthChallenge::default());
        assert!(matches!(connection.receive(challenge), Ok(Incoming::Challenge)));
        assert!(connection.respond(None).is_err());
        let Ok(Command::AuthResponse(response)) = connection.respond(Some(shown())) else {
            panic!("expected an answer")
        };
        let data = response.response.and_then(|response| response.auth_data);
        assert_eq!(data.as_deref(), Some(&b"hunter22"[..]));
        assert_eq!(connection.credentials(), Some(&shown()));
    }

    #[test]
    fn an_error_that_answers_nothing_ends_the_connection_and_repeats_no_secret() {
        let mut connection = Connection::<()>::new(Instant::now(), KEEP_ALIVE, Some(shown()));
        assert!(matches!(
            connection.receive(Command::Connected(CommandConnected::default())),
            Ok(Incoming::Up)
        ));
        let refusal = CommandError {
            request_id: NO_REQUEST,
            message: "hunter22 has expired".into(),
            error: 4,
        };
        let text = connection
            .receive(Command::Error(refusal))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("*** has expired") && text.contains("\"token\""),
            "{text}"
        );
    }

    #[test]
    fn silence_is_answered_with_a_ping_and_then_with_the_end() {
        let start = Instant::now();
        let mut connection = up(start);
        assert_eq!(connection.life(start + KEEP_ALIVE / 2), Life::Fine);
        assert_eq!(connection.life(start + KEEP_ALIVE), Life::Ping);
        assert_eq!(connection.life(start + KEEP_ALIVE * 3 / 2), Life::Fine);
        assert_eq!(connection.life(start + KEEP_ALIVE * 2), Life::Dead);
    }

    #[test]
    fn a_single_byte_is_a_sign_of_life() {
        let start = Instant::now();
        let mut connection = up(start);
        assert_eq!(connection.life(start + KEEP_ALIVE), Life::Ping);
        connection.heard(start + KEEP_ALIVE * 19 / 10);
        assert_eq!(connection.life(start + KEEP_ALIVE * 2), Life::Fine);
    }
}
