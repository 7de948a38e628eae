//! The scanner: one pass over a document, no recursion, no tree.
//!
//! Grammar faults end the scan at once. What is legal grammar but still refused later (nesting,
//! unpaired surrogate escapes, numbers beyond a double) is only noted, because the order in which
//! causes are reported (`docs/wire-format.md`, Poison) needs the grammar checked to the end first.

use std::borrow::Cow;

use super::brackets::Brackets;
use super::escape::{hex4, is_high, is_low, low_after, unescape};
use super::{MAX_DEPTH, Span};

/// Why a text is not one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) what: &'static str,
}

/// The type of a value, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// A string token: the text between the quotes, and whether it holds escapes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Str {
    pub(crate) span: Span,
    pub(crate) escaped: bool,
}

impl Str {
    /// The string's text, escapes resolved.
    pub(crate) fn unescaped(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.escaped {
            Cow::Owned(unescape(self.span.of(text)))
        } else {
            Cow::Borrowed(self.span.of(text))
        }
    }
}

/// Reads one document from front to back.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    pos: usize,
    open: Brackets,
    deepest: usize,
    too_deep: Option<usize>,
    lone_surrogate: Option<usize>,
    infinite: Option<usize>,
    watch_numbers: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            pos: 0,
            open: Brackets::default(),
            deepest: 0,
            too_deep: None,
            lone_surrogate: None,
            infinite: None,
            watch_numbers: false,
        }
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The first bracket that went over the nesting limit.
    pub(crate) fn too_deep(&self) -> Option<usize> {
        self.too_deep
    }

    pub(crate) fn deepest(&self) -> usize {
        self.deepest
    }

    pub(crate) fn lone_surrogate(&self) -> Option<usize> {
        self.lone_surrogate
    }

    /// The first number that is infinite as a double, met while numbers were watched.
    pub(crate) fn infinite(&self) -> Option<usize> {
        self.infinite
    }

    pub(crate) fn watch_numbers(&mut self, on: bool) {
        self.watch_numbers = on;
    }

    /// Goes to the first byte of the document's value.
    pub(crate) fn start(&mut self) -> Result<Kind, Fault> {
        self.skip_whitespace();
        self.kind()
    }

    /// Checks that only whitespace is left.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        self.skip_whitespace();
        if self.pos == self.text.len() {
            Ok(())
        } else {
            Err(self.fault("text after the value"))
        }
    }

    /// The type of the value that begins here.
    pub(crate) fn kind(&self) -> Result<Kind, Fault> {
        match self.peek() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(_) => Err(self.fault("a value expected")),
            None => Err(self.fault("the text ends early")),
        }
    }

    /// Reads the object that begins here and calls `each` with every name; `each` has to read the
    /// value that follows.
    pub(crate) fn members<E>(&mut self, mut each: E) -> Result<(), Fault>
    where
        E: FnMut(&mut Self, Str) -> Result<(), Fault>,
    {
        self.open_bracket(true);
        if self.peek() == Some(b'}') {
            self.close_bracket();
            return Ok(());
        }
        loop {
            let name = self.name()?;
            each(self, name)?;
            self.skip_whitespace();
            match self.peek() {
                Some(b',') => self.step(),
                Some(b'}') => {
                    self.close_bracket();
                    return Ok(());
                }
                _ => return Err(self.unexpected("a comma or a closing brace expected")),
            }
        }
    }

    /// Reads the value that begins here, whatever it is.
    pub(crate) fn value(&mut self) -> Result<Span, Fault> {
        let start = self.pos;
        let base = self.open.len();
        loop {
            match self.kind()? {
                Kind::Object => {
                    self.open_bracket(true);
                    if self.peek() != Some(b'}') {
                        self.name()?;
                        continue;
                    }
                    self.close_bracket();
                }
                Kind::Array => {
                    self.open_bracket(false);
                    if self.peek() != Some(b']') {
                        continue;
                    }
                    self.close_bracket();
                }
                Kind::String => {
                    self.string()?;
                }
                Kind::Number => {
                    self.number()?;
                }
                Kind::Bool | Kind::Null => self.literal()?,
            }
            if self.leave(base)? {
                return Ok(Span { start, end: self.pos });
            }
        }
    }

    /// After a value: closes what ends here. True when all that `value` opened is closed again,
    /// false when another value follows.
    fn leave(&mut self, base: usize) -> Result<bool, Fault> {
        while self.open.len() > base {
            self.skip_whitespace();
            let object = self.open.last();
            match self.peek() {
                Some(b',') => {
                    self.step();
                    if object {
                        self.name()?;
                    }
                    return Ok(false);
                }
                Some(b'}') if object => self.close_bracket(),
                Some(b']') if !object => self.close_bracket(),
                _ if object => return Err(self.unexpected("a comma or a closing brace expected")),
                _ => return Err(self.unexpected("a comma or a closing bracket expected")),
            }
        }
        Ok(true)
    }

    /// Reads a member name and its colon and goes to the value.
    fn name(&mut self) -> Result<Str, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a member name expected"));
        }
        let name = self.string()?;
        self.skip_whitespace();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("a colon expected"));
        }
        self.step();
        Ok(name)
    }

    /// Reads the string that begins here.
    pub(crate) fn string(&mut self) -> Result<Str, Fault> {
        let start = self.pos + 1;
        self.pos = start;
        let mut escaped = false;
        let mut non_ascii = false;
        loop {
            non_ascii |= self.plain_characters();
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault("a raw control character in a string")),
                None => return Err(self.fault("the text ends early")),
            }
        }
        let span = Span { start, end: self.pos };
        self.pos += 1;
        if non_ascii && std::str::from_utf8(span.of(self.text)).is_err() {
            return Err(Fault {
                offset: start,
                what: "invalid UTF-8",
            });
        }
        Ok(Str { span, escaped })
    }

    /// Goes to the next quote, backslash or control character, eight bytes at a time. True when
    /// bytes outside ASCII were passed.
    fn plain_characters(&mut self) -> bool {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        let rest = &self.text[self.pos..];
        let mut high = 0u64;
        let mut at = 0;
        while let Some(chunk) = rest[at..].first_chunk::<8>() {
            let word = u64::from_le_bytes(*chunk);
            let quote = word ^ (ONES * 0x22);
            let backslash = word ^ (ONES * 0x5c);
            // A borrow can only raise false hits above a true one, so the lowest hit is exact.
            let hits = (quote.wrapping_sub(ONES) & !quote
                | backslash.wrapping_sub(ONES) & !backslash
                | word.wrapping_sub(ONES * 0x20) & !word)
                & HIGHS;
            if hits != 0 {
                let below = hits.trailing_zeros() & !7;
                high |= word & HIGHS & ((1u64 << below) - 1);
                self.pos += at + (below / 8) as usize;
                return high != 0;
            }
            high |= word & HIGHS;
            at += 8;
        }
        let mut non_ascii = high != 0;
        while let Some(&byte) = rest.get(at) {
            if byte < 0x20 || byte == b'"' || byte == b'\\' {
                break;
            }
            non_ascii |= byte >= 0x80;
            at += 1;
        }
        self.pos += at;
        non_ascii
    }

    /// Reads one escape; a pair of surrogates counts as one.
    fn escape(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        match self.text.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 2;
                return Ok(());
            }
            Some(b'u') => {}
            Some(_) => return Err(self.fault("an unknown escape")),
            None => {
                return Err(Fault {
                    offset: self.text.len(),
                    what: "the text ends early",
                });
            }
        }
        let Some(unit) = hex4(&self.text[self.pos + 2..]) else {
            return Err(self.fault("a bad \\u escape"));
        };
        self.pos += 6;
        if is_high(unit) && low_after(&self.text[self.pos..]).is_some() {
            self.pos += 6;
        } else if is_high(unit) || is_low(unit) {
            self.lone_surrogate.get_or_insert(start);
        }
        Ok(())
    }

    /// Reads the number that begins here; true when it is an integer literal.
    pub(crate) fn number(&mut self) -> Result<(Span, bool), Fault> {
        let start = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        if self.peek() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        let mut integer = true;
        let mut exponent = false;
        if self.peek() == Some(b'.') {
            integer = false;
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            exponent = true;
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        let span = Span { start, end: self.pos };
        // A number without an exponent and with at most 308 digits is below the largest double.
        if self.watch_numbers && (exponent || span.end - span.start > 308) && !is_finite(span.of(self.text)) {
            self.infinite.get_or_insert(start);
        }
        Ok((span, integer))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
        if self.pos == start {
            Err(self.unexpected("a digit expected"))
        } else {
            Ok(())
        }
    }

    fn literal(&mut self) -> Result<(), Fault> {
        for literal in [b"true".as_slice(), b"false", b"null"] {
            if self.text[self.pos..].starts_with(literal) {
                self.pos += literal.len();
                return Ok(());
            }
        }
        Err(self.fault("a value expected"))
    }

    /// Opens a bracket and goes to what stands inside it.
    fn open_bracket(&mut self, object: bool) {
        self.open.push(object);
        let depth = self.open.len();
        self.deepest = self.deepest.max(depth);
        if depth > MAX_DEPTH {
            self.too_deep.get_or_insert(self.pos);
        }
        self.step();
    }

    fn close_bracket(&mut self) {
        self.open.pop();
        self.pos += 1;
    }

    /// Passes one byte and the whitespace behind it.
    fn step(&mut self) {
        self.pos += 1;
        self.skip_whitespace();
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    fn unexpected(&self, what: &'static str) -> Fault {
        if self.pos < self.text.len() {
            self.fault(what)
        } else {
            self.fault("the text ends early")
        }
    }

    fn fault(&self, what: &'static str) -> Fault {
        Fault {
            offset: self.pos,
            what,
        }
    }
}

fn is_finite(number: &[u8]) -> bool {
    let number = std::str::from_utf8(number).unwrap_or_default();
    number.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests;
