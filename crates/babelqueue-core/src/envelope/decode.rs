//! Bytes → `Envelope`, or why not (`docs/wire-format.md`, Decoding).
//!
//! One scan fills the parts and notes the first fault of each later rule; which of them is
//! reported is settled at the end, because the grammar of the whole text comes first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::members::{Block, Member, MetaParts, Parts, Piece, Slot};
use super::{Envelope, FORBIDDEN_META, Warning};
use crate::error::{DecodeError, DecodeErrorKind as Kind};
use crate::json::{self, Fault, Scanner, Str};
use crate::urn::is_blank;

impl Envelope {
    /// Reads an envelope from a message body.
    ///
    /// The envelope keeps `body` and points into it. It may still be one that a consumer does not
    /// accept, see [`Envelope::accepts`].
    ///
    /// # Errors
    ///
    /// The body is poison by one of the rules P1 to P7; nothing can be done with it but to put it
    /// aside, see [`poison_record`](crate::dead_letter::poison_record).
    ///
    /// ```
    /// # use bytes::Bytes;
    /// # use babelqueue_core::Envelope;
    /// let body = Bytes::from_static(br#"{"urn":"urn:babel:orders:created","trace_id":"t-1",
    ///     "data":{"order_id":1042},"meta":{"schema_version":1},"attempts":0}"#);
    /// let envelope = Envelope::decode(&body)?;
    /// assert_eq!(envelope.urn(), "urn:babel:orders:created");
    /// assert!(envelope.accepts().is_ok());
    /// # Ok::<(), babelqueue_core::DecodeError>(())
    /// ```
    pub fn decode(body: &Bytes) -> Result<Self, DecodeError> {
        let mut draft = Draft::default();
        let mut scanner = Scanner::new(body);
        let kind = draft
            .document(&mut scanner)
            .map_err(|fault| not_json(body, fault))?;
        if let Some(offset) = scanner.too_deep() {
            return Err(
                DecodeError::new(Kind::TooDeep, "nested deeper than 512 arrays and objects").at(offset),
            );
        }
        if kind != json::Kind::Object {
            return Err(DecodeError::new(Kind::NotAnObject, "the root is not an object"));
        }
        let attempts = draft.last_attempts;
        if let Some(offset) = scanner.lone_surrogate() {
            let error = DecodeError::new(Kind::UnpairedSurrogate, "an unpaired surrogate escape").at(offset);
            return Err(error.with_attempts(attempts));
        }
        if let Some(WrongType { pointer, what }) = draft.wrong_type {
            return Err(DecodeError::new(Kind::WrongType, what)
                .of(pointer)
                .with_attempts(attempts));
        }
        let parts = draft.finish(body).ok_or_else(|| {
            DecodeError::new(Kind::NoIdentity, "no valid job or urn identity").with_attempts(attempts)
        })?;
        Ok(Self {
            parts: Arc::new(parts),
        })
    }
}

/// Text that is not UTF-8 is reported as such even when the grammar broke before the bad byte.
fn not_json(body: &[u8], fault: Fault) -> DecodeError {
    match std::str::from_utf8(body) {
        Err(error) => DecodeError::new(Kind::NotUtf8, "not valid UTF-8").at(error.valid_up_to()),
        Ok(_) => DecodeError::new(Kind::NotJson, fault.what).at(fault.offset),
    }
}

/// What `job` or `urn` last was.
#[derive(Debug, Default)]
enum Identity {
    #[default]
    Absent,
    Blank,
    Valid(Piece),
    NotText,
}

#[derive(Debug, Clone, Copy)]
struct WrongType {
    pointer: &'static str,
    what: &'static str,
}

/// An envelope while its body is scanned.
#[derive(Debug, Default)]
struct Draft<'a> {
    job: Identity,
    urn: Identity,
    trace_id: Slot<Piece>,
    data: Slot<Piece>,
    meta: Slot<MetaParts>,
    attempts: Slot<i64>,
    dead_letter: Slot<Box<Block>>,
    others: Unknown<'a>,
    timestamp: bool,
    forbidden_meta: [bool; FORBIDDEN_META.len()],
    last_attempts: Option<i64>,
    wrong_type: Option<WrongType>,
}

impl<'a> Draft<'a> {
    fn document(&mut self, scanner: &mut Scanner<'a>) -> Result<json::Kind, Fault> {
        let kind = scanner.start()?;
        if kind == json::Kind::Object {
            scanner.members(|scanner, name| self.member(scanner, name))?;
        } else {
            scanner.value()?;
        }
        scanner.finish()?;
        Ok(kind)
    }

