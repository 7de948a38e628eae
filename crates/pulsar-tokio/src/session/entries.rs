//! The entries that a consumer has seen and not yet seen confirmed, member by member.
//!
//! A broker knows entries, an application knows messages: a batch of ten is one entry, and it can
//! only be acknowledged as a whole. So the members that are settled are noted here, and the note
//! outlives the session: when the entry comes again after a lost connection, a member that was
//! settled is not handed out again, and one that is still being handled is not handed out twice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::message::EntryKey;

/// The greatest number of entries whose notes are kept without anything of them being handled.
/// Beyond it the oldest go: their members may then be handed out once more.
const KEPT: usize = 20_000;

/// The members of an entry as bits; one word is enough for most batches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bits {
    Few(u64),
    Many(Vec<u64>),
}

impl Bits {
    fn none(of: u32) -> Self {
        if of <= 64 {
            Self::Few(0)
        } else {
            Self::Many(vec![0; of.div_ceil(64) as usize])
        }
    }

    fn has(&self, index: u32) -> bool {
        match self {
            Self::Few(word) => word >> index.min(63) & 1 == 1,
            Self::Many(words) => words
                .get(index as usize / 64)
                .is_some_and(|word| word >> (index % 64) & 1 == 1),
        }
    }

    fn set(&mut self, index: u32, value: bool) {
        let word = match self {
            Self::Few(word) => word,
            Self::Many(words) => match words.get_mut(index as usize / 64) {
                Some(word) => word,
                None => return,
            },
        };
        let bit = 1 << (index % 64);
        *word = if value { *word | bit } else { *word & !bit };
    }

    fn count(&self) -> u32 {
        match self {
            Self::Few(word) => word.count_ones(),
            Self::Many(words) => words.iter().map(|word| word.count_ones()).sum(),
        }
    }
}

/// How far the acknowledgement of an entry has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Members are queued, being handled, or to come again.
    Open,
    /// All members are settled, the acknowledgement is on its way.
    Acking,
    /// The acknowledgement went unanswered: nobody knows whether the broker took it.
    Unanswered,
}

#[derive(Debug)]
struct Entry {
    of: u32,
    settled: Bits,
    handed: Bits,
    stage: Stage,
    /// How many arrivals of it are queued or being cut.
    arrivals: u32,
}

impl Entry {
    fn new(of: u32) -> Self {
        Self {
            of,
            settled: Bits::none(of),
            handed: Bits::none(of),
            stage: Stage::Open,
            arrivals: 0,
        }
    }

    fn is_idle(&self) -> bool {
        self.handed.count() == 0 && self.arrivals == 0 && self.stage != Stage::Acking
    }
}

/// What to do with an entry that arrives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Queue it; some of its members may turn out to be settled already.
    Queue,
    /// All of it is settled: acknowledge it once more, without running anything.
    AckAgain,
    /// Its acknowledgement is already on its way.
    Ignore,
}

/// What a settled member means for its entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Other members are not settled yet.
    Noted,
    /// It was the last one: the entry is to be acknowledged.
    Complete,
    /// The entry is not known (any more), or was settled before.
    Unknown,
}

/// Mixes the two numbers of an entry. They come from the broker, one behind the other, and every message looks its entry
/// up several times; a hash that withstands chosen keys would cost more than all the rest here.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// All entries of one consumer that are not confirmed.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    entries: HashMap<EntryKey, Entry, BuildHasherDefault<KeyHasher>>,
    /// At how many entries idle ones are looked for. On `Shared`, one that was given back may go
    /// to another consumer and never come again.
    sweep_at: usize,
}

