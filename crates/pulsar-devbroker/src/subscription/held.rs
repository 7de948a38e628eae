//! What a consumer holds: delivered, and not acknowledged.

use std::collections::BTreeMap;

/// The entries that a consumer holds, and how many messages these are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    entries: BTreeMap<u64, Pending>,
    messages: u64,
}

/// An entry that a consumer holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// How many messages of it are not acknowledged.
    pub(crate) messages: u32,
    /// Where its key lies.
    pub(crate) slot: u32,
}

impl Held {
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.entries.keys().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Pending)> {
        self.entries.iter().map(|(entry, pending)| (*entry, *pending))
    }

    pub(crate) fn insert(&mut self, entry: u64, pending: Pending) {
        self.messages += u64::from(pending.messages);
        if let Some(before) = self.entries.insert(entry, pending) {
            self.messages -= u64::from(before.messages);
        }
    }

    pub(crate) fn remove(&mut self, entry: u64) -> Option<Pending> {
        let pending = self.entries.remove(&entry)?;
        self.messages -= u64::from(pending.messages);
        Some(pending)
    }

    /// Lets go of all entries before `end`.
    pub(crate) fn remove_before(&mut self, end: u64) {
        while let Some(entry) = self.entries.first_entry().filter(|entry| *entry.key() < end) {
            self.messages -= u64::from(entry.remove().messages);
        }
    }

    /// An entry has so many messages left. Returns how many it lost.
    pub(crate) fn recount(&mut self, entry: u64, messages: u32) -> Option<u32> {
        let pending = self.entries.get_mut(&entry)?;
        let lost = pending.messages.saturating_sub(messages);
        pending.messages -= lost;
        self.messages -= u64::from(lost);
        Some(lost)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
