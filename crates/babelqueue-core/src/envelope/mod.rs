//! The envelope: the JSON object that is a message body (`docs/wire-format.md`, Shape).
//!
//! An envelope keeps the text it was read from and points into it; only what changes is written
//! anew. Reading is in `decode`, writing in `encode`, new ones come from `build`.

mod accept;
mod build;
mod decode;
mod encode;
mod members;
mod warning;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;

pub(crate) use build::LANG;
pub use build::{NewEnvelope, Stamp};
pub use warning::Warning;

use crate::dead_letter::DeadLetter;
use crate::error::{DataError, EnvelopeError, EnvelopeErrorKind};
use crate::json;
use crate::urn::trim_urn;
use members::{Block, MetaParts, Parts, Piece, Slot};

/// Keys that a producer once put under `meta`: dropped when read, refused when written.
const FORBIDDEN_META: [(&str, &str); 4] = [
    ("max_retries", "/meta/max_retries"),
    ("attempts", "/meta/attempts"),
    ("source", "/meta/source"),
    ("ts", "/meta/ts"),
];

/// The envelope's own members, which [`Envelope::with_member`] leaves alone.
const KNOWN_TOP: [&str; 6] = ["job", "trace_id", "data", "meta", "attempts", "dead_letter"];
const KNOWN_META: [&str; 5] = ["id", "queue", "lang", "schema_version", "created_at"];

/// One message as every BabelQueue SDK reads and writes it.
///
/// Cheap to clone. Changing a clone leaves the others as they are. What a producer of another
/// version or language put in (unknown members, spelling of numbers) is kept as it came.
#[derive(Clone)]
pub struct Envelope {
    parts: Arc<Parts>,
}

impl Envelope {
    /// The identity that the message is routed by: `job`, ASCII-trimmed.
    #[must_use]
    pub fn urn(&self) -> &str {
        trim_urn(self.job())
    }

    /// `job` as it stands in the envelope.
    #[must_use]
    pub fn job(&self) -> &str {
        self.parts.job.text(&self.parts.source)
    }

    /// The correlation id, carried unchanged over every hop; empty when absent.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        text(&self.parts.trace_id, &self.parts.source)
    }

    /// Failed tries so far; 0 when absent.
    #[must_use]
    pub fn attempts(&self) -> i64 {
        self.parts.attempts.value().copied().unwrap_or_default()
    }

    /// What the producer said about the message.
    #[must_use]
    pub fn meta(&self) -> Meta<'_> {
        Meta {
            source: &self.parts.source,
            parts: self.parts.meta.value(),
        }
    }

    /// The business data as the type that the handler works with.
    ///
    /// # Errors
    ///
    /// There is no data, or it is not of this type; the text names the place and no content. A retry
    /// will not help.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        let piece = self.parts.data.value().ok_or_else(DataError::absent)?;
        let mut reader = serde_json::Deserializer::from_slice(piece.bytes(&self.parts.source));
        // The scanner has bounded the depth, and at four times serde_json's own limit.
        reader.disable_recursion_limit();
        T::deserialize(&mut reader).map_err(|error| DataError::mismatch(&error))
    }

    /// The text of `data`; empty when there is none.
    #[must_use]
    pub fn data_json(&self) -> &str {
        text(&self.parts.data, &self.parts.source)
    }

    /// The block that says why the message was dead-lettered.
    #[must_use]
    pub fn dead_letter(&self) -> Option<DeadLetter> {
        let source = &self.parts.source;
        let block = self.parts.dead_letter.value()?;
        let optional = |slot: &Slot<Piece>| slot.value().map(|piece| piece.text(source).to_owned());
        Some(DeadLetter {
            reason: text(&block.reason, source).to_owned().into(),
            error: optional(&block.error),
            exception: optional(&block.exception).map(Cow::Owned),
            failed_at: block.failed_at.value().copied().unwrap_or_default(),
            original_queue: text(&block.original_queue, source).to_owned(),
            attempts: block.attempts.value().copied().unwrap_or_default(),
            lang: text(&block.lang, source).to_owned().into(),
        })
    }

    /// The text of an unknown member at the top level.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&str> {
        let source = &self.parts.source;
        members::find(&self.parts.others, source, name).map(|member| member.value.text(source))
    }

    /// What decoding dropped or ignored.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.parts.warnings.iter().copied()
    }

    /// The same message with another count of failed tries.
    #[must_use]
    pub fn with_attempts(mut self, attempts: i64) -> Self {
        self.change().attempts = Slot::Value(attempts);
        self
    }

    /// The same message with `block` in the place of any earlier dead-letter block.
    #[must_use]
    pub fn with_dead_letter(mut self, block: &DeadLetter) -> Self {
        self.change().dead_letter = Slot::Value(Box::new(block.to_parts()));
        self
    }

    /// The same message with an unknown member: `pointer` is `/name` or `/meta/name`, `json` the
    /// text of its value.
    ///
    /// A forbidden name is taken here and refused by [`Envelope::encode`].
    ///
    /// # Errors
    ///
    /// The pointer names a member that the envelope manages itself or a place that it does not
    /// have, or the text is not one JSON value.
    pub fn with_member(mut self, pointer: &str, json: &str) -> Result<Self, EnvelopeError> {
        let (meta, name) = match pointer.strip_prefix("/meta/") {
            Some(name) => (true, name),
            None => (
                false,
                pointer
                    .strip_prefix('/')
                    .ok_or_else(|| EnvelopeError::key(pointer))?,
            ),
        };
        let known: &[&str] = if meta { &KNOWN_META } else { &KNOWN_TOP };
        if name.contains('/') || known.contains(&name) {
            return Err(EnvelopeError::key(pointer));
        }
        let name = name.replace("~1", "/").replace("~0", "~");
        let shape = json::shape(json.as_bytes())
            .map_err(|_| EnvelopeError::new(EnvelopeErrorKind::NotJson).because("not one JSON value"))?;
        if shape.lone_surrogate {
            return Err(
                EnvelopeError::new(EnvelopeErrorKind::NotJson).because("an unpaired surrogate escape")
            );
        }
        if shape.depth + 1 + usize::from(meta) > json::MAX_DEPTH {
            return Err(EnvelopeError::new(EnvelopeErrorKind::TooDeep));
        }
        let value = Piece::Owned(json.trim_matches([' ', '\t', '\n', '\r']).into());
        let parts = self.change();
        if meta {
            let mut members = match std::mem::take(&mut parts.meta) {
                Slot::Value(members) => members,
                Slot::Absent | Slot::Null => MetaParts::default(),
            };
            members::put(&mut members.others, &parts.source, &name, value);
            parts.meta = Slot::Value(members);
        } else {
            members::put(&mut parts.others, &parts.source, &name, value);
        }
        Ok(self)
    }

    /// What producers project onto properties: job, trace id, message id and language, each empty when absent.
    pub(crate) fn projected(&self) -> [Bytes; 4] {
        let parts = &*self.parts;
        let shared = |slot: &Slot<Piece>| {
            slot.value()
                .map(|piece| piece.shared(&parts.source))
                .unwrap_or_default()
        };
        let meta = parts.meta.value();
        [
            parts.job.shared(&parts.source),
            shared(&parts.trace_id),
            meta.map(|meta| shared(&meta.id)).unwrap_or_default(),
            meta.map(|meta| shared(&meta.lang)).unwrap_or_default(),
        ]
    }

    fn change(&mut self) -> &mut Parts {
        let parts = Arc::make_mut(&mut self.parts);
        parts.is_encoded = false;
        parts
    }

    fn from_parts(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }
}

