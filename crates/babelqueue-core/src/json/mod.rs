//! JSON as text: where the tokens of a document lie and how new text is written.
//!
//! Nothing here builds a tree. The scanner checks a document once and reports spans; the writer
//! turns values into text by the rules of `docs/wire-format.md` (Encoding).

mod brackets;
mod escape;
mod scan;
mod write;

pub(crate) use escape::unescape;
pub(crate) use scan::{Fault, Kind, Scanner, Str};
pub(crate) use write::{Count, Sink, put_integer, put_string};

/// Open arrays and objects allowed at once, the root counted as the first.
pub(crate) const MAX_DEPTH: usize = 512;

/// A stretch of the scanned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.end]
    }
}

/// What a document as a whole is like, for bodies that are only looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) depth: usize,
    pub(crate) lone_surrogate: bool,
    pub(crate) infinite: bool,
}

/// Checks that `text` is exactly one JSON value and says what it is like.
pub(crate) fn shape(text: &[u8]) -> Result<Shape, Fault> {
    let mut scanner = Scanner::new(text);
    let kind = scanner.start()?;
    scanner.watch_numbers(true);
    scanner.value()?;
    scanner.finish()?;
    Ok(Shape {
        kind,
        depth: scanner.deepest(),
        lone_surrogate: scanner.lone_surrogate().is_some(),
        infinite: scanner.infinite().is_some(),
    })
}

/// The text without JSON whitespace at its ends.
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = text {
        text = rest;
    }
    text
}
