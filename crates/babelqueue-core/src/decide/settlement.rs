//! How a delivery ends: at most one publish, then exactly one finish.

use std::fmt;

use bytes::Bytes;

use crate::envelope::Envelope;
use crate::properties::Properties;

/// The end of a delivery.
///
/// A publish that was not confirmed is never followed by an ack.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// Acknowledge.
    Ack,
    /// Acknowledge, and say in the log that the message is gone.
    Drop(Dropped),
    /// Negatively acknowledge: the broker delivers it again.
    Nack,
    /// Publish, and acknowledge once the broker confirmed it.
    Publish(Outgoing),
}

/// A record that is to be published.
#[derive(Clone)]
pub struct Outgoing {
    /// Where it goes.
    pub target: Destination,
    /// What it is.
    pub record: Record,
    /// Its body.
    pub body: Bytes,
    /// Its properties.
    pub properties: Properties,
}

impl fmt::Debug for Outgoing {
    /// The body's length only: the content may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("target", &self.target)
            .field("record", &self.record)
            .field("body_len", &self.body.len())
            .field("properties", &self.properties)
            .finish()
    }
}

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// The topic that the delivery came from, or that of the given retry producer.
    WorkTopic,
    /// The dead-letter topic.
    DeadLetter,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// The envelope with its attempts raised.
    Retry,
    /// A poison body as it came, counted in its properties.
    PoisonRetry,
    /// The envelope with a dead-letter block.
    DeadLetter,
    /// A poison body, spliced or wrapped.
    Poison,
    /// The delivery as it was received.
    Raw,
}

/// A message that is acknowledged without a trace but a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Why it was not kept.
    pub why: Why,
    /// The URN that was looked up.
    pub urn: Option<String>,
    /// The number of its last delivery.
    pub counted: i64,
    /// Its id, when it was readable.
    pub message_id: Option<String>,
}

impl Dropped {
    pub(super) fn new(why: Why, counted: i64) -> Self {
        Self {
            why,
            urn: None,
            counted,
            message_id: None,
        }
    }

    pub(super) fn route(self, urn: &str) -> Self {
        Self {
            urn: Some(urn.to_owned()),
            ..self
        }
    }

    pub(super) fn message(self, envelope: &Envelope) -> Self {
        let id = envelope.meta().id();
        Self {
            message_id: (!id.is_empty()).then(|| id.to_owned()),
            ..self
        }
    }
}

/// Why a message was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Poison at the cap.
    Poison,
    /// Stopped by the version gate.
    Gated,
    /// Its handler failed at the cap.
    Failed,
    /// Nobody handles its URN, at the cap.
    UnknownUrn,
}
