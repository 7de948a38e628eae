//! New envelopes. Ids and time come in from outside, as a [`Stamp`].

use bytes::Bytes;

use super::members::{MetaParts, Parts, Piece, Slot, put};
use super::{Envelope, FORBIDDEN_META, KNOWN_META};
use crate::data::Data;
use crate::error::{EnvelopeError, EnvelopeErrorKind};
use crate::json::MAX_DEPTH;
use crate::urn::trim_urn;

/// The language tag of this SDK, in `meta.lang` and in dead letters.
pub(crate) const LANG: &str = "rust";

const DEFAULT_QUEUE: &str = "default";

/// What a new envelope takes from the outside world: random bytes for its ids, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Random bytes for the message id.
    pub message_id: [u8; 16],
    /// Random bytes for the trace id, used when none is given.
    pub trace_id: [u8; 16],
    /// Now, in Unix milliseconds.
    pub now_ms: i64,
}

/// A message that is about to become an envelope.
///
/// ```
/// use babelqueue_core::{Data, NewEnvelope, Stamp};
///
/// let data = Data::from_serialize(&[("order_id", 1042)].into_iter().collect::<std::collections::BTreeMap<_, _>>())?;
/// let stamp = Stamp { message_id: [7; 16], trace_id: [9; 16], now_ms: 1_790_000_000_000 };
/// let envelope = NewEnvelope::new("urn:babel:orders:created", data).queue("orders").build(&stamp)?;
/// assert_eq!(envelope.data_json(), r#"{"order_id":1042}"#);
/// assert_eq!(envelope.meta().id(), "07070707-0707-4707-8707-070707070707");
/// # Ok::<(), babelqueue_core::EnvelopeError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NewEnvelope {
    urn: String,
    data: Data,
    queue: String,
    trace_id: String,
    meta: Vec<(String, Data)>,
}

impl NewEnvelope {
    /// A message of the kind `urn` that carries `data`.
    pub fn new(urn: impl Into<String>, data: Data) -> Self {
        Self {
            urn: urn.into(),
            data,
            queue: String::new(),
            trace_id: String::new(),
            meta: Vec::new(),
        }
    }

    /// The logical queue; `default` when not given or empty.
    pub fn queue(self, queue: impl Into<String>) -> Self {
        Self {
            queue: queue.into(),
            ..self
        }
    }

    /// Continues a trace; a blank id counts as not given.
    pub fn trace_id(self, trace_id: impl Into<String>) -> Self {
        Self {
            trace_id: trace_id.into(),
            ..self
        }
    }

    /// A member of the producer's own under `meta`.
    pub fn meta(mut self, key: impl Into<String>, value: Data) -> Self {
        self.meta.push((key.into(), value));
        self
    }

    /// Makes the envelope.
    ///
    /// # Errors
    ///
    /// The URN is blank, the data is not an object, a `meta` key is reserved or forbidden, or
    /// something is nested deeper than consumers read. All are mistakes in the calling code.
    pub fn build(self, stamp: &Stamp) -> Result<Envelope, EnvelopeError> {
        let urn = trim_urn(&self.urn);
        if urn.is_empty() {
            return Err(EnvelopeError::new(EnvelopeErrorKind::EmptyUrn));
        }
        if !self.data.is_object() {
            return Err(EnvelopeError::new(EnvelopeErrorKind::DataNotObject));
        }
        let trace_id = match trim_urn(&self.trace_id) {
            "" => uuid_v4(stamp.trace_id),
            given => given.into(),
        };
        let queue = if self.queue.is_empty() {
            DEFAULT_QUEUE.into()
        } else {
            self.queue.into_boxed_str()
        };
        let text = |text: Box<str>| Slot::Value(Piece::Owned(text));
        let mut others = Vec::new();
        let mut deepest = self.data.depth() + 1;
        for (key, value) in self.meta {
            if KNOWN_META.contains(&&*key) || FORBIDDEN_META.iter().any(|(forbidden, _)| *forbidden == key) {
                return Err(EnvelopeError::key(format!("/meta/{key}")));
            }
            deepest = deepest.max(value.depth() + 2);
            put(&mut others, &Bytes::new(), &key, Piece::Owned(value.into_text()));
        }
        if deepest > MAX_DEPTH {
            return Err(EnvelopeError::new(EnvelopeErrorKind::TooDeep));
        }
        let meta = MetaParts {
            id: text(uuid_v4(stamp.message_id)),
            queue: text(queue),
            lang: text(LANG.into()),
            schema_version: Slot::Value(1),
            created_at: Slot::Value(stamp.now_ms),
            others,
        };
        Ok(Envelope::from_parts(Parts {
            source: Bytes::new(),
            job: Piece::Owned(urn.into()),
            trace_id: text(trace_id),
            data: Slot::Value(Piece::Owned(self.data.into_text())),
            meta: Slot::Value(meta),
            attempts: Slot::Value(0),
            dead_letter: Slot::Absent,
            others: Vec::new(),
            warnings: Vec::new(),
        }))
    }
}

/// Random bytes as the text of a version 4 UUID.
fn uuid_v4(mut random: [u8; 16]) -> Box<str> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in random.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for nibble in [byte >> 4, byte & 0x0f] {
            text.push(char::from(HEX[usize::from(nibble)]));
        }
    }
    text.into()
}
