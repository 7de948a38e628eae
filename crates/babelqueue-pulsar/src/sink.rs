//! Publishing: a producer as the runtime's port.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use babelqueue::{Outbound, Sink, WriteError, WriteErrorKind};
use pulsar_tokio::{Error, ErrorKind, Full, NewMessage, Producer, Stored};
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::topic::short_name;

/// A topic that a [`Publisher`](crate::Publisher) writes to. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PulsarSink {
    producer: Arc<Producer>,
    last: Arc<Mutex<Option<Place>>>,
}

/// The last place in the line of messages that wait for room: closed when its message has got in.
type Place = oneshot::Receiver<Infallible>;

impl PulsarSink {
    /// Writes through a producer that the user opened and keeps.
    #[must_use]
    pub fn new(producer: impl Into<Arc<Producer>>) -> Self {
        Self {
            producer: producer.into(),
            last: Arc::default(),
        }
    }

    /// Waits for the receipts of what is under way, also of what still waits for room, and closes the
    /// producer, at most within `patience`.
    pub async fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let (closed, place) = oneshot::channel();
        let before = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.replace(place)
        };
        if let Some(before) = before {
            // Closed without a word is the word; too late is late enough.
            let _ = timeout_at(deadline, before).await;
        }
        self.producer
            .close(deadline.saturating_duration_since(Instant::now()))
            .await;
        drop(closed);
    }
}

impl Sink for PulsarSink {
    type Receipt = PulsarReceipt;

    fn send(&self, outbound: Outbound) -> PulsarReceipt {
        let state = self.enqueue(message(outbound));
        PulsarReceipt {
            producer: self.producer.clone(),
            state,
        }
    }

    fn queue(&self) -> &str {
        short_name(self.producer.topic().as_str())
    }
}

impl PulsarSink {
    /// Lets a message in, or gives it a place in the line. It counts as registered when the call
    /// returns, so a task keeps its place should the caller drop the receipt.
    fn enqueue(&self, mut message: NewMessage) -> State {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // While anything waits nothing may overtake it, even when there is room by now.
        let before = last
            .take()
            .and_then(|mut place| matches!(place.try_recv(), Err(TryRecvError::Empty)).then_some(place));
        if before.is_none() {
            message = match self.producer.try_enqueue(message) {
                Ok(Ok(receipt)) => return State::Sent(receipt),
                Ok(Err(error)) => return State::Refused(Some(error)),
                Err(Full(message)) => message,
            };
        }
        let (got_in, place) = oneshot::channel();
        *last = Some(place);
        State::Waiting(tokio::spawn(wait_for_room(
            self.producer.clone(),
            message,
            before,
            got_in,
        )))
    }
}

async fn wait_for_room(
    producer: Arc<Producer>,
    message: NewMessage,
    before: Option<Place>,
    got_in: oneshot::Sender<Infallible>,
) -> Result<Stored, Error> {
    if let Some(before) = before {
        // Closed without a word is the word.
        let _ = before.await;
    }
    let receipt = producer.enqueue(message).await;
    drop(got_in);
    receipt?.await
}

fn message(outbound: Outbound) -> NewMessage {
    let mut message = NewMessage::new(outbound.body).properties(outbound.properties.into_pairs());
    if let Some(key) = outbound.key {
        message = message.key(key);
    }
    if let Some(at) = outbound.deliver_at_ms {
        message = message.deliver_at_ms(at);
    }
    message
}

/// The broker's confirmation of a published message, to come.
pub struct PulsarReceipt {
    producer: Arc<Producer>,
    state: State,
}

enum State {
    Sent(pulsar_tokio::Receipt),
    Waiting(JoinHandle<Result<Stored, Error>>),
    Refused(Option<Error>),
}

impl Future for PulsarReceipt {
    type Output = Result<(), WriteError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &mut self.state {
            State::Sent(receipt) => ready!(Pin::new(receipt).poll(context)).map(|_| ()),
            State::Waiting(task) => match ready!(Pin::new(task).poll(context)) {
                Ok(result) => result.map(|_| ()),
                Err(_) => return Poll::Ready(Err(self.error(WriteErrorKind::Indeterminate))),
            },
            State::Refused(error) => match error.take() {
                Some(error) => Err(error),
                None => return Poll::Ready(Err(self.error(WriteErrorKind::Closed))),
            },
        };
        Poll::Ready(result.map_err(|error| write_error(self.producer.topic().as_str(), error)))
    }
}

impl PulsarReceipt {
    fn error(&self, kind: WriteErrorKind) -> WriteError {
        WriteError::new(kind, self.producer.topic().as_str())
    }
}

impl fmt::Debug for PulsarReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PulsarReceipt")
            .field("topic", self.producer.topic())
            .finish_non_exhaustive()
    }
}

/// A failed send in the runtime's words.
pub(crate) fn write_error(topic: &str, error: Error) -> WriteError {
    let kind = match error.kind() {
        _ if error.is_ambiguous() => WriteErrorKind::Indeterminate,
        ErrorKind::TooLarge => WriteErrorKind::TooLarge,
        ErrorKind::Closed => WriteErrorKind::Closed,
        ErrorKind::Refused(_) if !error.is_transient() => WriteErrorKind::Rejected,
        ErrorKind::InvalidTopic | ErrorKind::InvalidOption | ErrorKind::Unsupported => {
            WriteErrorKind::Rejected
        }
        _ => WriteErrorKind::Unavailable,
    };
    WriteError::new(kind, topic).with_source(error)
}
