//! One connection to a broker: the socket, its two tasks, and who is told what arrives.
//!
//! The reader never waits for the application: it puts deliveries where receivers find them and
//! goes on. The writer gathers whatever is ready into one write.

mod dial;
mod handshake;
mod renew;
mod stream;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use pulsar_wire::{Command, Frame, FrameDecoder, MessageFrame, encode_frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, oneshot};

pub(crate) use self::dial::DialOptions;
use self::stream::{Reader, Writer};
use crate::auth::Authenticator;
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;
use crate::service_url::{Scheme, ServiceUrl};
use crate::session::connection::{Connection, Incoming, Life, RequestIds};

/// How long the end of a connection may take to be written.
const GOODBYE: Duration = Duration::from_secs(1);

/// A producer or a consumer on a connection.
pub(crate) trait Session: Send + Sync {
    /// The answer to the request that this session made of `link`.
    fn answer(&self, command: Command);
    /// A command for this session, from the connection with this number.
    fn command(&self, link: u64, command: Command, message: Option<MessageFrame>);
    /// The connection with this number is gone.
    fn lost(&self, link: u64, error: &Error);
}

/// Which kind of session a number belongs to; each kind has numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Producer,
    Consumer,
    /// Of the topics of a namespace.
    Watch,
}

/// Who waits for an answer.
pub(crate) enum Waiter {
    Call(oneshot::Sender<Result<Command, Error>>),
    Session(Arc<dyn Session>),
}

/// One connection.
pub(crate) struct Link {
    number: u64,
    target: Target,
    /// Where the socket leads: to the broker, or to a proxy before it.
    address: ServiceUrl,
    authenticator: Arc<Authenticator>,
    max_message_size: usize,
    watches_topics: bool,
    ids: RequestIds,
    state: Mutex<State>,
    outbox: Mutex<Vec<Bytes>>,
    writable: Notify,
    /// Wakes both tasks to end.
    ending: Notify,
}

struct State {
    connection: Connection<Waiter>,
    sessions: HashMap<(Kind, u64), Arc<dyn Session>>,
    down: Option<Error>,
    /// The broker has asked for fresh credentials and has none yet.
    renewing: bool,
    /// Why it has none.
    no_credentials: Option<Error>,
}

impl Link {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The broker at the other end.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Where the socket leads: to the broker, or to a proxy before it.
    pub(crate) fn address(&self) -> &ServiceUrl {
        &self.address
    }

    pub(crate) fn max_message_size(&self) -> usize {
        self.max_message_size
    }

    /// Whether the broker tells of topics that come and go.
    pub(crate) fn watches_topics(&self) -> bool {
        self.watches_topics
    }

    pub(crate) fn ids(&self) -> RequestIds {
        self.ids.clone()
    }

    pub(crate) fn is_down(&self) -> bool {
        self.lock().down.is_some()
    }

