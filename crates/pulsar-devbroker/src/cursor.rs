//! What a subscription has acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use pulsar_wire::AckSet;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// All entries before this one are acknowledged.
    floor: u64,
    /// Those at or behind `floor` that are too; never `floor` itself.
    acked: BTreeSet<u64>,
    /// The members that are still open of entries acknowledged in part.
    open: BTreeMap<u64, AckSet>,
}

impl Cursor {
    pub(crate) fn at(entry: u64) -> Self {
        Self {
            floor: entry,
            ..Self::default()
        }
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn acked_above_floor(&self) -> &BTreeSet<u64> {
        &self.acked
    }

    pub(crate) fn is_acked(&self, entry: u64) -> bool {
        entry < self.floor || self.acked.contains(&entry)
    }

    pub(crate) fn ack(&mut self, entry: u64) {
        if entry < self.floor {
            return;
        }
        self.open.remove(&entry);
        if entry == self.floor {
            self.floor += 1;
            self.advance();
        } else {
            self.acked.insert(entry);
        }
    }

    /// Acknowledges all entries before `end`.
    pub(crate) fn ack_before(&mut self, end: u64) {
        if end > self.floor {
            self.floor = end;
            self.acked = self.acked.split_off(&end);
            self.open = self.open.split_off(&end);
            self.advance();
        }
    }

    /// Acknowledges the members that are not in `open` of an entry of so many `messages`; says
    /// whether that leaves none open.
    pub(crate) fn ack_members(&mut self, entry: u64, open: AckSet, messages: u32) -> bool {
        let open = within(open, messages);
        let left = match self.open.remove(&entry) {
            Some(before) => intersection(&before, &open),
            None => open,
        };
        if left.is_empty() {
            self.ack(entry);
            return true;
        }
        self.open.insert(entry, left);
        false
    }

    pub(crate) fn open_members(&self, entry: u64) -> Option<&AckSet> {
        self.open.get(&entry)
    }

    /// How many of an entry's `messages` are not acknowledged.
    pub(crate) fn open_count(&self, entry: u64, messages: u32) -> u32 {
        self.open
            .get(&entry)
            .map_or(messages, |open| open.count_within(messages))
    }

    /// How many of the entries before `end` are not acknowledged.
    pub(crate) fn backlog(&self, end: u64) -> u64 {
        end.saturating_sub(self.floor) - self.acked.len() as u64
    }

    fn advance(&mut self) {
        while self.acked.remove(&self.floor) {
            self.floor += 1;
        }
    }
}

/// Without what lies behind the last member, which nobody could acknowledge.
fn within(open: AckSet, messages: u32) -> AckSet {
    let mut words = open.into_words();
    words.truncate(messages.div_ceil(64) as usize);
    let mut set = AckSet::from_words(words);
    for index in messages..messages.next_multiple_of(64) {
        set.clear(index);
    }
    set
}

fn intersection(left: &AckSet, right: &AckSet) -> AckSet {
    let words = left.words().iter().zip(right.words());
    AckSet::from_words(words.map(|(left, right)| left & right).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_follows_when_a_hole_is_filled() {
        let mut cursor = Cursor::default();
        cursor.ack(1);
        cursor.ack(2);
        assert_eq!((cursor.floor(), cursor.backlog(4)), (0, 2));
        cursor.ack(0);
        assert_eq!((cursor.floor(), cursor.backlog(4)), (3, 1));
    }

    #[test]
    fn a_cumulative_acknowledgement_joins_what_is_behind_it() {
        let mut cursor = Cursor::default();
        cursor.ack(3);
        cursor.ack_before(3);
        assert_eq!(cursor.floor(), 4);
    }

    #[test]
    fn an_entry_is_acknowledged_with_its_last_member() {
        let mut cursor = Cursor::default();
        assert!(!cursor.ack_members(0, AckSet::from_words(vec![0b101]), 3));
        assert_eq!(cursor.open_count(0, 3), 2);
        assert!(cursor.ack_members(0, AckSet::from_words(vec![0b010]), 3));
        assert!(cursor.is_acked(0));
    }
}
