//! Consumers come and go, and what that means for the entries they held.

use std::time::Instant;

use pulsar_wire::ServerError;
use pulsar_wire::proto::{CommandActiveConsumerChange, SubType};

use super::keys::Ring;
use super::{Consumer, Subscription};
use crate::hash::murmur3;
use crate::outbox::Outbox;
use crate::peer::Key;
use crate::refusal::Refusal;

/// How many points each consumer has when a topic chooses its active one.
const CHOICE_POINTS: u32 = 100;

impl Subscription {
    /// Attaches a consumer, unless others stand in the way.
    pub(crate) fn join(
        &mut self,
        kind: SubType,
        mut consumer: Consumer,
        now: Instant,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        self.admit(kind, &consumer)?;
        if self.consumers.is_empty() {
            self.kind = Some(kind);
            self.start_over();
        }
        consumer.name_index = self.free_name_index(&consumer.name);
        match kind {
            SubType::KeyShared => self.ring.add(&consumer),
            SubType::Failover => consumer.distance = distance(&self.topic, &consumer.name),
            SubType::Exclusive | SubType::Shared => {}
        }
        let key = consumer.key;
        self.consumers.push(consumer);
        let chosen_before = self.active;
        self.choose_active(now, out);
        if self.kind == Some(SubType::Failover) && self.active == chosen_before {
            self.tell_whether_active(key, out);
        }
        Ok(())
    }

    /// Detaches a consumer; what it held goes to others.
    pub(crate) fn leave(&mut self, key: Key, now: Instant, out: &mut Outbox) {
        let Some(index) = self.index_of(key) else {
            return;
        };
        let consumer = self.consumers.remove(index);
        if self.consumers.is_empty() {
            self.active = None;
            self.takeover = None;
            self.ring = Ring::default();
            self.start_over();
            return;
        }
        if self.is_single_active() {
            self.choose_active(now, out);
            return;
        }
        if index < self.turn {
            self.turn -= 1;
        }
        for (entry, pending) in consumer.pending.iter() {
            self.holders.remove(pending.slot, key);
            self.replay.insert(entry);
        }
        self.unacked = self.unacked.saturating_sub(consumer.pending.messages());
        self.blocked &= self.unacked >= self.rules.max_unacked_per_subscription / 2;
        if self.kind == Some(SubType::KeyShared) {
            self.ring.remove(&consumer);
        }
    }

    /// Detaches all, without a word to anybody.
    pub(crate) fn leave_all(&mut self) -> Vec<Key> {
        let keys = self.consumers.drain(..).map(|consumer| consumer.key).collect();
        self.active = None;
        self.takeover = None;
        self.ring = Ring::default();
        self.start_over();
        keys
    }

    /// Lets the active consumer of a Failover subscription start, once its time has come.
    pub(crate) fn take_over(&mut self, now: Instant, out: &mut Outbox) {
        if self.takeover.is_none_or(|at| at > now) {
            return;
        }
        self.takeover = None;
        self.rewind();
        for consumer in &self.consumers {
            self.tell_whether_active(consumer.key, out);
        }
    }

    fn admit(&self, kind: SubType, consumer: &Consumer) -> Result<(), Refusal> {
        let busy = |message: String| Err(Refusal::new(ServerError::ConsumerBusy, message));
        if let Some(attached) = self.consumers.first() {
            if let Some(have) = self.kind.filter(|have| *have != kind) {
                return busy(format!(
                    "Subscription is of different type. Active subscription type of '{have:?}' is \
                     different than the connecting consumer's type '{kind:?}'."
                ));
            }
            if kind == SubType::Exclusive {
                return busy("Exclusive consumer is already connected".to_owned());
            }
            if !attached.sharing.is_same_mode(&consumer.sharing) {
                return busy("Subscription is of different type. Key_Shared modes differ.".to_owned());
            }
        }
        let rival = || {
            let mut others = self.consumers.iter();
            let rival = others.find(|other| other.sharing.overlaps(&consumer.sharing))?;
            Some(format!("Range conflict with consumer {}", rival.name))
        };
        let problem = consumer.sharing.problem().map(str::to_owned);
        match problem.or_else(rival) {
            Some(problem) => Err(Refusal::new(ServerError::ConsumerAssignError, problem)),
            None => Ok(()),
        }
    }

    fn free_name_index(&self, name: &str) -> u32 {
        let taken: Vec<u32> = self
            .consumers
            .iter()
            .filter(|consumer| consumer.name == name)
            .map(|consumer| consumer.name_index)
            .collect();
        (0..).find(|index| !taken.contains(index)).unwrap_or(0)
    }

    fn choose_active(&mut self, now: Instant, out: &mut Outbox) {
        if !self.is_single_active() {
            return;
        }
        let choice = self.choice();
        if choice == self.active {
            return;
        }
        self.active = choice;
        // Where nothing is stored, nothing has to be waited for.
        if self.kind == Some(SubType::Exclusive) || !self.persistent {
            self.rewind();
            return;
        }
        self.takeover.get_or_insert(now + self.rules.failover_delay);
        self.take_over(now, out);
    }

    /// Among those of the best priority in order of their names, a partition takes the one of its
    /// number and any other topic the one that a hash of its name meets.
    fn choice(&self) -> Option<Key> {
        let best = self.consumers.iter().map(|consumer| consumer.priority).min()?;
        let mut candidates: Vec<&Consumer> = self
            .consumers
            .iter()
            .filter(|consumer| consumer.priority == best)
            .collect();
        candidates.sort_by_key(|consumer| consumer.name.as_str());
        if let Ok(partition) = usize::try_from(self.partition) {
            return Some(candidates[partition % candidates.len()].key);
        }
        // Of several at one place the last.
        let chosen = candidates.iter().rev().min_by_key(|consumer| consumer.distance);
        chosen.map(|consumer| consumer.key)
    }

    fn tell_whether_active(&self, key: Key, out: &mut Outbox) {
        if self.kind == Some(SubType::Failover) {
            let change = CommandActiveConsumerChange {
                consumer_id: key.id,
                is_active: Some(self.active == Some(key)),
            };
            out.send(key.peer, change);
        }
    }
}

/// How far it is on the ring of all hashes from the topic's to the next of a consumer's.
fn distance(topic: &str, consumer: &str) -> u32 {
    let start = murmur3(topic.as_bytes());
    let points = (0..CHOICE_POINTS).map(|point| murmur3(format!("{consumer}{point}").as_bytes()));
    let distances = points.map(|point| point.wrapping_sub(start));
    distances.min().unwrap_or(u32::MAX)
}
