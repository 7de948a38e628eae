//! `Envelope` → bytes, in the canonical order (`docs/wire-format.md`, Encoding).

use bytes::Bytes;

use super::members::{Block, Member, MetaParts, Piece, Slot, find};
use super::{Envelope, FORBIDDEN_META};
use crate::dead_letter::DeadLetter;
use crate::error::EnvelopeError;
use crate::json::{Count, Sink, put_integer, put_string};

impl Envelope {
    /// Writes the envelope as a message body.
    ///
    /// # Errors
    ///
    /// The envelope carries a forbidden member that [`Envelope::with_member`] put in; the error's
    /// pointer names it. What [`Envelope::decode`] returns can always be written.
    pub fn encode(&self) -> Result<Bytes, EnvelopeError> {
        if self.parts.is_encoded {
            return Ok(self.parts.source.clone());
        }
        match self.forbidden() {
            Some(pointer) => Err(EnvelopeError::key(pointer)),
            None => Ok(self.write(Change::default())),
        }
    }

    /// The body with `attempts`, and a dead-letter block if one is given, in place of its own.
    pub(crate) fn rewritten(&self, attempts: i64, dead_letter: Option<&DeadLetter>) -> Bytes {
        self.write(Change {
            attempts: Some(attempts),
            dead_letter,
        })
    }

    fn forbidden(&self) -> Option<&'static str> {
        let parts = &*self.parts;
        let has = |members: &[Member], name| find(members, &parts.source, name).is_some();
        if has(&parts.others, "timestamp") {
            return Some("/timestamp");
        }
        if let Some(meta) = parts.meta.value().filter(|meta| !meta.others.is_empty()) {
            for (name, pointer) in FORBIDDEN_META {
                if has(&meta.others, name) {
                    return Some(pointer);
                }
            }
        }
        has(&parts.others, "urn").then_some("/urn")
    }

    /// The body, written anew whatever there is already.
    #[cfg(test)]
    pub(super) fn written(&self) -> Bytes {
        self.write(Change::default())
    }

    /// Measures first, so that the body is one allocation.
    fn write(&self, change: Change<'_>) -> Bytes {
        let mut size = Count::default();
        self.put(&mut size, change);
        let mut body = Vec::with_capacity(size.0);
        self.put(&mut body, change);
        body.into()
    }

    fn put(&self, sink: &mut impl Sink, change: Change<'_>) {
        let parts = &*self.parts;
        let mut object = Object::open(sink, &parts.source);
        object.name("job");
        object.string(&parts.job);
        object.text("trace_id", &parts.trace_id);
        object.raw("data", &parts.data);
        object.nested("meta", &parts.meta, put_meta);
        match change.attempts {
            Some(attempts) => object.integer("attempts", &Slot::Value(attempts)),
            None => object.integer("attempts", &parts.attempts),
        }
        match change.dead_letter {
            Some(block) => {
                object.name("dead_letter");
                block.put(object.sink);
            }
            None => object.nested("dead_letter", &parts.dead_letter, |object, block| {
                put_block(object, block)
            }),
        }
        object.others(&parts.others);
        object.close();
    }
}

/// What a re-published envelope says differently.
#[derive(Clone, Copy, Default)]
struct Change<'a> {
    attempts: Option<i64>,
    dead_letter: Option<&'a DeadLetter>,
}

fn put_meta<S: Sink>(object: &mut Object<'_, S>, meta: &MetaParts) {
    object.text("id", &meta.id);
    object.text("queue", &meta.queue);
    object.text("lang", &meta.lang);
    object.integer("schema_version", &meta.schema_version);
    object.integer("created_at", &meta.created_at);
    object.others(&meta.others);
}

fn put_block<S: Sink>(object: &mut Object<'_, S>, block: &Block) {
    object.text("reason", &block.reason);
    object.text("error", &block.error);
    object.text("exception", &block.exception);
    object.integer("failed_at", &block.failed_at);
    object.text("original_queue", &block.original_queue);
    object.integer("attempts", &block.attempts);
    object.text("lang", &block.lang);
    object.others(&block.others);
}

/// An object that is being written.
struct Object<'a, S> {
    sink: &'a mut S,
    source: &'a Bytes,
    empty: bool,
}

impl<'a, S: Sink> Object<'a, S> {
    fn open(sink: &'a mut S, source: &'a Bytes) -> Self {
        sink.put(b"{");
        Self {
            sink,
            source,
            empty: true,
        }
    }

    fn close(self) {
        self.sink.put(b"}");
    }

    /// Writes a name that needs no escaping, ready for its value.
    fn name(&mut self, name: &str) {
        self.sink.put(if self.empty { b"\"" } else { b",\"" });
        self.empty = false;
        self.sink.put(name.as_bytes());
        self.sink.put(b"\":");
    }

    fn text(&mut self, name: &str, slot: &Slot<Piece>) {
        self.slot(name, slot, Self::string);
    }

    fn raw(&mut self, name: &str, slot: &Slot<Piece>) {
        self.slot(name, slot, |object, piece| {
            object.sink.put(piece.bytes(object.source))
        });
    }

    fn integer(&mut self, name: &str, slot: &Slot<i64>) {
        self.slot(name, slot, |object, value| put_integer(object.sink, *value));
    }

    fn nested<T>(&mut self, name: &str, slot: &Slot<T>, put: impl Fn(&mut Object<'_, S>, &T)) {
        self.slot(name, slot, |object, value| {
            let mut inner = Object::open(object.sink, object.source);
            put(&mut inner, value);
            inner.close();
        });
    }

    fn slot<T>(&mut self, name: &str, slot: &Slot<T>, put: impl FnOnce(&mut Self, &T)) {
        match slot {
            Slot::Absent => {}
            Slot::Null => {
                self.name(name);
                self.sink.put(b"null");
            }
            Slot::Value(value) => {
                self.name(name);
                put(self, value);
            }
        }
    }

    fn string(&mut self, piece: &Piece) {
        match piece {
            // A string without escapes in the source is written as it stands there.
            Piece::Span(span) => {
                self.sink.put(b"\"");
                self.sink.put(span.of(self.source));
                self.sink.put(b"\"");
            }
            Piece::Owned(text) => put_string(self.sink, text),
        }
    }

    fn others(&mut self, members: &[Member]) {
        for member in members {
            self.sink.put(if self.empty { b"\"" } else { b",\"" });
            self.empty = false;
            self.sink.put(member.name.bytes(self.source));
            self.sink.put(b"\":");
            self.sink.put(member.value.bytes(self.source));
        }
    }
}
