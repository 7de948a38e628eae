//! What the broker knows of one connection.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::commands::Watch;
use crate::room::Room;

/// How long messages are expected of a producer that the broker closed.
const STRAGGLING: Duration = Duration::from_secs(30);

/// A connection, as numbered by the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u64);

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer {}", self.0)
    }
}

/// A producer or consumer of a connection, by the number its client gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) peer: PeerId,
    pub(crate) id: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Whether CONNECT was received.
    pub(crate) connected: bool,
    pub(crate) producers: BTreeMap<u64, Publishing>,
    pub(crate) consumers: BTreeMap<u64, Consuming>,
    pub(crate) watches: BTreeMap<u64, Watch>,
    /// How much its consumers may have on its way to it.
    pub(crate) room: Room,
    /// The client's address, where the driver told it.
    pub(crate) address: String,
    /// Producers that the broker closed.
    closed_producers: BTreeMap<u64, Closed>,
}

/// A producer that the broker closed: when, and of which topic.
#[derive(Debug)]
struct Closed {
    at: Instant,
    topic: Arc<str>,
}

impl Peer {
    pub(crate) fn new(address: String) -> Self {
        Self {
            address,
            ..Self::default()
        }
    }

    /// The broker closes a producer.
    pub(crate) fn close_producer(&mut self, id: u64, now: Instant) {
        let is_recent = |closed: &Closed| now.saturating_duration_since(closed.at) < STRAGGLING;
        self.closed_producers.retain(|_, closed| is_recent(closed));
        if let Some(Publishing { topic, .. }) = self.producers.remove(&id) {
            self.closed_producers.insert(id, Closed { at: now, topic });
        }
    }

    /// The topic of a producer of which a message may have been under way when the broker closed
    /// it.
    pub(crate) fn straggling(&self, id: u64, now: Instant) -> Option<&Arc<str>> {
        let closed = self.closed_producers.get(&id)?;
        (now.saturating_duration_since(closed.at) < STRAGGLING).then_some(&closed.topic)
    }
}

/// Where a producer of the connection is registered.
#[derive(Clone, Debug)]
pub(crate) struct Publishing {
    pub(crate) topic: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// Where a consumer of the connection is attached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Consuming {
    pub(crate) topic: Arc<str>,
    pub(crate) subscription: Arc<str>,
}
