//! What arrived.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::properties::Properties;

/// One arrival of a message.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The bytes of the message.
    pub body: Body,
    /// The properties of the message.
    pub properties: Properties,
    /// The broker's own counter, 0 on the first delivery.
    pub redelivery_count: u32,
    /// The consumed queue: the short name of the work topic.
    pub queue: Arc<str>,
}

/// The bytes of a message, as far as the transport got with them.
#[derive(Clone)]
pub enum Body {
    /// A body.
    Bytes(Bytes),
    /// An entry that could not be turned into a body: unknown or corrupt compression, encryption,
    /// a broken batch.
    Undecodable {
        /// The bytes as they came from the broker.
        received: Bytes,
        /// What failed. It ends up in the record, so it must not repeat any content.
        cause: String,
    },
}

impl Body {
    /// The bytes as they came, whether they are a body or not.
    pub(crate) fn received(&self) -> &Bytes {
        match self {
            Self::Bytes(received) | Self::Undecodable { received, .. } => received,
        }
    }
}

impl fmt::Debug for Body {
    /// Lengths only: the content may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(body) => write!(f, "Bytes({} bytes)", body.len()),
            Self::Undecodable { received, cause } => {
                write!(f, "Undecodable({} bytes, {cause})", received.len())
            }
        }
    }
}
