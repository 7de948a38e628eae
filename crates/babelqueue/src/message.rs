//! What a handler may know about one delivery beyond the envelope: where it came from, its id at the
//! broker and its properties. The envelope itself is in `babelqueue-core`.

use std::fmt;
use std::sync::Arc;

use babelqueue_core::Properties;

/// The broker's side of one delivery; cheap to clone.
#[derive(Clone, Debug)]
pub struct Message {
    parts: Arc<MessageParts>,
}

/// What a transport knows about a delivery when it makes a [`Message`] of it.
#[derive(Clone, Default)]
pub struct MessageParts {
    /// Topic the message was read from, in full.
    pub topic: Arc<str>,
    /// The broker's id of the message as text.
    pub id: String,
    /// All properties, in the order they came.
    pub properties: Properties,
    /// The broker's own redelivery counter.
    pub redelivery_count: u32,
    /// When the broker took the message, in Unix milliseconds.
    pub publish_time_ms: i64,
    /// The message key.
    pub key: Option<String>,
}

impl fmt::Debug for MessageParts {
    /// The key and the values of properties may be personal and stay out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageParts")
            .field("topic", &self.topic)
            .field("id", &self.id)
            .field("properties", &self.properties)
            .field("redelivery_count", &self.redelivery_count)
            .field("publish_time_ms", &self.publish_time_ms)
            .finish_non_exhaustive()
    }
}

impl Message {
    /// Makes a message of what the transport knows.
    #[must_use]
    pub fn new(parts: MessageParts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }

    /// Topic the message was read from, in full.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.parts.topic
    }

    /// The broker's id of the message as text. Not the `meta.id` of the envelope.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.parts.id
    }

    /// All properties as they came, those of the contract (`bq-*`) included.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.parts.properties
    }

    /// The broker's own redelivery counter; 0 on the first delivery.
    #[must_use]
    pub fn redelivery_count(&self) -> u32 {
        self.parts.redelivery_count
    }

    /// When the broker took the message, in Unix milliseconds.
    #[must_use]
    pub fn publish_time_ms(&self) -> i64 {
        self.parts.publish_time_ms
    }

    /// The message key, if the producer set one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.parts.key.as_deref()
    }
}
