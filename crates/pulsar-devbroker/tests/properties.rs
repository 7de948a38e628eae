//! Random events on one subscription, every delivery checked against a small model.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use pulsar_devbroker::Position;
use pulsar_wire::proto::{MessageIdData, MessageMetadata, SubType};
use support::{Consumer, Delivery, START_MS, TOPIC, World, with_key};

#[derive(Clone, Debug)]
enum Event {
    Publish {
        key: u8,
        messages: u8,
        delay_ms: Option<u16>,
    },
    Join,
    Leave {
        which: u8,
        by_loss: bool,
    },
    Flow {
        which: u8,
        permits: u8,
    },
    /// Of what the consumer holds.
    Ack {
        which: u8,
        nth: u8,
    },
    /// Of whatever is published: held by another, sent back, or not yet delivered.
    AckAny {
        which: u8,
        nth: u8,
    },
    AckCumulative {
        which: u8,
        nth: u8,
    },
    Redeliver {
        which: u8,
        nth: u8,
    },
    RedeliverAll {
        which: u8,
    },
    Pass {
        ms: u16,
    },
    Unload,
    /// Acknowledgements that were not stored are forgotten.
    Crash,
    Reset {
        nth: u8,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let delay = prop::option::weighted(0.2, 0..5000_u16);
    prop_oneof![
        6 => (0..4_u8, 1..4_u8, delay)
            .prop_map(|(key, messages, delay_ms)| Event::Publish { key, messages, delay_ms }),
        2 => Just(Event::Join),
        1 => any::<(u8, bool)>().prop_map(|(which, by_loss)| Event::Leave { which, by_loss }),
        5 => (any::<u8>(), 1..6_u8).prop_map(|(which, permits)| Event::Flow { which, permits }),
        5 => any::<(u8, u8)>().prop_map(|(which, nth)| Event::Ack { which, nth }),
        1 => any::<(u8, u8)>().prop_map(|(which, nth)| Event::AckAny { which, nth }),
        1 => any::<(u8, u8)>().prop_map(|(which, nth)| Event::AckCumulative { which, nth }),
        3 => any::<(u8, u8)>().prop_map(|(which, nth)| Event::Redeliver { which, nth }),
        1 => any::<u8>().prop_map(|which| Event::RedeliverAll { which }),
        2 => (0..3000_u16).prop_map(|ms| Event::Pass { ms }),
        1 => Just(Event::Unload),
        1 => Just(Event::Crash),
        1 => any::<u8>().prop_map(|nth| Event::Reset { nth }),
    ]
}

/// What is known of a published entry.
struct Published {
    key: u8,
    messages: i64,
    is_delayed: bool,
}

#[derive(Default)]
struct Member {
    permits: i64,
    held: BTreeMap<u64, MessageIdData>,
}

struct Model {
    world: World,
    kind: SubType,
    publisher: pulsar_devbroker::PeerId,
    published: Vec<Published>,
    members: BTreeMap<Consumer, Member>,
    acked: BTreeSet<u64>,
    /// What was acknowledged when that was last stored.
    stored: BTreeSet<u64>,
    /// How many messages a consumer may hold.
    max_unacked: u64,
    counts: BTreeMap<u64, u32>,
    delivered: BTreeSet<u64>,
    /// Per key, the last entry that was delivered for the first time.
    last_first: BTreeMap<u8, u64>,
    trace: Vec<Delivery>,
}

impl Model {
    fn new(kind: SubType, max_unacked: u64) -> Self {
        let mut world = World::with(|config| {
            config.max_unacked_per_consumer = max_unacked;
            config.retained_entries = 4;
        });
        let publisher = world.peer();
        world.open_producer(publisher, 1);
        // Durable from the start, whoever comes and goes.
        let first = world.subscribe(publisher, 1, kind);
        world.close(first);
        world.sent.clear();
        Self {
            world,
            kind,
            publisher,
            published: Vec::new(),
            members: BTreeMap::new(),
            acked: BTreeSet::new(),
            stored: BTreeSet::new(),
            max_unacked,
            counts: BTreeMap::new(),
            delivered: BTreeSet::new(),
            last_first: BTreeMap::new(),
            trace: Vec::new(),
        }
    }

