//! The parts of an envelope: known members in slots, unknown ones as raw text in their order.

use std::borrow::Cow;

use bytes::Bytes;

use super::Warning;
use crate::json::{self, Span};

/// A known member: an absent one stays absent, a null one stays null.
#[derive(Clone, Debug, Default)]
pub(crate) enum Slot<T> {
    #[default]
    Absent,
    Null,
    Value(T),
}

impl<T> Slot<T> {
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }
}

/// Text that lies in the envelope's source or was put in later.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Span(Span),
    Owned(Box<str>),
}

impl Piece {
    pub(crate) fn text<'a>(&'a self, source: &'a Bytes) -> &'a str {
        match self {
            // The scanner validated every string it passed, and the rest of a document is ASCII.
            Self::Span(span) => std::str::from_utf8(span.of(source)).unwrap_or_default(),
            Self::Owned(text) => text,
        }
    }

    /// The text, sharing the memory of the source where it lies there.
    pub(crate) fn shared(&self, source: &Bytes) -> Bytes {
        match self {
            Self::Span(span) => source.slice(span.start..span.end),
            Self::Owned(text) => Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    pub(crate) fn bytes<'a>(&'a self, source: &'a Bytes) -> &'a [u8] {
        match self {
            Self::Span(span) => span.of(source),
            Self::Owned(text) => text.as_bytes(),
        }
    }
}

/// An unknown member: both pieces are text as it stands in the document, the name without quotes.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Piece,
    pub(crate) value: Piece,
}

impl Member {
    pub(crate) fn unescaped_name<'a>(&'a self, source: &'a Bytes) -> Cow<'a, [u8]> {
        let raw = self.name.bytes(source);
        if raw.contains(&b'\\') {
            Cow::Owned(json::unescape(raw))
        } else {
            Cow::Borrowed(raw)
        }
    }
}

/// Finds an unknown member by its unescaped name.
pub(crate) fn find<'a>(members: &'a [Member], source: &'a Bytes, name: &str) -> Option<&'a Member> {
    members
        .iter()
        .find(|member| *member.unescaped_name(source) == *name.as_bytes())
}

/// Puts an unknown member in by its unescaped name, in the place of one with the same name.
pub(crate) fn put(members: &mut Vec<Member>, source: &Bytes, name: &str, value: Piece) {
    match members
        .iter_mut()
        .find(|member| *member.unescaped_name(source) == *name.as_bytes())
    {
        Some(member) => member.value = value,
        None => members.push(Member {
            name: Piece::Owned(escape(name)),
            value,
        }),
    }
}

fn escape(name: &str) -> Box<str> {
    let mut text = Vec::with_capacity(name.len() + 2);
    json::put_string(&mut text, name);
    let inner = text.get(1..text.len() - 1).unwrap_or_default();
    String::from_utf8_lossy(inner).into()
}

/// Everything an envelope holds. Spans point into `source`.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) source: Bytes,
    /// True while `source` is just what encoding would give.
    pub(crate) is_encoded: bool,
    pub(crate) job: Piece,
    pub(crate) trace_id: Slot<Piece>,
    /// Raw text of an object.
    pub(crate) data: Slot<Piece>,
    pub(crate) meta: Slot<MetaParts>,
    pub(crate) attempts: Slot<i64>,
    pub(crate) dead_letter: Slot<Box<Block>>,
    pub(crate) others: Vec<Member>,
    pub(crate) warnings: Vec<Warning>,
}

/// The members of `meta`.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetaParts {
    pub(crate) id: Slot<Piece>,
    pub(crate) queue: Slot<Piece>,
    pub(crate) lang: Slot<Piece>,
    pub(crate) schema_version: Slot<i64>,
    pub(crate) created_at: Slot<i64>,
    pub(crate) others: Vec<Member>,
}

/// The members of `dead_letter`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) reason: Slot<Piece>,
    pub(crate) error: Slot<Piece>,
    pub(crate) exception: Slot<Piece>,
    pub(crate) failed_at: Slot<i64>,
    pub(crate) original_queue: Slot<Piece>,
    pub(crate) attempts: Slot<i64>,
    pub(crate) lang: Slot<Piece>,
    pub(crate) others: Vec<Member>,
}
