//! What tests and operators may look at.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;
use pulsar_wire::MessageFrame;
use pulsar_wire::proto::{MessageIdData, SubType};

use crate::broker::Broker;
use crate::hidden::Hidden;
use crate::name::TopicName;
use crate::peer::PeerId;
use crate::subscription::{Consumer, Subscription};
use crate::topic::Topic;

/// What the broker did since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Entries stored.
    pub published_entries: u64,
    /// Messages in them.
    pub published_messages: u64,
    /// Entries dropped because their sequence id was used before.
    pub duplicate_entries: u64,
    /// Messages sent to consumers.
    pub delivered_messages: u64,
    /// Entries sent to consumers.
    pub delivered_entries: u64,
    /// How many of them had a redelivery count.
    pub redelivered_entries: u64,
    /// How often an entry was looked at to find a consumer for it.
    pub looked_at_entries: u64,
    /// Entries acknowledged, once per subscription.
    pub acknowledged_entries: u64,
}

/// All topics together as they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Topics, each partition for one.
    pub topics: u64,
    /// Their subscriptions.
    pub subscriptions: u64,
    /// Producers that may publish.
    pub producers: u64,
    /// Consumers.
    pub consumers: u64,
    /// Entries that are not acknowledged, once per subscription.
    pub backlog: u64,
}

/// A topic as it is now. A partitioned one is the sum of its partitions.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TopicStats {
    /// How many entries are still stored, …
    pub entries: u64,
    /// … and how many bytes they take.
    pub bytes: u64,
    /// Messages that were published since the topic was made.
    pub messages_in: u64,
    /// Messages that went to consumers since the topic was made.
    pub messages_out: u64,
    /// Whether it takes no more messages.
    pub terminated: bool,
    /// The producers that may publish.
    pub producers: Vec<ProducerStats>,
    /// The subscriptions by name.
    pub subscriptions: BTreeMap<String, SubscriptionStats>,
}

/// A producer as it is now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProducerStats {
    /// Its connection.
    pub peer: PeerId,
    /// Its number on the connection.
    pub id: u64,
    /// Its name.
    pub name: String,
}

/// An entry of a topic.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredEntry {
    /// Its id.
    pub id: MessageIdData,
    /// How many messages it holds.
    pub messages: u32,
    /// The message part of the frame, as it was received.
    pub headers_and_payload: Bytes,
}

impl StoredEntry {
    /// The payload: compressed and batched as the metadata says.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        MessageFrame::parse(self.headers_and_payload.clone()).payload
    }
}

/// Lengths only: the content may be personal.
impl fmt::Debug for StoredEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredEntry")
            .field("id", &self.id)
            .field("messages", &self.messages)
            .field("headers_and_payload", &Hidden(&self.headers_and_payload))
            .finish()
    }
}

/// A subscription as it is now. Rates are a second, over the last ten.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscriptionStats {
    /// How it divides messages; `None` before the first consumer came.
    pub kind: Option<SubType>,
    /// Whether it outlives its consumers.
    pub durable: bool,
    /// How many entries are not acknowledged.
    pub backlog: u64,
    /// How many messages consumers hold without having acknowledged them. Counted, as in Pulsar,
    /// on Shared and Key_Shared only.
    pub unacked: u64,
    /// How many entries wait for their time.
    pub delayed: u64,
    /// Whether delivery stands still because too much is unacknowledged.
    pub blocked: bool,
    /// Messages that were sent to consumers, those that are gone too.
    pub messages_out: u64,
    /// How many of them had a redelivery count.
    pub redelivered: u64,
    /// Messages a second that are delivered.
    pub rate_out: f64,
    /// Messages a second that are sent back.
    pub rate_redeliver: f64,
    /// Which entries are acknowledged; of a partitioned topic, of its first partition.
    pub acknowledged: Acknowledged,
    /// Its consumers, in the order in which they came.
    pub consumers: Vec<ConsumerStats>,
}

impl SubscriptionStats {
    /// Pulsar's name of its kind: `Exclusive`, `Shared`, `Failover`, `Key_Shared` or `None`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        kind_name(self.kind)
    }

    /// The consumer that gets everything, on Exclusive and Failover.
    #[must_use]
    pub fn active_consumer(&self) -> Option<&ConsumerStats> {
        self.consumers.iter().find(|consumer| consumer.is_active)
    }

    fn add(&mut self, other: Self) {
        self.kind = self.kind.or(other.kind);
        self.backlog += other.backlog;
        self.unacked += other.unacked;
        self.delayed += other.delayed;
        self.blocked |= other.blocked;
        self.messages_out += other.messages_out;
        self.redelivered += other.redelivered;
        self.rate_out += other.rate_out;
        self.rate_redeliver += other.rate_redeliver;
        self.consumers.extend(other.consumers);
    }
}

/// The acknowledged entries of a subscription, by entry id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledged {
    /// All before this one …
    pub before: u64,
    /// … and these.
    pub also: BTreeSet<u64>,
}

impl Acknowledged {
    /// Whether an entry is acknowledged.
    #[must_use]
    pub fn contains(&self, entry: u64) -> bool {
        entry < self.before || self.also.contains(&entry)
    }
}

