//! Lines on standard output, whose reader may leave at any time.

use std::io::{self, ErrorKind, Write, stdout};

use crate::failure::Failure;

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Line {
    /// It is with the reader, or at least on its way.
    Written,
    /// Nobody reads any more.
    Unread,
}

/// Writes the text and a line break, and flushes.
pub(crate) fn line(text: &str) -> Result<Line, Failure> {
    match write(text) {
        Ok(()) => Ok(Line::Written),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Line::Unread),
        Err(error) => Err(Failure::new("cannot write to standard output", &error)),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// One line for the user on standard error; lost when nobody reads it.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "bqctl: {text}");
}
