//! Acknowledgements and requests for redelivery.

use pulsar_wire::AckSet;
use pulsar_wire::proto::SubType;

use super::{Pending, Subscription};
use crate::log::Log;
use crate::peer::Key;

impl Subscription {
    /// Acknowledges one entry, or with `open` the members of it that are not in `open`. Says how
    /// many entries that finished.
    pub(crate) fn ack(&mut self, entry: u64, open: Option<AckSet>, log: &Log) -> u64 {
        if entry >= log.end() || self.cursor.is_acked(entry) {
            return 0;
        }
        let finished = match open {
            None => {
                self.cursor.ack(entry);
                true
            }
            Some(open) => {
                let messages = log.get(entry).map_or(0, |entry| entry.messages);
                self.rules.batch_index_acks && self.cursor.ack_members(entry, open, messages)
            }
        };
        if finished {
            self.drop_entry(entry);
        } else {
            self.recount(entry, log);
        }
        u64::from(finished)
    }

    /// Acknowledges everything up to an entry, or with `open` up to a member of it. Says how many
    /// entries that finished. Only Exclusive and Failover know this.
    pub(crate) fn ack_cumulative(&mut self, entry: u64, open: Option<AckSet>, log: &Log) -> u64 {
        if self.is_single_active() && entry < log.end() {
            let before = self.cursor.backlog(log.end());
            let end = if open.is_some() { entry } else { entry + 1 };
            self.cursor.ack_before(end);
            if open.is_some() {
                self.ack(entry, open, log);
            }
            for consumer in &mut self.consumers {
                consumer.pending.remove_before(self.cursor.floor());
            }
            self.read = self.read.max(self.cursor.floor());
            return before - self.cursor.backlog(log.end());
        }
        0
    }

    /// For the figures of a consumer.
    pub(crate) fn count_acks(&mut self, key: Key, entries: u64, now_ms: u64) {
        if let Some(consumer) = self.consumer_mut(key) {
            consumer
                .acked
                .add(u32::try_from(entries).unwrap_or(u32::MAX), now_ms);
        }
    }

    /// Shared and Key_Shared: sends back those of `entries` that this consumer holds.
    pub(crate) fn redeliver(&mut self, key: Key, entries: &[u64], now_ms: u64) {
        let Some(index) = self.index_of(key) else {
            return;
        };
        for entry in entries {
            if let Some(pending) = self.consumers[index].pending.remove(*entry) {
                self.let_go(index, pending);
                self.consumers[index].redelivered.add(pending.messages, now_ms);
                *self.counts.entry(*entry).or_default() += 1;
                self.replay.insert(*entry);
            }
        }
        self.unblock(index);
    }

    /// Everything that this consumer holds is to come again.
    pub(crate) fn redeliver_all(&mut self, key: Key, epoch: Option<u64>, now_ms: u64) {
        if self.is_single_active() {
            self.rewind_for(key, epoch);
            return;
        }
        let held = self.consumer(key).map(|consumer| &consumer.pending);
        let entries: Vec<u64> = held.into_iter().flat_map(|held| held.ids()).collect();
        self.redeliver(key, &entries, now_ms);
    }

    /// Only the active consumer can ask, and not before it has started.
    fn rewind_for(&mut self, key: Key, epoch: Option<u64>) {
        if let Some(consumer) = self.consumer_mut(key) {
            consumer.epoch = consumer.epoch.max(epoch);
        }
        if self.active == Some(key) && !self.is_taking_over() {
            self.rewind();
        }
    }

    /// An acknowledged entry is nobody's any more.
    fn drop_entry(&mut self, entry: u64) {
        self.stirred |= self.replay.remove(&entry);
        self.counts.remove(&entry);
        for index in 0..self.consumers.len() {
            if let Some(pending) = self.consumers[index].pending.remove(entry) {
                self.let_go(index, pending);
            }
        }
    }

    /// A consumer does not hold an entry any more. If others wait for its key, they may go on.
    fn let_go(&mut self, index: usize, pending: Pending) {
        self.relieve(index, pending.messages);
        if self.kind == Some(SubType::KeyShared) {
            let key = self.consumers[index].key;
            let is_last = self.holders.remove(pending.slot, key);
            self.stirred |= is_last && self.owner(pending.slot) != Some(index);
        }
    }

    fn recount(&mut self, entry: u64, log: &Log) {
        let messages = log.get(entry).map_or(0, |entry| entry.messages);
        let open = self.cursor.open_count(entry, messages);
        for index in 0..self.consumers.len() {
            if let Some(lost) = self.consumers[index].pending.recount(entry, open) {
                self.relieve(index, lost);
            }
        }
    }
}
