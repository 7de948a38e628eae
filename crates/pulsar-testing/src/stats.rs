//! What a topic says about itself, as far as tests ask.

use std::collections::BTreeMap;

use serde_json::Value;

/// A topic's clients and counters.
#[derive(Clone, Debug)]
pub struct TopicStats {
    /// Messages that arrived since the topic was loaded.
    pub msg_in_counter: u64,
    /// Messages that left for consumers since the topic was loaded.
    pub msg_out_counter: u64,
    /// The producers that are connected.
    pub producers: Vec<ProducerStats>,
    /// The subscriptions by name.
    pub subscriptions: BTreeMap<String, SubscriptionStats>,
}

/// A connected producer.
#[derive(Clone, Debug)]
pub struct ProducerStats {
    /// Its name.
    pub name: String,
    /// Its number on its connection.
    pub id: u64,
}

/// A subscription and its consumers.
#[derive(Clone, Debug)]
pub struct SubscriptionStats {
    /// Entries that are not acknowledged; a batch is one entry.
    pub backlog: u64,
    /// Messages that are delivered and not acknowledged; counted on Shared and `Key_Shared` only.
    pub unacked: u64,
    /// Messages that wait for their time.
    pub delayed: u64,
    /// `Exclusive`, `Shared`, `Failover`, `Key_Shared`, or `None` before the first consumer came.
    pub kind: String,
    /// On Failover and Exclusive the name of the consumer that is served.
    pub active_consumer: Option<String>,
    /// The consumers that are connected.
    pub consumers: Vec<ConsumerStats>,
}

/// A connected consumer.
#[derive(Clone, Debug)]
pub struct ConsumerStats {
    /// Its name.
    pub name: String,
    /// Messages the broker may still send; below zero after a batch that was larger than the permits left.
    pub permits: i64,
    /// Messages that are delivered to it and not acknowledged.
    pub unacked: u64,
    /// Messages that were delivered to it.
    pub msg_out_counter: u64,
}

impl TopicStats {
    pub(crate) fn from_json(stats: &Value) -> Self {
        let subscriptions = stats["subscriptions"].as_object().into_iter().flatten();
        Self {
            msg_in_counter: count(stats, "msgInCounter"),
            msg_out_counter: count(stats, "msgOutCounter"),
            producers: list(stats, "publishers", ProducerStats::from_json),
            subscriptions: subscriptions
                .map(|(name, stats)| (name.clone(), SubscriptionStats::from_json(stats)))
                .collect(),
        }
    }

    /// The subscription of this name.
    ///
    /// # Panics
    /// When the topic has none of this name.
    #[track_caller]
    #[must_use]
    pub fn subscription(&self, name: &str) -> &SubscriptionStats {
        self.subscriptions.get(name).unwrap_or_else(|| {
            let names: Vec<_> = self.subscriptions.keys().collect();
            panic!("there is no subscription {name}, only {names:?}")
        })
    }
}

impl ProducerStats {
    fn from_json(stats: &Value) -> Self {
        Self {
            name: text(stats, "producerName"),
            id: count(stats, "producerId"),
        }
    }
}

impl SubscriptionStats {
    fn from_json(stats: &Value) -> Self {
        Self {
            backlog: count(stats, "msgBacklog"),
            unacked: count(stats, "unackedMessages"),
            delayed: count(stats, "msgDelayed"),
            kind: text(stats, "type"),
            active_consumer: stats["activeConsumerName"].as_str().map(str::to_owned),
            consumers: list(stats, "consumers", ConsumerStats::from_json),
        }
    }
}

impl ConsumerStats {
    fn from_json(stats: &Value) -> Self {
        Self {
            name: text(stats, "consumerName"),
            permits: stats["availablePermits"].as_i64().unwrap_or_default(),
            unacked: count(stats, "unackedMessages"),
            msg_out_counter: count(stats, "msgOutCounter"),
        }
    }
}

fn list<T>(stats: &Value, name: &str, item: fn(&Value) -> T) -> Vec<T> {
    stats[name].as_array().into_iter().flatten().map(item).collect()
}

fn count(stats: &Value, name: &str) -> u64 {
    stats[name].as_u64().unwrap_or_default()
}

fn text(stats: &Value, name: &str) -> String {
    stats[name].as_str().unwrap_or_default().to_owned()
}