impl Entries {
    /// An entry of `of` messages arrives.
    pub(crate) fn arrive(&mut self, key: EntryKey, of: u32) -> Arrival {
        if self.entries.len() >= self.sweep_at.max(2 * KEPT) {
            self.forget_oldest();
            self.sweep_at = 2 * self.entries.len();
        }
        let entry = self.entries.entry(key).or_insert_with(|| Entry::new(of));
        if entry.of != of && entry.handed.count() == 0 && entry.stage == Stage::Open {
            // An entry never changes its size; if the broker says otherwise, believe the newest.
            *entry = Entry::new(of);
        }
        match entry.stage {
            Stage::Open => {
                entry.arrivals += 1;
                Arrival::Queue
            }
            Stage::Acking => Arrival::Ignore,
            Stage::Unanswered => {
                entry.stage = Stage::Acking;
                Arrival::AckAgain
            }
        }
    }

    /// True if anything is noted of the entry.
    pub(crate) fn knows(&self, key: EntryKey) -> bool {
        self.entries.contains_key(&key)
    }

    /// True if nothing of the entry is queued, being handled or being acknowledged.
    pub(crate) fn is_idle(&self, key: EntryKey) -> bool {
        self.entries.get(&key).is_none_or(Entry::is_idle)
    }

    /// Notes members that the broker or the producer says are gone.
    pub(crate) fn note_settled(&mut self, key: EntryKey, index: u32) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.settled.set(index, true);
        }
    }

    /// Hands a member out, unless it is settled or being handled.
    pub(crate) fn hand_out(&mut self, key: EntryKey, index: u32) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else {
            return false;
        };
        if entry.stage != Stage::Open || entry.settled.has(index) || entry.handed.has(index) {
            return false;
        }
        entry.handed.set(index, true);
        true
    }

    /// Everything of an entry has been cut and handed out or skipped. If every member turns out to
    /// be settled, the entry is to be acknowledged.
    pub(crate) fn cut_over(&mut self, key: EntryKey) -> Settled {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.arrivals = entry.arrivals.saturating_sub(1);
        }
        self.complete(key)
    }

    /// A handed-out member is settled.
    pub(crate) fn settle(&mut self, key: EntryKey, index: u32) -> Settled {
        let Some(entry) = self.entries.get_mut(&key) else {
            return Settled::Unknown;
        };
        if !entry.handed.has(index) {
            return Settled::Unknown;
        }
        entry.handed.set(index, false);
        entry.settled.set(index, true);
        self.complete(key)
    }

    /// A delivery stands for all members of its entry from `index` on that are not settled: the
    /// rest of a batch that could not be cut.
    pub(crate) fn settle_rest(&mut self, key: EntryKey, index: u32) -> Settled {
        if let Some(entry) = self.entries.get_mut(&key) {
            for rest in index + 1..entry.of {
                entry.settled.set(rest, true);
            }
        }
        self.settle(key, index)
    }

    fn complete(&mut self, key: EntryKey) -> Settled {
        match self.entries.get_mut(&key) {
            Some(entry) if entry.stage == Stage::Open && entry.settled.count() == entry.of => {
                entry.stage = Stage::Acking;
                Settled::Complete
            }
            Some(_) => Settled::Noted,
            None => Settled::Unknown,
        }
    }

    /// A handed-out member goes back without being settled.
    pub(crate) fn release(&mut self, key: EntryKey, index: u32) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else {
            return false;
        };
        let was_handed = entry.handed.has(index);
        entry.handed.set(index, false);
        if entry.is_idle() && entry.settled.count() == 0 {
            self.entries.remove(&key);
        }
        was_handed
    }

    /// The broker confirmed: the entry is forgotten, so that it runs again if an operator resets
    /// the cursor.
    pub(crate) fn confirmed(&mut self, key: EntryKey) {
        self.entries.remove(&key);
    }

    /// The acknowledgement went unanswered.
    pub(crate) fn unanswered(&mut self, key: EntryKey) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.stage = Stage::Unanswered;
        }
    }

    /// What is queued is dropped, since it will come again.
    pub(crate) fn drop_queued(&mut self) {
        self.entries.retain(|_, entry| {
            entry.arrivals = 0;
            !entry.is_idle() || entry.settled.count() > 0
        });
        self.forget_oldest();
    }

    fn forget_oldest(&mut self) {
        let mut idle: Vec<EntryKey> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_idle())
            .map(|(key, _)| *key)
            .collect();
        if idle.len() > KEPT {
            idle.sort_unstable();
            for key in &idle[..idle.len() - KEPT] {
                self.entries.remove(key);
            }
        }
    }

    /// How many entries are queued, being handled or not yet confirmed.
    pub(crate) fn open(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: EntryKey = EntryKey { ledger: 3, entry: 4 };

    fn arrived(of: u32) -> Entries {
        let mut entries = Entries::default();
        assert_eq!(entries.arrive(KEY, of), Arrival::Queue);
        entries
    }

    #[test]
    fn an_entry_is_complete_when_its_last_member_is_settled() {
        for of in [1, 3, 64, 65, 200] {
            let mut entries = arrived(of);
            for index in 0..of {
                assert!(entries.hand_out(KEY, index));
            }
            for index in 0..of - 1 {
                assert_eq!(entries.settle(KEY, index), Settled::Noted);
            }
            assert_eq!(entries.settle(KEY, of - 1), Settled::Complete);
        }
    }

    #[test]
    fn a_member_settled_before_a_reconnect_is_not_handed_out_again() {
        let mut entries = arrived(2);
        entries.hand_out(KEY, 0);
        entries.settle(KEY, 0);
        entries.drop_queued();
        assert_eq!(entries.arrive(KEY, 2), Arrival::Queue);
        assert!(!entries.hand_out(KEY, 0));
        assert!(entries.hand_out(KEY, 1));
        assert_eq!(entries.settle(KEY, 1), Settled::Complete);
    }

    #[test]
    fn a_handler_that_finishes_late_completes_the_entrys_new_arrival() {
        let mut entries = arrived(1);
        entries.hand_out(KEY, 0);
        entries.drop_queued();
        assert_eq!(entries.arrive(KEY, 1), Arrival::Queue);
        assert!(!entries.hand_out(KEY, 0));
        assert_eq!(entries.settle(KEY, 0), Settled::Complete);
    }

    #[test]
    fn an_unanswered_acknowledgement_is_repeated_without_handing_out() {
        let mut entries = arrived(1);
        entries.hand_out(KEY, 0);
        entries.settle(KEY, 0);
        entries.unanswered(KEY);
        assert_eq!(entries.arrive(KEY, 1), Arrival::AckAgain);
        assert_eq!(entries.arrive(KEY, 1), Arrival::Ignore);
    }

    #[test]
    fn a_confirmed_entry_runs_again_when_it_comes_again() {
        let mut entries = arrived(1);
        entries.hand_out(KEY, 0);
        entries.settle(KEY, 0);
        entries.confirmed(KEY);
        assert_eq!(entries.arrive(KEY, 1), Arrival::Queue);
        assert!(entries.hand_out(KEY, 0));
    }

    #[test]
    fn a_released_member_is_handed_out_again() {
        let mut entries = arrived(2);
        entries.hand_out(KEY, 0);
        entries.hand_out(KEY, 1);
        entries.settle(KEY, 0);
        assert!(entries.release(KEY, 1));
        entries.arrive(KEY, 2);
        assert!(!entries.hand_out(KEY, 0));
        assert!(entries.hand_out(KEY, 1));
    }

    #[test]
    fn what_was_never_handed_out_leaves_no_trace_behind() {
        let mut entries = arrived(5);
        entries.drop_queued();
        assert_eq!(entries.open(), 0);
    }

    #[test]
    fn notes_of_idle_entries_are_bounded() {
        let mut entries = Entries::default();
        for entry in 0..KEPT as u64 + 10 {
            let key = EntryKey { ledger: 1, entry };
            entries.arrive(key, 1);
            entries.hand_out(key, 0);
            entries.cut_over(key);
            entries.settle(key, 0);
            entries.unanswered(key);
        }
        entries.drop_queued();
        assert_eq!(entries.open(), KEPT);
    }
}