impl fmt::Debug for Envelope {
    /// Names the message; data, and anything else that may be personal, stays out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("urn", &self.urn())
            .field("id", &self.meta().id())
            .field("trace_id", &self.trace_id())
            .field("attempts", &self.attempts())
            .finish_non_exhaustive()
    }
}

/// The members of `meta`, each empty or none when absent.
#[derive(Clone, Copy)]
pub struct Meta<'a> {
    source: &'a Bytes,
    parts: Option<&'a MetaParts>,
}

impl<'a> Meta<'a> {
    /// The message's own id, the key for idempotency.
    #[must_use]
    pub fn id(self) -> &'a str {
        self.parts.map_or("", |parts| text(&parts.id, self.source))
    }

    /// The logical queue that the producer published to.
    #[must_use]
    pub fn queue(self) -> &'a str {
        self.parts.map_or("", |parts| text(&parts.queue, self.source))
    }

    /// The producer's language tag.
    #[must_use]
    pub fn lang(self) -> &'a str {
        self.parts.map_or("", |parts| text(&parts.lang, self.source))
    }

    /// The version of the envelope's shape.
    #[must_use]
    pub fn schema_version(self) -> Option<i64> {
        self.parts?.schema_version.value().copied()
    }

    /// When the message was made, in Unix milliseconds.
    #[must_use]
    pub fn created_at(self) -> Option<i64> {
        self.parts?.created_at.value().copied()
    }

    /// The text of a producer's own member under `meta`.
    #[must_use]
    pub fn extension(self, name: &str) -> Option<&'a str> {
        let member = members::find(&self.parts?.others, self.source, name)?;
        Some(member.value.text(self.source))
    }
}

impl fmt::Debug for Meta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta")
            .field("id", &self.id())
            .field("queue", &self.queue())
            .field("lang", &self.lang())
            .field("schema_version", &self.schema_version())
            .field("created_at", &self.created_at())
            .finish_non_exhaustive()
    }
}

fn text<'a>(slot: &'a Slot<Piece>, source: &'a Bytes) -> &'a str {
    slot.value().map_or("", |piece| piece.text(source))
}

impl DeadLetter {
    fn to_parts(&self) -> Block {
        let text = |text: &str| Slot::Value(Piece::Owned(text.into()));
        let optional = |value: Option<&str>| value.map_or(Slot::Null, text);
        Block {
            reason: text(&self.reason),
            error: optional(self.error.as_deref()),
            exception: optional(self.exception.as_deref()),
            failed_at: Slot::Value(self.failed_at),
            original_queue: text(&self.original_queue),
            attempts: Slot::Value(self.attempts),
            lang: text(&self.lang),
            others: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
