//! New envelopes. Ids and time come in from outside, as a [`Stamp`].

use std::borrow::Cow;

use bytes::Bytes;

use super::members::{Member, MetaParts, Parts, Piece, Slot, put};
use super::{Envelope, FORBIDDEN_META, KNOWN_META};
use crate::data::Data;
use crate::error::{EnvelopeError, EnvelopeErrorKind};
use crate::json::{MAX_DEPTH, Span, put_integer, put_string};
use crate::urn::trim_urn;

/// The language tag of this SDK, in `meta.lang` and in dead letters.
pub(crate) const LANG: &str = "rust";

const DEFAULT_QUEUE: &str = "default";

/// The length of a UUID's text.
const UUID: usize = 36;

/// What a new envelope's text takes beside its URN, data, queue and trace id, at most.
const FRAME: usize = 224;

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
pub struct NewEnvelope<'a> {
    urn: Cow<'a, str>,
    data: Data,
    queue: Cow<'a, str>,
    trace_id: Cow<'a, str>,
    meta: Vec<(String, Data)>,
}

impl<'a> NewEnvelope<'a> {
    /// A message of the kind `urn` that carries `data`.
    pub fn new(urn: impl Into<Cow<'a, str>>, data: Data) -> Self {
        Self {
            urn: urn.into(),
            data,
            queue: Cow::Borrowed(""),
            trace_id: Cow::Borrowed(""),
            meta: Vec::new(),
        }
    }

    /// The logical queue; `default` when not given or empty.
    pub fn queue(self, queue: impl Into<Cow<'a, str>>) -> Self {
        Self {
            queue: queue.into(),
            ..self
        }
    }

    /// Continues a trace; a blank id counts as not given.
    pub fn trace_id(self, trace_id: impl Into<Cow<'a, str>>) -> Self {
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

    /// Makes the envelope: its text, which is its body too, and where in it everything stands.
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
        let trace_id = trim_urn(&self.trace_id);
        let queue = match &*self.queue {
            "" => DEFAULT_QUEUE,
            given => given,
        };

        // The members in the canonical order, as `encode` writes them.
        let data = self.data.as_json();
        let mut text = Text(Vec::with_capacity(
            FRAME + urn.len() + trace_id.len() + queue.len() + data.len(),
        ));
        text.put("{\"job\":");
        let job = text.string(urn);
        text.put(",\"trace_id\":");
        let trace_id = match trace_id {
            "" => text.uuid_v4(stamp.trace_id),
            given => text.string(given),
        };
        text.put(",\"data\":");
        let data = text.put(data);
        text.put(",\"meta\":{\"id\":");
        let id = text.uuid_v4(stamp.message_id);
        text.put(",\"queue\":");
        let queue = text.string(queue);
        text.put(",\"lang\":");
        let lang = text.string(LANG);
        text.put(",\"schema_version\":1,\"created_at\":");
        put_integer(&mut text.0, stamp.now_ms);
        text.members(&others);
        text.put("},\"attempts\":0}");

        Ok(Envelope::from_parts(Parts {
            source: text.0.into(),
            is_encoded: true,
            job,
            trace_id: Slot::Value(trace_id),
            data: Slot::Value(data),
            meta: Slot::Value(MetaParts {
                id: Slot::Value(id),
                queue: Slot::Value(queue),
                lang: Slot::Value(lang),
                schema_version: Slot::Value(1),
                created_at: Slot::Value(stamp.now_ms),
                others,
            }),
            attempts: Slot::Value(0),
            dead_letter: Slot::Absent,
            others: Vec::new(),
            warnings: Vec::new(),
        }))
    }
}

/// The text of an envelope, as it grows.
struct Text(Vec<u8>);

impl Text {
    /// Adds text as it is, and tells where it stands.
    fn put(&mut self, text: &str) -> Piece {
        let start = self.0.len();
        self.0.extend_from_slice(text.as_bytes());
        let end = self.0.len();
        Piece::Span(Span { start, end })
    }

    /// Adds a string. One with escapes does not stand in the text as it is, so it is kept beside it.
    fn string(&mut self, text: &str) -> Piece {
        let start = self.0.len() + 1;
        put_string(&mut self.0, text);
        let end = self.0.len() - 1;
        if end - start == text.len() {
            Piece::Span(Span { start, end })
        } else {
            Piece::Owned(text.into())
        }
    }

    /// Adds random bytes as the string of a version 4 UUID.
    fn uuid_v4(&mut self, mut random: [u8; 16]) -> Piece {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        // Where in the quoted text the two digits of each byte stand, between the dashes.
        const PLACES: [usize; 16] = [1, 3, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, 29, 31, 33, 35];
        random[6] = random[6] & 0x0f | 0x40;
        random[8] = random[8] & 0x3f | 0x80;
        let mut text = [b'"'; UUID + 2];
        for (byte, at) in random.into_iter().zip(PLACES) {
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 0x0f)];
        }
        for dash in [9, 14, 19, 24] {
            text[dash] = b'-';
        }
        let start = self.0.len() + 1;
        self.0.extend_from_slice(&text);
        Piece::Span(Span {
            start,
            end: start + UUID,
        })
    }

    fn members(&mut self, members: &[Member]) {
        for member in members {
            self.put(",\"");
            self.0.extend_from_slice(member.name.bytes(&Bytes::new()));
            self.put("\":");
            self.0.extend_from_slice(member.value.bytes(&Bytes::new()));
        }
    }
}
