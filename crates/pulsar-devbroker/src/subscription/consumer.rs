//! A consumer of a subscription.

use pulsar_wire::proto::IntRange;

use super::Held;
use crate::meter::Meter;
use crate::peer::Key;
use crate::room::Room;

#[derive(Clone, Debug)]
pub(crate) struct Consumer {
    pub(crate) key: Key,
    pub(crate) name: String,
    /// The lowest is served first.
    pub(crate) priority: i32,
    /// How many messages may go out. A batch may push it below zero.
    pub(crate) permits: i64,
    /// What its connection can take.
    pub(crate) room: Room,
    /// Permits that came while it was blocked.
    pub(crate) permits_later: i64,
    /// Whether it gets nothing because it holds too many.
    pub(crate) blocked: bool,
    /// What was delivered and is not acknowledged.
    pub(crate) pending: Held,
    pub(crate) epoch: Option<u64>,
    /// What it wants of a Key_Shared subscription.
    pub(crate) sharing: KeySharing,
    /// Tells it from others of the same name on the ring.
    pub(crate) name_index: u32,
    /// How far it is from where the topic looks for its active consumer. Failover only.
    pub(crate) distance: u32,
    /// Whether it was told that a terminated topic has no more.
    pub(crate) told_of_end: bool,
    /// Whether it learns the topic's schema from the topic.
    pub(crate) takes_any_schema: bool,
    /// Messages that were delivered, sent back and acknowledged.
    pub(crate) delivered: Meter,
    pub(crate) redelivered: Meter,
    pub(crate) acked: Meter,
}

/// How a Key_Shared subscription divides its keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeySharing {
    /// The ranges that the consumer chose for itself, in order; otherwise the ring decides.
    pub(crate) sticky: Option<Vec<IntRange>>,
    /// Whether keys may move although their old owner still holds some.
    pub(crate) out_of_order: bool,
}

impl KeySharing {
    pub(crate) fn in_order(ranges: &[IntRange]) -> Vec<IntRange> {
        let mut ranges = ranges.to_vec();
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        ranges
    }

    pub(crate) fn covers(&self, slot: u32) -> bool {
        i32::try_from(slot).is_ok_and(|slot| self.meets(slot, slot))
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let mut theirs = other.sticky.iter().flatten();
        theirs.any(|their| self.meets(their.start, their.end))
    }

    /// Whether one of the ranges has something of this one. There may be many, none of which
    /// overlaps another.
    fn meets(&self, start: i32, end: i32) -> bool {
        let Some(ranges) = &self.sticky else {
            return false;
        };
        let first = ranges.partition_point(|range| range.end < start);
        ranges.get(first).is_some_and(|range| range.start <= end)
    }

    /// What is wrong with the ranges themselves.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let ranges = self.sticky.as_ref()?;
        if ranges.is_empty() {
            Some("Ranges for KeyShared policy must not be empty.")
        } else if ranges.iter().any(|range| range.start > range.end) {
            Some("Fixed hash range start > end")
        } else if ranges.windows(2).any(|pair| pair[1].start <= pair[0].end) {
            Some("Consumer's own ranges conflict")
        } else {
            None
        }
    }

    pub(crate) fn is_same_mode(&self, other: &Self) -> bool {
        self.sticky.is_some() == other.sticky.is_some() && self.out_of_order == other.out_of_order
    }
}

impl Consumer {
    pub(crate) fn new(key: Key, name: String) -> Self {
        Self {
            key,
            name,
            priority: 0,
            permits: 0,
            room: Room::default(),
            permits_later: 0,
            blocked: false,
            pending: Held::default(),
            epoch: None,
            sharing: KeySharing::default(),
            name_index: 0,
            distance: 0,
            told_of_end: false,
            takes_any_schema: false,
            delivered: Meter::default(),
            redelivered: Meter::default(),
            acked: Meter::default(),
        }
    }
}
