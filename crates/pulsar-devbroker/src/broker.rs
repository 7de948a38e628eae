//! The broker: takes what happens, gives what to send.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use bytes::Bytes;
use pulsar_wire::Command;

use crate::catalog::Catalog;
use crate::clock::{AGES, Clock, Now};
use crate::config::Config;
use crate::context::{Alarms, Context};
use crate::delay::Punctuality;
use crate::log::Log;
use crate::outbox::{Outbox, Output};
use crate::peer::{Consuming, Key, Peer, PeerId, Publishing};
use crate::room::Room;
use crate::stats::Counters;
use crate::subscription::{Rules, Subscription};

/// A broker without sockets.
///
/// Call [`poll_output`](Self::poll_output) until it is empty after each input, and
/// [`on_time`](Self::on_time) when [`next_time`](Self::next_time) has come.
pub struct Broker {
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    pub(crate) out: Outbox,
    pub(crate) peers: BTreeMap<PeerId, Peer>,
    pub(crate) counters: Counters,
    pub(crate) rules: Rules,
    pub(crate) now: Now,
    clock: Clock,
    alarms: Alarms,
    last_peer: u64,
    pub(crate) last_name: u64,
}

/// Figures only: what it stores may be personal.
impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker")
            .field("connections", &self.peers.len())
            .field("topics", &self.catalog.topics.len())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl Broker {
    /// A broker without topics.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let clock = Clock::new(config.started, config.started_unix_ms);
        Self {
            catalog: Catalog::new(&config),
            out: Outbox::default(),
            peers: BTreeMap::new(),
            counters: Counters::default(),
            rules: Rules {
                batch_index_acks: config.batch_index_acks,
                failover_delay: config.failover_delay.min(AGES),
                punctuality: Punctuality::new(config.delay_tick, config.strict_delay),
                max_unacked_per_consumer: config.max_unacked_per_consumer,
                max_unacked_per_subscription: config.max_unacked_per_subscription,
            },
            now: clock.now(config.started),
            clock,
            alarms: Alarms::default(),
            last_peer: 0,
            last_name: 0,
            config,
        }
    }

    /// A connection was accepted.
    pub fn connect(&mut self, now: Instant) -> PeerId {
        self.connect_from(now, String::new())
    }

    /// A connection was accepted from an address, which is told to who asks for a consumer's
    /// figures.
    pub fn connect_from(&mut self, now: Instant, address: String) -> PeerId {
        self.advance(now);
        self.last_peer += 1;
        let peer = PeerId(self.last_peer);
        self.peers.insert(peer, Peer::new(address));
        peer
    }

    /// A connection was accepted for which about so many bytes of deliveries may be handed out
    /// before [`written`](Self::written) says that they have left.
    pub(crate) fn connect_bounded(&mut self, now: Instant, address: String, bytes: usize) -> PeerId {
        let peer = self.connect_from(now, address);
        if let Some(state) = self.peers.get_mut(&peer) {
            state.room = Room::bounded(bytes);
        }
        peer
    }

    /// Deliveries of so many bytes in all, each counted as [`room::size`](crate::room::size) says,
    /// have left for a peer.
    pub(crate) fn written(&mut self, now: Instant, peer: PeerId, bytes: usize) {
        self.advance(now);
        let Some(state) = self.peers.get(&peer).filter(|state| state.room.give_back(bytes)) else {
            return;
        };
        // Many of its consumers may be of one subscription.
        for consuming in state.consumers.values().cloned().collect::<BTreeSet<_>>() {
            self.run(&consuming.topic, &consuming.subscription);
        }
    }

    /// A frame was read. `message` is what stands behind the command, with SEND; it is ignored
    /// when the broker has closed the connection.
    pub fn receive(&mut self, now: Instant, peer: PeerId, command: Command, message: Option<Bytes>) {
        self.advance(now);
        if self.peers.contains_key(&peer) {
            self.handle(peer, command, message);
        }
    }

    /// A connection is gone.
    pub fn disconnect(&mut self, now: Instant, peer: PeerId) {
        self.advance(now);
        let Some(gone) = self.peers.remove(&peer) else {
            return;
        };
        for (id, publishing) in gone.producers {
            self.drop_producer(Key { peer, id }, &publishing);
        }
        // All of them leave before anything goes to those that stay.
        for (id, consuming) in &gone.consumers {
            self.detach_consumer(Key { peer, id: *id }, consuming);
        }
        for consuming in gone.consumers.into_values().collect::<BTreeSet<_>>() {
            self.run(&consuming.topic, &consuming.subscription);
        }
    }

    /// When [`on_time`](Self::on_time) is to be called, unless another input changes that.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        self.alarms.first()
    }

    /// Whether since the last call something was put off that [`next_time`](Self::next_time) may
    /// not have known. It is cheaper to ask this than that.
    pub(crate) fn took_time(&mut self) -> bool {
        self.alarms.take_earlier()
    }

    /// Time has passed.
    pub fn on_time(&mut self, now: Instant) {
        self.advance(now);
        while let Some((topic, subscription)) = self.alarms.pop(self.now.at) {
            self.run(&topic, &subscription);
        }
    }

    /// The next thing to do, in order.
    pub fn poll_output(&mut self) -> Option<Output> {
        let changes = self.catalog.take_changes();
        if !changes.is_empty() {
            self.tell_of_changes(changes);
        }
        self.out.pop()
    }

    /// The peer broke the protocol.
    pub(crate) fn close(&mut self, peer: PeerId, why: impl Into<String>) {
        self.out.close(peer, why);
        self.disconnect(self.now.at, peer);
    }

    pub(crate) fn consuming(&self, key: Key) -> Option<&Consuming> {
        self.peers.get(&key.peer)?.consumers.get(&key.id)
    }

    /// The subscription of a consumer, with its topic's other parts left usable.
    pub(crate) fn subscription_of(&mut self, key: Key) -> Option<(&mut Subscription, &Log)> {
        let Consuming { topic, subscription } = self.peers.get(&key.peer)?.consumers.get(&key.id)?;
        let topic = self.catalog.topics.get_mut(topic)?;
        let subscription = topic.subscriptions.get_mut(subscription)?;
        Some((subscription, &topic.log))
    }

    /// What an event may change, in two parts.
    pub(crate) fn split(&mut self) -> (&mut Catalog, Context<'_>) {
        let context = Context {
            now: self.now,
            clock: &self.clock,
            out: &mut self.out,
            counters: &mut self.counters,
            alarms: &mut self.alarms,
        };
        (&mut self.catalog, context)
    }

    /// Sends what the consumer's subscription can send.
    pub(crate) fn run_for(&mut self, key: Key) {
        if let Some(Consuming { topic, subscription }) = self.consuming(key).cloned() {
            self.run(&topic, &subscription);
        }
    }

    pub(crate) fn run(&mut self, topic: &str, subscription: &str) {
        let (catalog, mut context) = self.split();
        if let Some(topic) = catalog.topics.get_mut(topic) {
            topic.run(subscription, &mut context);
        }
    }

    pub(crate) fn run_all(&mut self, topic: &str) {
        let (catalog, mut context) = self.split();
        if let Some(topic) = catalog.topics.get_mut(topic) {
            topic.run_all(&mut context);
        }
    }

    pub(crate) fn drop_producer(&mut self, key: Key, publishing: &Publishing) {
        let next = self
            .catalog
            .topics
            .get_mut(&publishing.topic)
            .and_then(|topic| topic.producers.remove(key, &publishing.name));
        if let Some((producer, epoch)) = next {
            self.greet_producer(&producer, &publishing.topic, epoch);
        }
    }

    pub(crate) fn drop_consumer(&mut self, key: Key, consuming: &Consuming) {
        self.detach_consumer(key, consuming);
        self.run(&consuming.topic, &consuming.subscription);
    }

    fn detach_consumer(&mut self, key: Key, consuming: &Consuming) {
        let Some(topic) = self.catalog.topics.get_mut(&consuming.topic) else {
            return;
        };
        let Some(subscription) = topic.subscriptions.get_mut(&consuming.subscription) else {
            return;
        };
        subscription.leave(key, self.now.at, &mut self.out);
        if subscription.consumers.is_empty() && !subscription.durable {
            topic.subscriptions.remove(&consuming.subscription);
        }
    }

    /// Time never runs backwards here, whatever the driver says.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = self.clock.now(now.max(self.now.at));
    }
}
