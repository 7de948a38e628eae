//! The port: what the runtime asks of a broker. [`Sink`] is the side a [`Publisher`](crate::Publisher)
//! writes to, [`Transport`] the side a [`Consumer`](crate::Consumer) reads from and settles on. Adapters
//! map these calls and decide nothing; the decisions are made in `babelqueue-core`.

mod error;

use std::fmt;
use std::future::Future;

use babelqueue_core::{Delivery, Outgoing, Properties};
use bytes::Bytes;

use crate::message::Message;

pub use error::{TransportError, TransportErrorKind, WriteError, WriteErrorKind};

/// A subscription that a consumer reads and settles, with the producers its settlements need.
pub trait Transport: Send + Sync + 'static {
    /// What the transport needs to settle a delivery and to copy its routing keys.
    type Origin: Clone + Send + Sync + 'static;

    /// Resolves when the broker confirmed the acknowledgement.
    type Ack: Future<Output = Result<(), TransportError>> + Send + Unpin + 'static;

    /// What this transport can do; the same answer during its whole life.
    fn capabilities(&self) -> Capabilities;

    /// Waits for the next delivery.
    ///
    /// # Errors
    /// When nothing can be received at present. The consumer pauses and calls again.
    ///
    /// # Cancel safety
    /// No delivery may be lost when the future is dropped.
    fn receive(&self) -> impl Future<Output = Result<Received<Self::Origin>, TransportError>> + Send;

    /// Writes a record that settles the delivery of `origin`, with its routing keys, to the topic that
    /// `outgoing.target` means for it. `Ok` says that the broker confirmed the write.
    ///
    /// # Errors
    /// When the write was not confirmed, or the producer for it could not be made.
    fn publish(
        &self,
        origin: &Self::Origin,
        outgoing: &Outgoing,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;

    /// Acknowledges one delivery. It is registered by the call; dropping the future does not undo it.
    fn ack(&self, origin: &Self::Origin) -> Self::Ack;

    /// Gives a delivery back: with [`Redelivery::Counted`] this one, with [`Redelivery::Rewind`]
    /// everything that is not acknowledged.
    ///
    /// # Errors
    /// When the broker could not be told. The delivery is left unsettled.
    fn nack(&self, origin: &Self::Origin) -> impl Future<Output = Result<(), TransportError>> + Send;

    /// Closes what the transport itself opened. A second call does nothing.
    ///
    /// # Errors
    /// The first error of the closing; the rest is closed all the same.
    fn close(&self) -> impl Future<Output = Result<(), TransportError>> + Send;
}

/// A topic that a publisher writes to.
pub trait Sink: Send + Sync + 'static {
    /// Resolves when the broker confirmed the message.
    type Receipt: Future<Output = Result<(), WriteError>> + Send + Unpin + 'static;

    /// Sends a message. The order of the calls is the order on the topic: the message is registered by
    /// the call, and dropping the future does not undo it.
    fn send(&self, outbound: Outbound) -> Self::Receipt;

    /// The short name of the topic, the text after its last `/`.
    fn queue(&self) -> &str;
}

/// A message on its way to a [`Sink`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Outbound {
    /// The encoded envelope.
    pub body: Bytes,
    /// The properties, all of them.
    pub properties: Properties,
    /// The message key.
    pub key: Option<String>,
    /// The earliest delivery, in Unix milliseconds.
    pub deliver_at_ms: Option<i64>,
}

impl fmt::Debug for Outbound {
    /// Lengths and names only: the content may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("body_len", &self.body.len())
            .field("properties", &self.properties)
            .field("deliver_at_ms", &self.deliver_at_ms)
            .finish_non_exhaustive()
    }
}

/// One delivery as a transport hands it over.
#[derive(Clone, Debug)]
pub struct Received<O> {
    /// What the decision is made of.
    pub delivery: Delivery,
    /// What handlers and hooks get to see.
    pub message: Message,
    /// What the transport needs to settle it.
    pub origin: O,
}

/// What a transport can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// What a negative acknowledgement does.
    pub redelivery: Redelivery,
    /// Whether a retry can be published again (a retry producer, or a client to make one).
    pub retry: bool,
    /// Whether there is a producer for dead letters.
    pub dead_letter: bool,
}

/// What a negative acknowledgement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redelivery {
    /// This one message comes again and the broker counts it (Shared, Key_Shared).
    Counted,
    /// Everything unacknowledged comes again, uncounted (Exclusive, Failover).
    Rewind,
}

impl Capabilities {
    /// The capabilities of a transport that can neither retry by publishing nor dead-letter.
    #[must_use]
    pub fn new(redelivery: Redelivery) -> Self {
        Self {
            redelivery,
            retry: false,
            dead_letter: false,
        }
    }

    /// States whether a retry can be published again.
    #[must_use]
    pub fn with_retry(self, retry: bool) -> Self {
        Self { retry, ..self }
    }

    /// States whether there is a producer for dead letters.
    #[must_use]
    pub fn with_dead_letter(self, dead_letter: bool) -> Self {
        Self { dead_letter, ..self }
    }
}
