//! What a record was before it was dead-lettered (`docs/wire-format.md`, Reading a record back).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::json::{self, Fault, Kind, Scanner, Span, Str};

/// A body that was read back from its record.
#[derive(Clone, PartialEq, Eq)]
pub enum Restored {
    /// The record without its block.
    Object(Bytes),
    /// What the record had wrapped. A spliced body that itself was only `{"raw":"…"}` looks the
    /// same, so a tool does well to keep the record.
    Wrapped(Bytes),
}

impl Restored {
    /// The original body.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        match self {
            Self::Object(body) | Self::Wrapped(body) => body,
        }
    }
}

impl fmt::Debug for Restored {
    /// Lengths only: the content may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(body) => write!(f, "Object({} bytes)", body.len()),
            Self::Wrapped(body) => write!(f, "Wrapped({} bytes)", body.len()),
        }
    }
}

/// Gives back the body that a record of the dead-letter topic was made from.
///
/// None when the record is not a JSON object with a `dead_letter` member: a raw record, which is
/// its own original.
#[must_use]
pub fn restore(record: &[u8]) -> Option<Restored> {
    let record = json::trim(record);
    let members = members(record).ok()??;
    let block = members
        .iter()
        .rposition(|member| member.is(record, "dead_letter"))?;
    let rest = || {
        members
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != block)
            .map(|(_, member)| member)
    };
    if let Some(body) = unwrap(record, rest()) {
        return Some(Restored::Wrapped(body));
    }
    let Span { start, end } = members[block].with_comma(record, block == 0);
    Some(Restored::Object(
        [&record[..start], &record[end..]].concat().into(),
    ))
}

struct Member {
    name: Str,
    kind: Kind,
    value: Span,
}

impl Member {
    fn is(&self, record: &[u8], name: &str) -> bool {
        *self.name.unescaped(record) == *name.as_bytes()
    }

    /// The member's text with the comma that its removal makes superfluous: the one before it, or
    /// the one behind it when it is the first.
    fn with_comma(&self, record: &[u8], first: bool) -> Span {
        let start = self.name.span.start - 1;
        let whitespace = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        if !first {
            let before = record[..start]
                .iter()
                .rev()
                .take_while(|byte| whitespace(byte))
                .count();
            return Span {
                start: start - before - 1,
                end: self.value.end,
            };
        }
        let behind = record[self.value.end..]
            .iter()
            .take_while(|byte| whitespace(byte))
            .count();
        match record.get(self.value.end + behind) {
            Some(b',') => Span {
                start,
                end: self.value.end + behind + 1,
            },
            _ => Span {
                start,
                end: self.value.end,
            },
        }
    }

    fn text(&self, record: &[u8]) -> Option<Vec<u8>> {
        if self.kind != Kind::String {
            return None;
        }
        Some(json::unescape(&record[self.value.start + 1..self.value.end - 1]))
    }
}

/// The top-level members; none when the root is not an object or holds text that is not Unicode.
fn members(record: &[u8]) -> Result<Option<Vec<Member>>, Fault> {
    let mut scanner = Scanner::new(record);
    if scanner.start()? != Kind::Object {
        return Ok(None);
    }
    let mut members = Vec::new();
    scanner.members(|scanner, name| {
        let kind = scanner.kind()?;
        let value = scanner.value()?;
        members.push(Member { name, kind, value });
        Ok(())
    })?;
    scanner.finish()?;
    Ok(scanner.lone_surrogate().is_none().then_some(members))
}

/// The wrapped body, when `raw`, with or without `raw_encoding`, is all there is.
fn unwrap<'a>(record: &[u8], mut rest: impl Iterator<Item = &'a Member>) -> Option<Bytes> {
    let mut raw = None;
    let mut encoding = None;
    if !rest.all(|member| {
        let slot = match () {
            () if member.is(record, "raw") => &mut raw,
            () if member.is(record, "raw_encoding") => &mut encoding,
            () => return false,
        };
        slot.replace(member).is_none()
    }) {
        return None;
    }
    let raw = raw?.text(record)?;
    match encoding.and_then(|encoding| encoding.text(record)).as_deref() {
        Some(b"base64") => STANDARD.decode(raw).ok().map(Bytes::from),
        _ => Some(raw.into()),
    }
}