    /// Registers a session, so that commands with its number reach it.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub(crate) fn register(&self, kind: Kind, id: u64, session: Arc<dyn Session>) -> Result<(), Error> {
        let mut state = self.lock();
        if let Some(error) = &state.down {
            return Err(error.clone());
        }
        state.sessions.insert((kind, id), session);
        Ok(())
    }

    pub(crate) fn unregister(&self, kind: Kind, id: u64) {
        self.lock().sessions.remove(&(kind, id));
    }

    /// A request number whose answer goes to `session`.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub(crate) fn request_for(&self, session: Arc<dyn Session>) -> Result<u64, Error> {
        let mut state = self.lock();
        match &state.down {
            Some(error) => Err(error.clone()),
            None => Ok(state.connection.request(Waiter::Session(session))),
        }
    }

    /// Nobody waits for this answer any more.
    pub(crate) fn forget(&self, request_id: u64) {
        // What waited may be the last to hold this connection's client, so it goes unlocked.
        let waiter = self.lock().connection.forget(request_id);
        drop(waiter);
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Cancel safety
    ///
    /// The answer of a dropped request is ignored when it comes.
    pub(crate) async fn call(
        &self,
        timeout: Duration,
        build: impl FnOnce(u64) -> Command,
    ) -> Result<Command, Error> {
        let (sender, answer) = oneshot::channel();
        let (request_id, name) = {
            let mut state = self.lock();
            if let Some(error) = &state.down {
                return Err(error.clone());
            }
            let request_id = state.connection.request(Waiter::Call(sender));
            let command = build(request_id);
            self.send_command(&command);
            (request_id, command.name())
        };
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::new(
                ErrorKind::ConnectionLost,
                "the connection was dropped",
            )),
            Err(_) => {
                self.forget(request_id);
                Err(Error::new(
                    ErrorKind::TimedOut,
                    format!("{} did not answer {name} within {timeout:?}", self.address),
                ))
            }
        }
    }

    /// Queues frames, in order. They are lost with the connection; whoever needs them sends them
    /// again in the next session.
    pub(crate) fn send(&self, frames: impl IntoIterator<Item = Bytes>) {
        let mut outbox = lock(&self.outbox);
        let was_empty = outbox.is_empty();
        outbox.extend(frames);
        if was_empty && !outbox.is_empty() {
            drop(outbox);
            self.writable.notify_one();
        }
    }

    pub(crate) fn send_command(&self, command: &Command) {
        let mut frame = BytesMut::new();
        encode_frame(command, &mut frame);
        self.send([frame.freeze()]);
    }

    /// Ends the connection; everybody on it is told.
    pub(crate) fn down(&self, error: &Error) {
        let (waiters, sessions) = {
            let mut state = self.lock();
            if state.down.is_some() {
                return;
            }
            state.down = Some(error.clone());
            (state.connection.down(), std::mem::take(&mut state.sessions))
        };
        for waiter in waiters {
            if let Waiter::Call(call) = waiter {
                // The caller may have gone away; then nobody needs to know.
                let _ = call.send(Err(error.clone()));
            }
        }
        for session in sessions.into_values() {
            session.lost(self.number, error);
        }
        self.ending.notify_waiters();
        self.writable.notify_one();
    }

    fn receive(self: &Arc<Self>, frame: Frame, route: &mut Route) -> Result<(), Error> {
        let Frame { command, message } = frame;
        if let Command::Message(delivery) = &command {
            // The hot path asks the table once for a run of deliveries to one consumer.
            let id = delivery.consumer_id;
            if route.as_ref().is_none_or(|(known, _)| *known != id) {
                let session = self.lock().sessions.get(&(Kind::Consumer, id)).cloned();
                *route = session.map(|session| (id, session));
            }
            if let Some((_, session)) = route {
                session.command(self.number, command, message);
            }
            return Ok(());
        }
        *route = None;
        let incoming = self.lock().connection.receive(command)?;
        match incoming {
            Incoming::Reply(command) => self.send_command(&command),
            Incoming::Answer(Waiter::Call(call), command) => {
                let _ = call.send(Ok(command));
            }
            Incoming::Answer(Waiter::Session(session), command) => session.answer(command),
            Incoming::Session(command) => self.for_session(command),
            Incoming::Challenge => self.renew(),
            Incoming::Up | Incoming::Nothing => {}
        }
        Ok(())
    }

    fn for_session(&self, mut command: Command) {
        if self.address.scheme() == Scheme::Tls {
            with_tls_address(&mut command);
        }
        let key = match &command {
            Command::SendReceipt(receipt) => (Kind::Producer, receipt.producer_id),
            Command::SendError(error) => (Kind::Producer, error.producer_id),
            Command::CloseProducer(close) => (Kind::Producer, close.producer_id),
            Command::AckResponse(response) => (Kind::Consumer, response.consumer_id),
            Command::CloseConsumer(close) => (Kind::Consumer, close.consumer_id),
            Command::ActiveConsumerChange(change) => (Kind::Consumer, change.consumer_id),
            Command::ReachedEndOfTopic(end) => (Kind::Consumer, end.consumer_id),
            Command::WatchTopicUpdate(update) => (Kind::Watch, update.watcher_id),
            other => {
                tracing::debug!(command = other.name(), "nobody waits for this command");
                return;
            }
        };
        let session = self.lock().sessions.get(&key).cloned();
        if let Some(session) = session {
            session.command(self.number, command, None);
        }
    }

    /// Why the other side ended the connection, as far as we know.
    fn ended(&self, source: Option<std::io::Error>) -> Error {
        if let Some(error) = self.lock().no_credentials.take() {
            return error;
        }
        let address = &self.address;
        match source {
            // TLS reports an end without a goodbye as an error.
            Some(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
                let text = format!("the connection to {address} broke");
                Error::with_source(ErrorKind::ConnectionLost, text, source)
            }
            _ => Error::new(
                ErrorKind::ConnectionLost,
                format!("{address} closed the connection"),
            ),
        }
    }

    fn life(&self, now: Instant) -> Result<Instant, Error> {
        let mut state = self.lock();
        let life = state.connection.life(now);
        let next = state.connection.next_check();
        drop(state);
        match life {
            Life::Fine => {}
            Life::Ping => self.send_command(&Command::Ping(pulsar_wire::proto::CommandPing {})),
            Life::Dead => {
                let text = format!("{} has been silent for too long", self.address);
                return Err(Error::new(ErrorKind::ConnectionLost, text));
            }
        }
        Ok(next)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Locks; a panic elsewhere while it was held must not spread, and no state here is ever half
/// changed when user code runs.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The consumer that got the last delivery.
type Route = Option<(u64, Arc<dyn Session>)>;

/// Puts the address with TLS where the machines look for the one without.
fn with_tls_address(command: &mut Command) {
    match command {
        Command::CloseProducer(close) => {
            close.assigned_broker_service_url = close.assigned_broker_service_url_tls.take();
        }
        Command::CloseConsumer(close) => {
            close.assigned_broker_service_url = close.assigned_broker_service_url_tls.take();
        }
        _ => {}
    }
}

async fn read(link: Arc<Link>, mut socket: Reader, mut decoder: FrameDecoder, mut input: BytesMut) {
    // However this task ends, a panic included: nobody may go on waiting for a dead connection.
    let _ends = Ends(&link);
    let Err(reason) = read_all(&link, &mut socket, &mut decoder, &mut input).await;
    tracing::debug!(broker = %link.address, %reason, "connection ended");
    link.down(&reason);
}

struct Ends<'a>(&'a Link);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let text = format!("reading from {} ended", self.0.address);
        self.0.down(&Error::new(ErrorKind::ConnectionLost, text));
    }
}

