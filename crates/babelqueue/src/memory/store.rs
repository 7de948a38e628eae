//! Topics, each with the messages that wait and those that are delivered and not settled.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use babelqueue_core::{Body, Properties};
use tokio::time::Instant;

use crate::clock::Clock;

/// A message on a topic.
#[derive(Clone)]
#[non_exhaustive]
pub struct Stored {
    /// The bytes, or why the client could not decode them.
    pub body: Body,
    /// The properties, all of them.
    pub properties: Properties,
    /// The message key.
    pub key: Option<String>,
    /// The earliest delivery, in Unix milliseconds.
    pub deliver_at_ms: Option<i64>,
    /// How often the message was given back.
    pub redelivery_count: u32,
    /// When the broker took it, in Unix milliseconds.
    pub publish_time_ms: i64,
    pub(super) ready_at: Instant,
}

impl Stored {
    pub(super) fn new(body: Body) -> Self {
        Self {
            body,
            properties: Properties::new(),
            key: None,
            deliver_at_ms: None,
            redelivery_count: 0,
            publish_time_ms: Clock::System.now_ms(),
            ready_at: Instant::now(),
        }
    }
}

impl fmt::Debug for Stored {
    /// The key may be personal and stays out, as do the body and the values of properties.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("body", &self.body)
            .field("properties", &self.properties)
            .field("deliver_at_ms", &self.deliver_at_ms)
            .field("redelivery_count", &self.redelivery_count)
            .field("publish_time_ms", &self.publish_time_ms)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(super) struct Topics {
    topics: HashMap<String, Topic>,
    appended: u64,
}

/// Messages by their position, so that one that is given back takes its old place.
#[derive(Debug, Default)]
struct Topic {
    waiting: BTreeMap<u64, Stored>,
    unsettled: BTreeMap<u64, Stored>,
}

/// The answer to a consumer that wants the next message.
pub(super) enum Next {
    Message(u64, Stored),
    ReadyAt(Instant),
    Nothing,
}

impl Topics {
    pub(super) fn append(&mut self, topic: &str, stored: Stored) {
        self.appended += 1;
        self.topics
            .entry(topic.to_owned())
            .or_default()
            .waiting
            .insert(self.appended, stored);
    }

    pub(super) fn waiting(&self, topic: &str) -> Vec<Stored> {
        self.topics
            .get(topic)
            .map(|topic| topic.waiting.values().cloned().collect())
            .unwrap_or_default()
    }

    pub(super) fn unsettled(&self, topic: &str) -> usize {
        self.topics.get(topic).map_or(0, |topic| topic.unsettled.len())
    }

    pub(super) fn next(&mut self, topic: &str, honour_delays: bool) -> Next {
        let Some(topic) = self.topics.get_mut(topic) else {
            return Next::Nothing;
        };
        let now = Instant::now();
        let ready = topic
            .waiting
            .iter()
            .find(|(_, stored)| !honour_delays || stored.ready_at <= now);
        if let Some((&position, _)) = ready
            && let Some(stored) = topic.waiting.remove(&position)
        {
            topic.unsettled.insert(position, stored.clone());
            return Next::Message(position, stored);
        }
        topic
            .waiting
            .values()
            .map(|stored| stored.ready_at)
            .min()
            .map_or(Next::Nothing, Next::ReadyAt)
    }

    pub(super) fn settle(&mut self, topic: &str, position: u64) {
        if let Some(topic) = self.topics.get_mut(topic) {
            topic.unsettled.remove(&position);
        }
    }

    pub(super) fn give_back(&mut self, topic: &str, position: u64) {
        if let Some(topic) = self.topics.get_mut(topic)
            && let Some(mut stored) = topic.unsettled.remove(&position)
        {
            stored.redelivery_count += 1;
            topic.waiting.insert(position, stored);
        }
    }

    pub(super) fn rewind(&mut self, topic: &str) {
        if let Some(topic) = self.topics.get_mut(topic) {
            topic.waiting.append(&mut topic.unsettled);
        }
    }
}