/// A consumer as it is now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// Its connection.
    pub peer: PeerId,
    /// Its number on the connection.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// How many messages may go out to it.
    pub permits: i64,
    /// How many messages it holds without having acknowledged them. Counted, as in Pulsar, on
    /// Shared and Key_Shared only.
    pub unacked: u64,
    /// Whether its delivery stands still because too much is unacknowledged.
    pub blocked: bool,
    /// Messages that were delivered to it.
    pub messages_out: u64,
    /// The entries that it holds.
    pub pending: Vec<u64>,
    /// Whether it gets everything, on Exclusive and Failover.
    pub is_active: bool,
}

impl TopicStats {
    fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
        self.messages_in += other.messages_in;
        self.messages_out += other.messages_out;
        self.terminated |= other.terminated;
        self.producers.extend(other.producers);
        for (name, subscription) in other.subscriptions {
            match self.subscriptions.entry(name) {
                Entry::Vacant(vacant) => _ = vacant.insert(subscription),
                Entry::Occupied(mut known) => known.get_mut().add(subscription),
            }
        }
    }
}

impl Broker {
    /// A topic as it is at the last input, or `None` when there is none of this name.
    #[must_use]
    pub fn stats(&self, topic: &str) -> Option<TopicStats> {
        self.partition_count(topic)?;
        let mut sum = TopicStats::default();
        for name in self.existing(topic) {
            if let Some(topic) = self.catalog.topics.get(&name) {
                sum.add(self.topic_stats(topic));
            }
        }
        Some(sum)
    }

    /// All topics together as they are now.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for topic in self.catalog.topics.values() {
            let end = topic.log.end();
            summary.topics += 1;
            summary.producers += topic.producers.iter().count() as u64;
            for subscription in topic.subscriptions.values() {
                summary.subscriptions += 1;
                summary.consumers += subscription.consumers.len() as u64;
                summary.backlog += subscription.cursor.backlog(end);
            }
        }
        summary
    }

    /// The names of all topics, partitions among them.
    #[must_use]
    pub fn topics(&self) -> Vec<String> {
        self.catalog.topics.keys().map(ToString::to_string).collect()
    }

    /// The entries of a topic that are still stored; none when there is no such topic.
    #[must_use]
    pub fn entries(&self, topic: &str) -> Vec<StoredEntry> {
        let name = TopicName::parse(topic).ok();
        let topic = name.and_then(|name| self.catalog.topics.get(&name.full));
        let stored = topic.into_iter().flat_map(|topic| {
            topic.log.iter().map(|(id, entry)| StoredEntry {
                id: topic.log.id(id),
                messages: entry.messages,
                headers_and_payload: entry.bytes.clone(),
            })
        });
        stored.collect()
    }

    /// What was done since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn topic_stats(&self, topic: &Topic) -> TopicStats {
        let subscriptions = topic.subscriptions.iter();
        let producers = topic.producers.iter().map(|producer| ProducerStats {
            peer: producer.key.peer,
            id: producer.key.id,
            name: producer.name.to_string(),
        });
        TopicStats {
            entries: topic.log.len() as u64,
            bytes: topic.log.bytes() as u64,
            messages_in: topic.messages_in,
            messages_out: topic.messages_out,
            terminated: topic.terminated,
            producers: producers.collect(),
            subscriptions: subscriptions
                .map(|(name, subscription)| (name.to_string(), self.subscription_stats(subscription, topic)))
                .collect(),
        }
    }

    fn subscription_stats(&self, subscription: &Subscription, topic: &Topic) -> SubscriptionStats {
        let consumers = subscription.consumers.iter();
        let now_ms = self.now.unix_ms;
        let consumers: Vec<ConsumerStats> = consumers
            .map(|consumer| self.consumer_stats_of(consumer, subscription))
            .collect();
        let all = || subscription.consumers.iter();
        SubscriptionStats {
            kind: subscription.kind,
            durable: subscription.durable,
            backlog: subscription.cursor.backlog(topic.log.end()),
            unacked: consumers.iter().map(|consumer| consumer.unacked).sum(),
            delayed: subscription.delayed.len() as u64,
            blocked: subscription.blocked,
            messages_out: subscription.messages_out,
            redelivered: subscription.redelivered,
            rate_out: all().map(|consumer| consumer.delivered.rate(now_ms)).sum(),
            rate_redeliver: all().map(|consumer| consumer.redelivered.rate(now_ms)).sum(),
            acknowledged: Acknowledged {
                before: subscription.cursor.floor(),
                also: subscription.cursor.acked_above_floor().clone(),
            },
            consumers,
        }
    }

    fn consumer_stats_of(&self, consumer: &Consumer, subscription: &Subscription) -> ConsumerStats {
        let is_counted = !subscription.is_single_active();
        ConsumerStats {
            peer: consumer.key.peer,
            id: consumer.key.id,
            name: consumer.name.clone(),
            permits: consumer.permits,
            unacked: if is_counted {
                consumer.pending.messages()
            } else {
                0
            },
            blocked: consumer.blocked,
            messages_out: consumer.delivered.total,
            pending: consumer.pending.ids().collect(),
            is_active: subscription.active == Some(consumer.key),
        }
    }
}

pub(crate) fn kind_name(kind: Option<SubType>) -> &'static str {
    match kind {
        None => "None",
        Some(SubType::Exclusive) => "Exclusive",
        Some(SubType::Shared) => "Shared",
        Some(SubType::Failover) => "Failover",
        Some(SubType::KeyShared) => "Key_Shared",
    }
}
