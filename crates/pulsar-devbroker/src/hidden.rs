//! Keeps out of `Debug` texts, and so out of logs, what is not ours to show.

use std::fmt;

/// Bytes of which only the length is shown: messages, keys, schemas.
pub(crate) struct Hidden<'a>(pub(crate) &'a [u8]);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.0.len())
    }
}