    fn is_counting(&self) -> bool {
        matches!(self.kind, SubType::Shared | SubType::KeyShared)
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Publish {
                key,
                messages,
                delay_ms,
            } => self.publish(key, messages, delay_ms),
            Event::Join => self.join(),
            Event::Leave { which, by_loss } => self.leave(which, by_loss),
            Event::Flow { which, permits } => {
                if let Some(consumer) = self.pick(which) {
                    self.flow(consumer, u32::from(permits));
                }
            }
            Event::Ack { which, nth } => {
                if let Some((consumer, entry, id)) = self.held(which, nth) {
                    self.ack(consumer, entry, &id);
                }
            }
            Event::AckAny { which, nth } => {
                let entries = self.world.broker.entries(TOPIC);
                let nth = usize::from(nth) % entries.len().max(1);
                if let (Some(consumer), Some(entry)) = (self.pick(which), entries.get(nth)) {
                    self.ack(consumer, entry.id.entry_id, &entry.id);
                }
            }
            Event::AckCumulative { which, nth } => {
                if let Some((consumer, entry, id)) = self.held(which, nth) {
                    self.ack_cumulative(consumer, entry, &id);
                }
            }
            Event::Redeliver { which, nth } => {
                if let Some((consumer, entry, id)) = self.held(which, nth) {
                    self.send_back(consumer, &[entry]);
                    self.world.redeliver(consumer, &[id]);
                }
            }
            Event::RedeliverAll { which } => {
                if let Some(consumer) = self.pick(which) {
                    let entries: Vec<u64> = self.members[&consumer].held.keys().copied().collect();
                    self.send_back(consumer, &entries);
                    self.world.redeliver(consumer, &[]);
                }
            }
            Event::Pass { ms } => self.world.pass(Duration::from_millis(u64::from(ms))),
            Event::Crash => {
                let first = self.stored_from();
                // Some were acknowledged before they were delivered, so their order means nothing.
                self.delivered.extend(&self.acked);
                self.acked = (0..first).chain(self.stored.iter().copied()).collect();
                self.world.broker.forget_recent_acks(self.world.now, TOPIC);
                self.world.drain();
            }
            Event::Reset { nth } => self.reset(nth),
            Event::Unload => {
                self.members.clear();
                self.counts.clear();
                self.stored = self.acked.clone();
                self.world.broker.unload(self.world.now, TOPIC);
                self.world.drain();
                self.world.look_up(self.publisher);
                self.world.open_producer(self.publisher, 1);
            }
        }
        self.check();
    }

    fn publish(&mut self, key: u8, messages: u8, delay_ms: Option<u16>) {
        let passed = self.world.now.duration_since(self.start()).as_millis() as u64;
        let due = delay_ms.map(|ms| (START_MS + passed + u64::from(ms)) as i64);
        self.published.push(Published {
            key,
            messages: i64::from(messages),
            is_delayed: due.is_some(),
        });
        let metadata = MessageMetadata {
            num_messages_in_batch: Some(i32::from(messages)),
            deliver_at_time: due,
            ..with_key(&key.to_string())
        };
        self.world.publish(self.publisher, metadata);
    }

    /// The first entry that is still stored.
    fn stored_from(&self) -> u64 {
        let entries = self.world.broker.entries(TOPIC);
        entries.first().map_or(0, |entry| entry.id.entry_id)
    }

    /// Puts the cursor somewhere; everything from there on is to come again.
    fn reset(&mut self, nth: u8) {
        let first = self.stored_from();
        let count = self.published.len() as u64 - first;
        let entry = first + u64::from(nth) % (count + 1);
        self.members.clear();
        self.counts.clear();
        self.acked = (0..entry).collect();
        self.stored = self.acked.clone();
        self.delivered.retain(|delivered| *delivered < entry);
        self.last_first.clear();
        let position = Position::Entry(entry);
        self.world
            .broker
            .reset_cursor(self.world.now, TOPIC, "billing", position);
        self.world.drain();
    }

    fn start(&self) -> std::time::Instant {
        self.world.started
    }

    fn join(&mut self) {
        if self.kind == SubType::Exclusive && !self.members.is_empty() || self.members.len() >= 4 {
            return;
        }
        let peer = self.world.peer();
        let consumer = self.world.subscribe(peer, 1, self.kind);
        self.members.insert(consumer, Member::default());
    }

    fn leave(&mut self, which: u8, by_loss: bool) {
        let Some(consumer) = self.pick(which) else {
            return;
        };
        self.members.remove(&consumer);
        if self.members.is_empty() {
            self.counts.clear();
        }
        if by_loss {
            self.world.disconnect(consumer.peer);
        } else {
            self.world.close(consumer);
        }
    }

    fn flow(&mut self, consumer: Consumer, permits: u32) {
        let member = self.members.get_mut(&consumer).expect("a member");
        member.permits += i64::from(permits);
        self.world.flow(consumer, permits);
    }

    fn ack(&mut self, consumer: Consumer, entry: u64, id: &MessageIdData) {
        self.acked.insert(entry);
        self.let_go(entry);
        self.world.ack(consumer, id);
    }

    fn ack_cumulative(&mut self, consumer: Consumer, entry: u64, id: &MessageIdData) {
        if !self.is_counting() {
            for entry in 0..=entry {
                self.acked.insert(entry);
                self.let_go(entry);
            }
        }
        self.world.ack_cumulative(consumer, id);
    }

    fn let_go(&mut self, entry: u64) {
        self.counts.remove(&entry);
        for member in self.members.values_mut() {
            member.held.remove(&entry);
        }
    }

    fn send_back(&mut self, consumer: Consumer, entries: &[u64]) {
        if self.is_counting() {
            let member = self.members.get_mut(&consumer).expect("a member");
            for entry in entries {
                member.held.remove(entry);
                *self.counts.entry(*entry).or_default() += 1;
            }
        }
    }

