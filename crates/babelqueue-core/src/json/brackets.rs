//! Which brackets are open, without a stack frame for each.

/// The kinds of the open brackets, one bit each: five million of them are 625 kB, not a stack overflow.
#[derive(Debug, Default)]
pub(super) struct Brackets {
    full: Vec<u64>,
    current: u64,
    len: usize,
}

impl Brackets {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, object: bool) {
        if self.len > 0 && self.len.is_multiple_of(64) {
            self.full.push(self.current);
        }
        self.current = self.current << 1 | u64::from(object);
        self.len += 1;
    }

    /// True when the innermost open bracket is an object's.
    pub(super) fn last(&self) -> bool {
        self.current & 1 == 1
    }

    pub(super) fn pop(&mut self) {
        self.current >>= 1;
        self.len -= 1;
        if self.len > 0 && self.len.is_multiple_of(64) {
            self.current = self.full.pop().unwrap_or_default();
        }
    }
}
