//! Message properties: the `bq-*` names, and the projection of an envelope onto them.
//!
//! Properties that are not ours, or not even UTF-8, are carried on byte for byte.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::envelope::{Envelope, Warning};
use crate::urn::is_blank;

/// The URN; routes a delivery before the body's own identity does.
pub const JOB: &str = "bq-job";
/// The correlation id.
pub const TRACE_ID: &str = "bq-trace-id";
/// The message id.
pub const MESSAGE_ID: &str = "bq-message-id";
/// The version of the envelope's shape; anything but `1` stops a delivery before its body is read.
pub const SCHEMA_VERSION: &str = "bq-schema-version";
/// The producer's language tag.
pub const SOURCE_LANG: &str = "bq-source-lang";
/// Failed tries so far; counts before the body's own number.
pub const ATTEMPTS: &str = "bq-attempts";
/// The delay that the producer asked for, in milliseconds.
pub const DELAY: &str = "bq-delay";
/// Why a message is in the dead-letter topic in the form in which it was received.
pub const DEAD_LETTER_REASON: &str = "bq-dead-letter-reason";

/// Every name above.
pub(crate) const NAMES: [&str; 8] = [
    JOB,
    TRACE_ID,
    MESSAGE_ID,
    SCHEMA_VERSION,
    SOURCE_LANG,
    ATTEMPTS,
    DELAY,
    DEAD_LETTER_REASON,
];

/// The properties of a message, in their order. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Properties {
    pairs: Arc<Vec<(Bytes, Bytes)>>,
}

impl Properties {
    /// No properties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Properties as they arrived: duplicates and bytes that are not text included.
    #[must_use]
    pub fn from_pairs(pairs: Vec<(Bytes, Bytes)>) -> Self {
        Self {
            pairs: Arc::new(pairs),
        }
    }

    /// What the binding projects from an envelope when it is published, without the delay.
    #[must_use]
    pub fn project(envelope: &Envelope) -> Self {
        // None of them is there yet, so none is looked for.
        let mut pairs = Vec::with_capacity(6);
        for (name, value) in projected(envelope) {
            if !value.is_empty() {
                pairs.push((Bytes::from_static(name.as_bytes()), value));
            }
        }
        let attempts = digits(envelope.attempts());
        pairs.push((Bytes::from_static(ATTEMPTS.as_bytes()), attempts));
        Self::from_pairs(pairs)
    }

    /// The value under `name`; the last one when there are several.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let (_, value) = self.last(name)?;
        Some(value)
    }

    fn last(&self, name: &str) -> Option<&(Bytes, Bytes)> {
        self.pairs.iter().rev().find(|(key, _)| **key == *name.as_bytes())
    }

    /// The value under `name`, sharing its memory; the last one when there are several.
    #[must_use]
    pub fn shared(&self, name: &str) -> Option<Bytes> {
        let (_, value) = self.last(name)?;
        Some(value.clone())
    }

    /// The value under `name` as text; bytes that are not UTF-8 count as absent.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// Puts a value under `key`: in the place of the first that is there, and of all others.
    pub fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (key, value) = (key.into(), value.into());
        let pairs = Arc::make_mut(&mut self.pairs);
        let Some(first) = pairs.iter().position(|(other, _)| *other == key) else {
            pairs.push((key, value));
            return;
        };
        pairs[first].1 = value;
        let mut index = 0;
        pairs.retain(|(other, _)| {
            index += 1;
            index <= first + 1 || *other != key
        });
    }

    /// The pairs in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The pairs in their order, to be sent.
    #[must_use]
    pub fn into_pairs(self) -> Vec<(Bytes, Bytes)> {
        Arc::try_unwrap(self.pairs).unwrap_or_else(|shared| Vec::clone(&shared))
    }

    /// How many pairs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// True when there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// One warning for every property of ours that is not UTF-8 and therefore counts as absent.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        // Nearly all values are ASCII, and then none has to be looked for.
        let may_be = !self.pairs.iter().all(|(_, value)| value.is_ascii());
        let unreadable = move |name: &&str| {
            may_be
                && self
                    .get(name)
                    .is_some_and(|value| std::str::from_utf8(value).is_err())
        };
        NAMES.into_iter().filter(unreadable).map(Warning::property)
    }

    /// Fills what is absent or blank from the envelope, the attempts excepted: a re-publish is a
    /// produce, and producers project.
    pub(crate) fn fill(&mut self, envelope: &Envelope) {
        for (name, value) in projected(envelope) {
            let absent = self.text(name).is_none_or(|text| is_blank(text.as_bytes()));
            if absent && !value.is_empty() {
                self.set(name, value);
            }
        }
    }
}

/// What an envelope says of itself in properties, the attempts excepted.
fn projected(envelope: &Envelope) -> [(&'static str, Bytes); 5] {
    let version = envelope.meta().schema_version().map(digits).unwrap_or_default();
    let [job, trace_id, message_id, lang] = envelope.projected();
    [
        (JOB, job),
        (TRACE_ID, trace_id),
        (MESSAGE_ID, message_id),
        (SCHEMA_VERSION, version),
        (SOURCE_LANG, lang),
    ]
}

/// A number as text. Nearly every message has the version 1 and no attempts.
fn digits(value: i64) -> Bytes {
    match value {
        0 => Bytes::from_static(b"0"),
        1 => Bytes::from_static(b"1"),
        _ => value.to_string().into(),
    }
}

impl fmt::Debug for Properties {
    /// Names only: values may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.pairs.iter().map(|(key, _)| key))
            .finish()
    }
}

#[cfg(test)]
mod tests;
