//! What no client can ask for: an administrator's deeds and the mishaps that tests need.

use std::sync::Arc;
use std::time::Instant;

use crate::admin::{check_partitions, place};
use crate::broker::Broker;
use crate::name::TopicName;
use crate::peer::Key;

/// A place in a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// The first entry that is still stored.
    Earliest,
    /// Behind the last entry.
    Latest,
    /// This entry.
    Entry(u64),
    /// The entry with this id.
    At {
        /// The ledger of the entry.
        ledger: u64,
        /// The entry in its ledger.
        entry: u64,
    },
}

/// Each call says whether there is such a topic, namespace or subscription. A topic with partitions
/// means all of them.
impl Broker {
    /// Divides a topic that does not exist yet into `partitions`, of which there can be 100,000.
    pub fn create_partitioned(&mut self, topic: &str, partitions: u32) -> bool {
        let Ok(name) = self.catalog.resolve(topic) else {
            return false;
        };
        if check_partitions(topic, partitions).is_err() {
            return false;
        }
        self.catalog.partitions.insert(name.full.clone(), partitions);
        for index in 0..partitions {
            if let Ok(partition) = TopicName::parse(&TopicName::partition_of(&name.full, index)) {
                self.catalog.open(&partition);
            }
        }
        true
    }

    /// Gives a topic away: closes its producers and consumers, and refuses new ones with
    /// ServiceNotReady until it is looked up again. Acknowledgements so far are stored.
    pub fn unload(&mut self, now: Instant, topic: &str) -> bool {
        self.advance(now);
        let names = self.existing(topic);
        for name in &names {
            self.detach_all(name);
            self.store_acks(name);
            self.catalog.unload(name);
        }
        !names.is_empty()
    }

    /// Lets a topic take no more messages. Its producers are closed, and what was under way is
    /// refused. One that is not persistent has no end.
    pub fn terminate(&mut self, now: Instant, topic: &str) -> bool {
        self.advance(now);
        let mut names = self.existing(topic);
        names.retain(|name| {
            let topic = self.catalog.topics.get(name);
            topic.is_some_and(|topic| topic.name.persistent)
        });
        for name in &names {
            let Some(topic) = self.catalog.topics.get_mut(name) else {
                continue;
            };
            topic.terminated = true;
            for producer in topic.producers.remove_all() {
                self.close_producer(producer.key);
            }
            self.run_all(name);
        }
        !names.is_empty()
    }

    /// Deletes a topic, or all partitions of one, with everything attached to it.
    pub fn delete(&mut self, now: Instant, topic: &str) -> bool {
        self.advance(now);
        let Ok(name) = TopicName::parse(topic) else {
            return false;
        };
        let partitions = self.catalog.partitions.remove(&name.full);
        for index in 0..partitions.unwrap_or(0) {
            self.delete(now, &TopicName::partition_of(&name.full, index));
        }
        self.detach_all(&name.full);
        if name.partition < 0 {
            self.catalog.schemas.remove(name.path());
        }
        self.catalog.delete(&name.full) || partitions.is_some()
    }

    /// Moves a subscription to a place and closes its consumers, as a seek does.
    pub fn reset_cursor(
        &mut self,
        now: Instant,
        topic: &str,
        subscription: &str,
        position: Position,
    ) -> bool {
        self.advance(now);
        let names = self.existing(topic);
        for name in &names {
            let entry = place(&self.catalog.topics[name].log, position);
            if !self.seek_to(name, subscription, entry) {
                return false;
            }
        }
        !names.is_empty()
    }

    /// Makes the acknowledgements so far survive
    /// [`forget_recent_acks`](Self::forget_recent_acks).
    pub fn store_acks(&mut self, topic: &str) -> bool {
        let names = self.existing(topic);
        for name in &names {
            if let Some(topic) = self.catalog.topics.get_mut(name) {
                topic.subscriptions.values_mut().for_each(|one| one.store());
            }
        }
        !names.is_empty()
    }

    /// Forgets the acknowledgements since the last [`store_acks`](Self::store_acks),
    /// [`unload`](Self::unload) or seek, as a crash of Pulsar does. What they covered comes again.
    pub fn forget_recent_acks(&mut self, now: Instant, topic: &str) -> bool {
        self.advance(now);
        let names = self.existing(topic);
        for name in &names {
            if let Some(topic) = self.catalog.topics.get_mut(name) {
                let subscriptions = topic.subscriptions.values_mut();
                subscriptions.for_each(|one| one.forget_recent_acks());
            }
            self.run_all(name);
        }
        !names.is_empty()
    }

    /// Moves a cursor; its consumers are closed and come back by themselves.
    pub(crate) fn seek_to(&mut self, topic: &str, subscription: &str, entry: u64) -> bool {
        let found = self
            .catalog
            .topics
            .get_mut(topic)
            .and_then(|topic| topic.subscriptions.get_mut(subscription));
        let Some(subscription) = found else {
            return false;
        };
        let consumers = subscription.leave_all();
        subscription.reset_cursor(entry);
        self.close_consumers(consumers);
        true
    }

    pub(crate) fn close_consumers(&mut self, consumers: Vec<Key>) {
        for key in consumers {
            if let Some(peer) = self.peers.get_mut(&key.peer) {
                peer.consumers.remove(&key.id);
            }
            self.out.close_consumer(key);
        }
    }

    pub(crate) fn close_producer(&mut self, key: Key) {
        if let Some(peer) = self.peers.get_mut(&key.peer) {
            peer.close_producer(key.id, self.now.at);
        }
        self.out.close_producer(key);
    }

    fn detach_all(&mut self, name: &str) {
        let Some(topic) = self.catalog.topics.get_mut(name) else {
            return;
        };
        let producers = topic.producers.remove_all();
        let subscriptions = topic.subscriptions.values_mut();
        let consumers = subscriptions
            .flat_map(|subscription| subscription.leave_all())
            .collect();
        topic.subscriptions.retain(|_, subscription| subscription.durable);
        for producer in producers {
            self.close_producer(producer.key);
        }
        self.close_consumers(consumers);
    }

    /// The topic itself or its partitions, as far as they exist.
    pub(crate) fn existing(&self, topic: &str) -> Vec<Arc<str>> {
        let name = TopicName::parse(topic).ok();
        let names = name.into_iter().flat_map(|name| self.parts(&name));
        names
            .map(|name| name.full)
            .filter(|name| self.catalog.topics.contains_key(name))
            .collect()
    }
}
