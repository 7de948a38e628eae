//! One connection to a broker: the socket, its two tasks, and who is told what arrives.
//!
//! The reader never waits for the application: it puts deliveries where receivers find them and
//! goes on. The writer gathers whatever is ready into one write.

mod handshake;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use pulsar_wire::{Command, Frame, FrameDecoder, MessageFrame, encode_frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, oneshot};

use self::handshake::Handshake;
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;
use crate::session::connection::{Connection, Incoming, Life, RequestIds};

/// How many frames go into one write.
const GATHER: usize = 64;

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
    max_message_size: usize,
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
}

impl Link {
    /// Connects and shakes hands.
    pub(crate) async fn dial(
        number: u64,
        target: &Target,
        options: &DialOptions,
    ) -> Result<Arc<Self>, Error> {
        let address = target.address();
        let unreachable = |source: std::io::Error| {
            Error::with_source(
                ErrorKind::Unreachable,
                format!("cannot connect to {address}"),
                source,
            )
        };
        let dialling = async {
            let stream = TcpStream::connect((address.host(), address.port()))
                .await
                .map_err(unreachable)?;
            // A publish behind an acknowledgement would otherwise wait for the peer's delayed ACK.
            stream.set_nodelay(true).map_err(unreachable)?;
            Handshake::new(stream, options.keep_alive).shake(target).await
        };
        let handshake = tokio::time::timeout(options.timeout, dialling)
            .await
            .map_err(|_| {
                let text = format!("no connection to {address} within {:?}", options.timeout);
                Error::new(ErrorKind::Unreachable, text)
            })??;
        Ok(handshake.start(number, target.clone()))
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Where the connection leads.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn max_message_size(&self) -> usize {
        self.max_message_size
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
                    format!(
                        "{} did not answer {name} within {timeout:?}",
                        self.target.address()
                    ),
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

    fn receive(&self, frame: Frame, route: &mut Route) -> Result<(), Error> {
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
            Incoming::Up | Incoming::Nothing => {}
        }
        Ok(())
    }

    fn for_session(&self, command: Command) {
        let key = match &command {
            Command::SendReceipt(receipt) => (Kind::Producer, receipt.producer_id),
            Command::SendError(error) => (Kind::Producer, error.producer_id),
            Command::CloseProducer(close) => (Kind::Producer, close.producer_id),
            Command::AckResponse(response) => (Kind::Consumer, response.consumer_id),
            Command::CloseConsumer(close) => (Kind::Consumer, close.consumer_id),
            Command::ActiveConsumerChange(change) => (Kind::Consumer, change.consumer_id),
            Command::ReachedEndOfTopic(end) => (Kind::Consumer, end.consumer_id),
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

    fn life(&self, now: Instant) -> Result<Instant, Error> {
        let mut state = self.lock();
        let life = state.connection.life(now);
        let next = state.connection.next_check();
        drop(state);
        match life {
            Life::Fine => {}
            Life::Ping => self.send_command(&Command::Ping(pulsar_wire::proto::CommandPing {})),
            Life::Dead => {
                let text = format!("{} has been silent for too long", self.target.address());
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

/// What a connection is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DialOptions {
    pub(crate) timeout: Duration,
    pub(crate) keep_alive: Duration,
}

async fn read(link: Arc<Link>, mut socket: OwnedReadHalf, mut decoder: FrameDecoder, mut input: BytesMut) {
    // However this task ends, a panic included: nobody may go on waiting for a dead connection.
    let _ends = Ends(&link);
    let Err(reason) = read_all(&link, &mut socket, &mut decoder, &mut input).await;
    tracing::debug!(broker = %link.target.address(), %reason, "connection ended");
    link.down(&reason);
}

struct Ends<'a>(&'a Link);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let text = format!("reading from {} ended", self.0.target.address());
        self.0.down(&Error::new(ErrorKind::ConnectionLost, text));
    }
}

/// Reads until something breaks. Half a frame stays in `input` whatever the clock does.
async fn read_all(
    link: &Link,
    socket: &mut OwnedReadHalf,
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
                    format!("{} sent a broken frame", link.target.address()),
                    error,
                )
            })?;
            let Some(frame) = frame else { break };
            link.receive(frame, &mut route)?;
        }
        tokio::select! {
            count = socket.read_buf(input) => match count {
                Ok(0) => return Err(lost(format!("{} closed the connection", link.target.address()))),
                Ok(_) => link.lock().connection.heard(Instant::now()),
                Err(source) => {
                    let text = format!("the connection to {} broke", link.target.address());
                    return Err(Error::with_source(ErrorKind::ConnectionLost, text, source));
                }
            },
            () = check.as_mut() => {
                let next = link.life(Instant::now())?;
                check.as_mut().reset(next.into());
            }
            () = ending.as_mut() => return Err(lost("the connection was closed".into())),
        }
    }
}

async fn write(link: Arc<Link>, mut socket: OwnedWriteHalf) {
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
            written = write_all(&mut socket, &mut frames) => written,
            // A peer that reads nothing must not hold the socket for ever.
            () = ending.as_mut() => return,
        };
        if let Err(source) = written {
            let text = format!("the connection to {} broke", link.target.address());
            link.down(&Error::with_source(ErrorKind::ConnectionLost, text, source));
            return;
        }
        frames.clear();
    }
    // The other side learns at once that nothing more comes.
    let _ = socket.shutdown().await;
}

/// Writes all frames, many with one call and none copied.
async fn write_all(socket: &mut OwnedWriteHalf, frames: &mut [Bytes]) -> std::io::Result<()> {
    let mut first = 0;
    while first < frames.len() {
        let end = frames.len().min(first + GATHER);
        let mut slices = [IoSlice::new(&[]); GATHER];
        for (slice, frame) in slices.iter_mut().zip(&frames[first..end]) {
            *slice = IoSlice::new(frame);
        }
        let mut written = socket.write_vectored(&slices[..end - first]).await?;
        if written == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        while first < end && written >= frames[first].len() {
            written -= frames[first].len();
            first += 1;
        }
        if written > 0 {
            frames[first].advance(written);
        }
    }
    Ok(())
}