/// Reads until something breaks. Half a frame stays in `input` whatever the clock does.
async fn read_all(
    link: &Arc<Link>,
    socket: &mut Reader,
    decoder: &mut FrameDecoder,
    input: &mut BytesMut,
) -> Result<Infallible, Error> {
    let lost = |text: String| Error::new(ErrorKind::ConnectionLost, text);
    let mut route: Route = None;
    let check = tokio::time::sleep_until(link.life(Instant::now())?.into());
    tokio::pin!(check);
    let ending = link.ending.notified();
    tokio::pin!(ending);
    ending.as_mut().enable();
    if link.is_down() {
        return Err(lost("the connection was closed".into()));
    }
    loop {
        loop {
            let frame = decoder.decode(input).map_err(|error| {
                Error::with_source(
                    ErrorKind::ConnectionLost,
                    format!("{} sent a broken frame", link.address),
                    error,
                )
            })?;
            let Some(frame) = frame else { break };
            link.receive(frame, &mut route)?;
        }
        tokio::select! {
            count = socket.read_buf(input) => match count {
                Ok(0) => return Err(link.ended(None)),
                Ok(_) => link.lock().connection.heard(Instant::now()),
                Err(source) => return Err(link.ended(Some(source))),
            },
            () = check.as_mut() => {
                let next = link.life(Instant::now())?;
                check.as_mut().reset(next.into());
            }
            () = ending.as_mut() => return Err(lost("the connection was closed".into())),
        }
    }
}

async fn write(link: Arc<Link>, mut socket: Writer) {
    let mut frames = Vec::new();
    let ending = link.ending.notified();
    tokio::pin!(ending);
    ending.as_mut().enable();
    loop {
        if link.is_down() {
            break;
        }
        std::mem::swap(&mut frames, &mut lock(&link.outbox));
        if frames.is_empty() {
            link.writable.notified().await;
            continue;
        }
        let written = tokio::select! {
            biased;
            written = socket.write_frames(&mut frames) => written,
            // A peer that reads nothing must not hold the socket for ever.
            () = ending.as_mut() => return,
        };
        if let Err(source) = written {
            let text = format!("the connection to {} broke", link.address);
            link.down(&Error::with_source(ErrorKind::ConnectionLost, text, source));
            return;
        }
        frames.clear();
    }
    // The other side learns at once that nothing more comes. TLS says so in a record, which a peer
    // that reads nothing would hold up.
    let _ = tokio::time::timeout(GOODBYE, socket.shutdown()).await;
}
