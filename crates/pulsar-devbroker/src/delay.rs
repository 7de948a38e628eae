//! Entries that wait for their time.

use std::collections::BTreeSet;
use std::time::Duration;

/// From when on an entry counts as due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Punctuality {
    tick_ms: u64,
}

impl Punctuality {
    pub(crate) fn new(tick: Duration, strict: bool) -> Self {
        let tick = if strict { Duration::ZERO } else { tick };
        Self {
            tick_ms: u64::try_from(tick.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Whether what is to come at `due_ms` has to wait.
    pub(crate) fn must_wait(self, due_ms: u64, now_ms: u64) -> bool {
        due_ms > now_ms.saturating_add(self.tick_ms)
    }
}

/// The waiting entries of a subscription, in order of their time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delayed {
    entries: BTreeSet<(u64, u64)>,
}

impl Delayed {
    pub(crate) fn add(&mut self, due_ms: u64, entry: u64) {
        self.entries.insert((due_ms, entry));
    }

    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.entries.first().map(|(due_ms, _)| *due_ms)
    }

    pub(crate) fn pop_due(&mut self, now_ms: u64) -> Option<u64> {
        if self.next_due_ms()? > now_ms {
            return None;
        }
        self.entries.pop_first().map(|(_, entry)| entry)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|(_, entry)| *entry)
    }
}