    fn pick(&self, which: u8) -> Option<Consumer> {
        let nth = usize::from(which) % self.members.len().max(1);
        self.members.keys().nth(nth).copied()
    }

    fn held(&self, which: u8, nth: u8) -> Option<(Consumer, u64, MessageIdData)> {
        let consumer = self.pick(which)?;
        let held = &self.members[&consumer].held;
        let (entry, id) = held.iter().nth(usize::from(nth) % held.len().max(1))?;
        Some((consumer, *entry, id.clone()))
    }

    fn check(&mut self) {
        for delivery in self.world.deliveries() {
            self.check_delivery(&delivery);
            self.trace.push(delivery);
        }
        assert_eq!(self.world.closed, [], "nobody broke the protocol");
        let billing = self.world.billing();
        for consumer in &billing.consumers {
            let member = &self.members[&Consumer {
                peer: consumer.peer,
                id: consumer.id,
            }];
            // Permits that come while it is blocked are not in the broker's figure yet.
            if consumer.blocked {
                assert!(consumer.permits <= member.permits, "the ledger of permits");
            } else {
                assert_eq!(consumer.permits, member.permits, "the ledger of permits");
            }
        }
        let unacked = (0..self.published.len() as u64).filter(|entry| !self.acked.contains(entry));
        assert_eq!(billing.backlog, unacked.count() as u64);
    }

    fn check_delivery(&mut self, delivery: &Delivery) {
        let entry = delivery.id.entry_id;
        let published = &self.published[usize::try_from(entry).expect("small")];
        assert!(!self.acked.contains(&entry), "entry {entry} was acknowledged");
        let count = self.counts.get(&entry).copied().unwrap_or(0);
        assert_eq!(delivery.count, count, "the count of entry {entry}");
        if self.is_counting() {
            let holders = self
                .members
                .values()
                .filter(|member| member.held.contains_key(&entry));
            assert_eq!(holders.count(), 0, "entry {entry} has a holder");
            let held = self.members[&delivery.consumer].held.keys();
            let held: i64 = held.map(|held| self.published[*held as usize].messages).sum();
            assert!((held as u64) < self.max_unacked, "a consumer holds too much");
        }
        if self.kind == SubType::KeyShared {
            self.check_key(delivery.consumer, published.key);
            if self.delivered.insert(entry) && !published.is_delayed {
                let last = self.last_first.insert(published.key, entry);
                assert!(
                    last.is_none_or(|last| last < entry),
                    "entry {entry} overtook one of its key"
                );
            }
        }
        let member = self.members.get_mut(&delivery.consumer).expect("a member");
        assert!(member.permits > 0, "entry {entry} was sent without a permit");
        member.permits -= published.messages;
        member.held.insert(entry, delivery.id.clone());
    }

    /// Nobody else may hold an entry of the key.
    fn check_key(&self, consumer: Consumer, key: u8) {
        let others = self.members.iter().filter(|(other, _)| **other != consumer);
        let mut held = others.flat_map(|(_, member)| member.held.keys());
        let is_same = |entry: &u64| self.published[usize::try_from(*entry).expect("small")].key == key;
        assert!(!held.any(is_same), "another consumer holds entries of key {key}");
    }

    /// With permits and time, everything comes and can be acknowledged.
    fn finish(&mut self) {
        if self.members.is_empty() {
            self.join();
        }
        for consumer in self.members.keys().copied().collect::<Vec<_>>() {
            self.flow(consumer, 10_000);
        }
        self.apply(&Event::Pass { ms: 10_000 });
        while let Some((consumer, entry, id)) = (0..=255).find_map(|which| self.held(which, 0)) {
            self.ack(consumer, entry, &id);
            self.check();
        }
        assert_eq!(self.world.billing().backlog, 0, "something never came");
    }
}

fn run(kind: SubType, events: &[Event]) -> Vec<Delivery> {
    run_limited(kind, 50_000, events)
}

fn run_limited(kind: SubType, max_unacked: u64, events: &[Event]) -> Vec<Delivery> {
    let mut model = Model::new(kind, max_unacked);
    for event in events {
        model.apply(event);
    }
    model.finish();
    model.trace
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_same_inputs_give_the_same_deliveries(events in events()) {
        for kind in [SubType::Failover, SubType::Shared, SubType::KeyShared] {
            assert_eq!(run(kind, &events), run(kind, &events));
        }
    }

    #[test]
    fn exclusive_keeps_its_promises(events in events()) {
        run(SubType::Exclusive, &events);
    }

    #[test]
    fn failover_keeps_its_promises(events in events()) {
        run(SubType::Failover, &events);
    }

    #[test]
    fn shared_keeps_its_promises(events in events()) {
        run(SubType::Shared, &events);
    }

    #[test]
    fn key_shared_keeps_its_promises(events in events()) {
        run(SubType::KeyShared, &events);
    }

    #[test]
    fn what_consumers_may_hold_is_a_limit_and_no_dead_end(max_unacked in 1..6_u64, events in events()) {
        run_limited(SubType::Shared, max_unacked, &events);
        run_limited(SubType::KeyShared, max_unacked, &events);
    }
}
