//! Dead letters: the block that says why, the record a poison body becomes, and the way back.

mod record;
mod restore;

use std::borrow::Cow;

pub use record::{poison_record, undecodable_record};
pub use restore::{Restored, restore};

use crate::envelope::LANG;
use crate::json::{Sink, put_integer, put_string};

/// Why a message was dead-lettered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Its handler failed until the cap.
    Failed,
    /// Nobody handles its URN.
    UnknownUrn,
    /// It can never be handed to a handler.
    Poison,
}

impl Reason {
    /// The reason as it stands in a block or a property.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::UnknownUrn => "unknown_urn",
            Self::Poison => "poison",
        }
    }
}

/// The `dead_letter` block of an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// A [`Reason`], or whatever another SDK wrote.
    pub reason: Cow<'static, str>,
    /// The cause in words.
    pub error: Option<String>,
    /// The cause's type in the SDK's language.
    pub exception: Option<Cow<'static, str>>,
    /// When it was dead-lettered, in Unix milliseconds.
    pub failed_at: i64,
    /// The queue it was consumed from.
    pub original_queue: String,
    /// Deliveries made.
    pub attempts: i64,
    /// The language of the SDK that wrote the block.
    pub lang: Cow<'static, str>,
}

impl DeadLetter {
    /// A block of this SDK without a cause.
    #[must_use]
    pub fn new(reason: Reason, original_queue: impl Into<String>, attempts: i64, failed_at: i64) -> Self {
        Self {
            reason: reason.as_str().into(),
            error: None,
            exception: None,
            failed_at,
            original_queue: original_queue.into(),
            attempts,
            lang: LANG.into(),
        }
    }

    /// The same block with a cause.
    #[must_use]
    pub fn caused_by(self, error: impl Into<String>, exception: Option<Cow<'static, str>>) -> Self {
        Self {
            error: Some(error.into()),
            exception,
            ..self
        }
    }

    /// Writes the block as a JSON object.
    pub(crate) fn put(&self, sink: &mut impl Sink) {
        sink.put(b"{\"reason\":");
        put_string(sink, &self.reason);
        sink.put(b",\"error\":");
        put_optional(sink, self.error.as_deref());
        sink.put(b",\"exception\":");
        put_optional(sink, self.exception.as_deref());
        sink.put(b",\"failed_at\":");
        put_integer(sink, self.failed_at);
        sink.put(b",\"original_queue\":");
        put_string(sink, &self.original_queue);
        sink.put(b",\"attempts\":");
        put_integer(sink, self.attempts);
        sink.put(b",\"lang\":");
        put_string(sink, &self.lang);
        sink.put(b"}");
    }
}

fn put_optional(sink: &mut impl Sink, text: Option<&str>) {
    match text {
        Some(text) => put_string(sink, text),
        None => sink.put(b"null"),
    }
}
