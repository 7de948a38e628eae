//! A subscription: what is acknowledged, what is out, what has to come again.
//!
//! Consumers come and go in `membership`; which entry goes to whom is decided in
//! [`dispatch`](crate::dispatch) and carried out in `deliver`; acknowledgements and requests for
//! redelivery are in `settle`.

mod consumer;
mod deliver;
mod held;
mod keys;
mod limits;
mod membership;
mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pulsar_wire::proto::SubType;

pub(crate) use self::consumer::{Consumer, KeySharing};
pub(crate) use self::held::{Held, Pending};
use self::keys::{Holders, Ring};
use crate::clock::Clock;
use crate::cursor::Cursor;
use crate::delay::{Delayed, Punctuality};
use crate::hash;
use crate::name::TopicName;
use crate::peer::Key;

/// Settings of the broker that a subscription needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) batch_index_acks: bool,
    pub(crate) failover_delay: Duration,
    pub(crate) punctuality: Punctuality,
    /// How many messages a consumer and a subscription may hold without acknowledging them.
    pub(crate) max_unacked_per_consumer: u64,
    pub(crate) max_unacked_per_subscription: u64,
}

#[derive(Debug)]
pub(crate) struct Subscription {
    name: Arc<str>,
    /// How it divides messages; unknown before the first consumer came.
    pub(crate) kind: Option<SubType>,
    pub(crate) durable: bool,
    pub(crate) cursor: Cursor,
    /// The cursor as it would be found after a crash.
    stored: Cursor,
    /// The next entry to look at for the first time.
    pub(crate) read: u64,
    /// Entries before `read` that no consumer holds: to come (again). Shared and Key_Shared only.
    pub(crate) replay: BTreeSet<u64>,
    /// How often entries were sent back. Shared and Key_Shared only.
    counts: BTreeMap<u64, u32>,
    pub(crate) delayed: Delayed,
    /// In the order in which they came.
    pub(crate) consumers: Vec<Consumer>,
    /// The one that gets everything. Exclusive and Failover only.
    pub(crate) active: Option<Key>,
    /// When the active consumer starts. Failover only.
    takeover: Option<Instant>,
    /// Which consumer is next. Shared only.
    pub(crate) turn: usize,
    ring: Ring,
    holders: Holders,
    /// How many messages its consumers hold. Shared and Key_Shared only.
    unacked: u64,
    /// Whether nothing goes out because they hold too many.
    pub(crate) blocked: bool,
    /// Whether something happened since the last run that may let entries go out.
    stirred: bool,
    pub(crate) messages_out: u64,
    pub(crate) redelivered: u64,
    /// For when it is to be woken.
    alarm: Option<Instant>,
    pub(crate) rules: Rules,
    topic: Arc<str>,
    partition: i32,
    /// Whether the topic stores anything.
    pub(crate) persistent: bool,
}

impl Subscription {
    pub(crate) fn new(name: Arc<str>, durable: bool, start: u64, rules: Rules, topic: &TopicName) -> Self {
        let cursor = Cursor::at(start);
        Self {
            name,
            kind: None,
            durable,
            stored: cursor.clone(),
            cursor,
            read: start,
            replay: BTreeSet::new(),
            counts: BTreeMap::new(),
            delayed: Delayed::default(),
            consumers: Vec::new(),
            active: None,
            takeover: None,
            turn: 0,
            ring: Ring::default(),
            holders: Holders::default(),
            unacked: 0,
            blocked: false,
            stirred: false,
            messages_out: 0,
            redelivered: 0,
            alarm: None,
            rules,
            topic: topic.full.clone(),
            // Where nothing is stored, Pulsar chooses as on a first partition.
            partition: if topic.persistent {
                topic.partition
            } else {
                topic.partition.max(0)
            },
            persistent: topic.persistent,
        }
    }

    /// Whether one consumer gets everything, in order.
    pub(crate) fn is_single_active(&self) -> bool {
        matches!(self.kind, Some(SubType::Exclusive | SubType::Failover))
    }

    pub(crate) fn consumer(&self, key: Key) -> Option<&Consumer> {
        self.consumers.iter().find(|consumer| consumer.key == key)
    }

    fn consumer_mut(&mut self, key: Key) -> Option<&mut Consumer> {
        self.consumers.iter_mut().find(|consumer| consumer.key == key)
    }

    pub(crate) fn index_of(&self, key: Key) -> Option<usize> {
        self.consumers.iter().position(|consumer| consumer.key == key)
    }

    /// Whether the active consumer still waits for its start.
    pub(crate) fn is_taking_over(&self) -> bool {
        self.takeover.is_some()
    }

    /// Where a key lies, which depends on how the consumers share them.
    pub(crate) fn slot(&self, key_hash: u32) -> u32 {
        let chose = |consumer: &Consumer| consumer.sharing.sticky.is_some();
        if self.consumers.first().is_some_and(chose) {
            hash::range_slot(key_hash)
        } else {
            hash::ring_slot(key_hash)
        }
    }

    /// Who is to get entries of a key, if there is somebody.
    pub(crate) fn owner(&self, slot: u32) -> Option<usize> {
        let sticky = self
            .consumers
            .iter()
            .position(|consumer| consumer.sharing.covers(slot));
        sticky.or_else(|| self.index_of(self.ring.owner(slot)?))
    }

    /// Whether a key moved and its old owner has not finished.
    pub(crate) fn is_draining(&self, slot: u32, owner: &Consumer) -> bool {
        !owner.sharing.out_of_order && self.holders.is_held_by_another(slot, owner.key)
    }

    /// When something happens without an input.
    fn next_time(&self, clock: &Clock) -> Option<Instant> {
        let due = self.delayed.next_due_ms().and_then(|due| clock.instant(due));
        due.into_iter().chain(self.takeover).min()
    }

    /// Whether entries may go out now that could not at the last run.
    pub(crate) fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// Makes the acknowledgements so far survive a crash.
    pub(crate) fn store(&mut self) {
        self.stored = self.cursor.clone();
    }

    /// What was dropped from the log does not come again, whatever is forgotten.
    pub(crate) fn lose_before(&mut self, first: u64) {
        self.stored.ack_before(first);
    }

    /// Forgets what was acknowledged since the last [`store`](Self::store); it comes again.
    pub(crate) fn forget_recent_acks(&mut self) {
        self.cursor = self.stored.clone();
        if self.is_single_active() {
            self.rewind();
            return;
        }
        let held: BTreeSet<u64> = self
            .consumers
            .iter()
            .flat_map(|consumer| consumer.pending.ids())
            .chain(self.delayed.iter())
            .collect();
        let lost = (self.cursor.floor()..self.read)
            .filter(|entry| !self.cursor.is_acked(*entry) && !held.contains(entry));
        self.replay.extend(lost);
    }

    /// Moves the cursor. The consumers are to be gone.
    pub(crate) fn reset_cursor(&mut self, entry: u64) {
        self.cursor = Cursor::at(entry);
        self.store();
        self.start_over();
    }

    /// Begins again at the first entry not acknowledged, counts forgotten.
    fn start_over(&mut self) {
        self.read = self.cursor.floor();
        self.replay.clear();
        self.counts.clear();
        self.delayed.clear();
        self.holders.clear();
        self.unacked = 0;
        self.blocked = false;
    }

    /// Exclusive and Failover: everything not acknowledged is to come again.
    fn rewind(&mut self) {
        self.read = self.cursor.floor();
        for consumer in &mut self.consumers {
            consumer.pending.clear();
        }
    }
}