    fn member(&mut self, scanner: &mut Scanner<'a>, name: Str) -> Result<(), Fault> {
        match &*name.unescaped(scanner.text()) {
            b"job" => self.job = identity(scanner)?,
            b"urn" => self.urn = identity(scanner)?,
            b"trace_id" => self.trace_id = self.text(scanner, "/trace_id")?,
            b"data" => self.data = self.data(scanner)?,
            b"meta" => self.meta = self.meta(scanner)?,
            b"attempts" => {
                self.attempts = self.integer(scanner, "/attempts")?;
                self.last_attempts = self.attempts.value().copied();
            }
            b"dead_letter" => self.dead_letter = self.dead_letter(scanner)?,
            b"timestamp" => {
                self.timestamp = true;
                scanner.value()?;
            }
            _ => self.others.read(scanner, name)?,
        }
        Ok(())
    }

    fn data(&mut self, scanner: &mut Scanner<'a>) -> Result<Slot<Piece>, Fault> {
        let kind = scanner.kind()?;
        if kind != json::Kind::Object && kind != json::Kind::Null {
            self.wrong("/data", "is not an object");
        }
        let before = scanner.infinite();
        scanner.watch_numbers(true);
        let span = scanner.value()?;
        scanner.watch_numbers(false);
        if scanner.infinite() != before {
            self.wrong("/data", "holds a number that is not finite");
        }
        Ok(if kind == json::Kind::Null {
            Slot::Null
        } else {
            Slot::Value(Piece::Span(span))
        })
    }

    fn meta(&mut self, scanner: &mut Scanner<'a>) -> Result<Slot<MetaParts>, Fault> {
        self.forbidden_meta = Default::default();
        if !self.object_begins(scanner, "/meta")? {
            return Ok(Slot::Null);
        }
        let mut meta = MetaParts::default();
        let mut others = Unknown::default();
        scanner.members(|scanner, name| {
            match &*name.unescaped(scanner.text()) {
                b"id" => meta.id = self.text(scanner, "/meta/id")?,
                b"queue" => meta.queue = self.text(scanner, "/meta/queue")?,
                b"lang" => meta.lang = self.text(scanner, "/meta/lang")?,
                b"schema_version" => meta.schema_version = self.integer(scanner, "/meta/schema_version")?,
                b"created_at" => meta.created_at = self.integer(scanner, "/meta/created_at")?,
                other => match FORBIDDEN_META.iter().position(|(key, _)| key.as_bytes() == other) {
                    Some(index) => {
                        self.forbidden_meta[index] = true;
                        scanner.value()?;
                    }
                    None => others.read(scanner, name)?,
                },
            }
            Ok(())
        })?;
        meta.others = others.list;
        Ok(Slot::Value(meta))
    }

    fn dead_letter(&mut self, scanner: &mut Scanner<'a>) -> Result<Slot<Box<Block>>, Fault> {
        if !self.object_begins(scanner, "/dead_letter")? {
            return Ok(Slot::Null);
        }
        let mut block = Box::<Block>::default();
        let mut others = Unknown::default();
        scanner.members(|scanner, name| {
            match &*name.unescaped(scanner.text()) {
                b"reason" => block.reason = self.text(scanner, "/dead_letter/reason")?,
                b"error" => block.error = self.text(scanner, "/dead_letter/error")?,
                b"exception" => block.exception = self.text(scanner, "/dead_letter/exception")?,
                b"failed_at" => block.failed_at = self.integer(scanner, "/dead_letter/failed_at")?,
                b"original_queue" => {
                    block.original_queue = self.text(scanner, "/dead_letter/original_queue")?;
                }
                b"attempts" => block.attempts = self.integer(scanner, "/dead_letter/attempts")?,
                b"lang" => block.lang = self.text(scanner, "/dead_letter/lang")?,
                _ => others.read(scanner, name)?,
            }
            Ok(())
        })?;
        block.others = others.list;
        Ok(Slot::Value(block))
    }

    /// True when an object begins here; anything else is passed.
    fn object_begins(&mut self, scanner: &mut Scanner<'a>, pointer: &'static str) -> Result<bool, Fault> {
        let kind = scanner.kind()?;
        if kind == json::Kind::Object {
            return Ok(true);
        }
        if kind != json::Kind::Null {
            self.wrong(pointer, "is not an object");
        }
        scanner.value()?;
        Ok(false)
    }

