//! Key_Shared: who owns a key, and who still holds entries of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Consumer;
use crate::hash;
use crate::peer::Key;

/// How many points each consumer has on the ring.
const POINTS: u32 = 100;

/// Consistent hashing: a key belongs to the consumer of the next point. Where several have the
/// same point, the one that came first has it. Who chose ranges has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    points: BTreeMap<u32, Vec<Key>>,
}

impl Ring {
    pub(crate) fn add(&mut self, consumer: &Consumer) {
        for point in points(consumer) {
            self.points.entry(point).or_default().push(consumer.key);
        }
    }

    pub(crate) fn remove(&mut self, consumer: &Consumer) {
        for point in points(consumer) {
            if let Entry::Occupied(mut keys) = self.points.entry(point) {
                keys.get_mut().retain(|key| *key != consumer.key);
                if keys.get().is_empty() {
                    keys.remove();
                }
            }
        }
    }

    pub(crate) fn owner(&self, slot: u32) -> Option<Key> {
        let next = self.points.range(slot..).next();
        let (_, keys) = next.or_else(|| self.points.first_key_value())?;
        keys.first().copied()
    }
}

fn points(consumer: &Consumer) -> impl Iterator<Item = u32> {
    let count = if consumer.sharing.sticky.is_none() {
        POINTS
    } else {
        0
    };
    (0..count).map(|point| {
        let text = format!("{}\0{}\0{point}", consumer.name, consumer.name_index);
        hash::ring_slot(hash::murmur3(text.as_bytes()))
    })
}

/// Who holds unacknowledged entries of a key: one consumer, unless order was waived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holders {
    counts: BTreeMap<(u32, Key), u32>,
}

impl Holders {
    pub(crate) fn add(&mut self, slot: u32, key: Key) {
        *self.counts.entry((slot, key)).or_default() += 1;
    }

    /// Says whether it was the last.
    pub(crate) fn remove(&mut self, slot: u32, key: Key) -> bool {
        let Some(count) = self.counts.get_mut(&(slot, key)) else {
            return false;
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            self.counts.remove(&(slot, key));
        }
        is_last
    }

    /// Whether another consumer than `key` holds entries of the slot.
    pub(crate) fn is_held_by_another(&self, slot: u32, key: Key) -> bool {
        let first = Key {
            peer: crate::PeerId(0),
            id: 0,
        };
        self.counts
            .range((slot, first)..)
            .take_while(|((other, _), _)| *other == slot)
            .any(|((_, holder), _)| *holder != key)
    }

    pub(crate) fn clear(&mut self) {
        self.counts.clear();
    }
}