    fn text(&mut self, scanner: &mut Scanner<'a>, pointer: &'static str) -> Result<Slot<Piece>, Fault> {
        match scanner.kind()? {
            json::Kind::String => {
                let string = scanner.string()?;
                return Ok(Slot::Value(piece(scanner, string)));
            }
            json::Kind::Null => {}
            _ => self.wrong(pointer, "is not a string"),
        }
        scanner.value()?;
        Ok(Slot::Null)
    }

    fn integer(&mut self, scanner: &mut Scanner<'a>, pointer: &'static str) -> Result<Slot<i64>, Fault> {
        match scanner.kind()? {
            json::Kind::Number => {
                let (span, integer) = scanner.number()?;
                let digits = std::str::from_utf8(span.of(scanner.text())).unwrap_or_default();
                match digits.parse() {
                    Ok(value) if integer => return Ok(Slot::Value(value)),
                    _ => self.wrong(pointer, "is not an integer within 64 bits"),
                }
                return Ok(Slot::Null);
            }
            json::Kind::Null => {}
            _ => self.wrong(pointer, "is not an integer"),
        }
        scanner.value()?;
        Ok(Slot::Null)
    }

    fn wrong(&mut self, pointer: &'static str, what: &'static str) {
        self.wrong_type.get_or_insert(WrongType { pointer, what });
    }

    /// Drops forbidden keys and folds the identity; none without a valid one.
    fn finish(self, body: &Bytes) -> Option<Parts> {
        let mut warnings = Vec::new();
        if self.timestamp {
            warnings.push(Warning::forbidden("/timestamp"));
        }
        for (seen, (_, pointer)) in self.forbidden_meta.into_iter().zip(FORBIDDEN_META) {
            if seen {
                warnings.push(Warning::forbidden(pointer));
            }
        }
        let job = match (self.job, self.urn) {
            (Identity::Valid(job), Identity::Absent) => job,
            (Identity::Valid(job), _) => {
                warnings.push(Warning::alias_dropped());
                job
            }
            (Identity::NotText, Identity::Valid(urn)) => {
                warnings.push(Warning::job_ignored());
                urn
            }
            (Identity::Absent | Identity::Blank, Identity::Valid(urn)) => urn,
            _ => return None,
        };
        Some(Parts {
            is_encoded: false,
            source: body.clone(),
            job,
            trace_id: self.trace_id,
            data: self.data,
            meta: self.meta,
            attempts: self.attempts,
            dead_letter: self.dead_letter,
            others: self.others.list,
            warnings,
        })
    }
}

fn identity(scanner: &mut Scanner<'_>) -> Result<Identity, Fault> {
    if scanner.kind()? != json::Kind::String {
        scanner.value()?;
        return Ok(Identity::NotText);
    }
    let string = scanner.string()?;
    let blank = is_blank(&string.unescaped(scanner.text()));
    Ok(if blank {
        Identity::Blank
    } else {
        Identity::Valid(piece(scanner, string))
    })
}

fn piece(scanner: &Scanner<'_>, string: Str) -> Piece {
    if string.escaped {
        Piece::Owned(String::from_utf8_lossy(&string.unescaped(scanner.text())).into())
    } else {
        Piece::Span(string.span)
    }
}

/// Unknown members while they are read. A later duplicate gives its value to the first one's place.
#[derive(Debug, Default)]
struct Unknown<'a> {
    list: Vec<Member>,
    names: Vec<Cow<'a, [u8]>>,
    index: Option<HashMap<Cow<'a, [u8]>, usize>>,
}

impl<'a> Unknown<'a> {
    /// Up to here names are compared one by one; beyond, thousands of members must stay linear.
    const FEW: usize = 16;

    fn read(&mut self, scanner: &mut Scanner<'a>, name: Str) -> Result<(), Fault> {
        let key = name.unescaped(scanner.text());
        let value = Piece::Span(scanner.value()?);
        match self.place(&key) {
            Some(index) => self.list[index].value = value,
            None => {
                match &mut self.index {
                    Some(index) => {
                        index.insert(key, self.list.len());
                    }
                    None => self.names.push(key),
                }
                self.list.push(Member {
                    name: Piece::Span(name.span),
                    value,
                });
            }
        }
        Ok(())
    }

    fn place(&mut self, key: &[u8]) -> Option<usize> {
        if self.index.is_none() && self.names.len() < Self::FEW {
            return self.names.iter().position(|name| **name == *key);
        }
        let names = &mut self.names;
        let index = self
            .index
            .get_or_insert_with(|| names.drain(..).zip(0..).collect());
        index.get(key).copied()
    }
}
