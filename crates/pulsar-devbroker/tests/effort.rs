//! How much work and memory a message costs, counted: it does not grow with what came before.

mod support;

use pulsar_devbroker::{Config, PeerId};
use pulsar_wire::proto::*;
use std::time::Instant;
use support::{Consumer, START_MS, TOPIC, World, subscribe, with_key};

const PUBLISHED: u64 = 20_000;

/// A consumer of a subscription of this name.
fn join(world: &mut World, peer: PeerId, id: u64, subscription: &str, kind: SubType) -> Consumer {
    let request_id = world.request();
    let command = CommandSubscribe {
        subscription: subscription.into(),
        consumer_id: id,
        ..subscribe(request_id, kind)
    };
    world.send(peer, command);
    Consumer { peer, id }
}

/// Acknowledges what was delivered to this consumer and lets it have as many again.
fn keep_up(world: &mut World, consumer: Consumer) {
    let delivered: Vec<_> = world
        .deliveries()
        .into_iter()
        .filter(|delivery| delivery.consumer == consumer)
        .collect();
    for delivery in &delivered {
        world.ack(consumer, &delivery.id);
    }
    let permits = u32::try_from(delivered.len()).expect("a few");
    if permits > 0 {
        world.flow(consumer, permits);
    }
}

#[test]
fn publishing_does_not_look_again_and_again_at_what_slow_subscriptions_have_not_taken() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    let kinds = [
        ("exclusive", SubType::Exclusive),
        ("shared", SubType::Shared),
        ("failover", SubType::Failover),
        ("by key", SubType::KeyShared),
    ];
    for (id, (name, kind)) in (1..).zip(kinds) {
        let slow = join(&mut world, peer, id, name, kind);
        world.flow(slow, 10);
    }
    // Of two owners of keys one is slow, so that entries wait although there are permits.
    let fast = join(&mut world, peer, 9, "by key", SubType::KeyShared);
    world.flow(fast, 1_000);
    for number in 0..PUBLISHED {
        world.publish(peer, with_key(&number.to_string()));
        if number % 100 == 0 {
            keep_up(&mut world, fast);
        }
    }
    let counters = world.broker.counters();
    assert_eq!(counters.published_entries, PUBLISHED);
    assert!(counters.delivered_entries > 1_000, "{counters:?}");
    assert!(counters.looked_at_entries < 5 * PUBLISHED, "{counters:?}");
}

#[test]
fn of_a_hundred_thousand_acknowledged_messages_only_what_is_retained_stays() {
    let retained = Config::new(Instant::now(), START_MS).retained_entries as u64;
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.flow(consumer, 1_000);
    for _ in 0..100 {
        world.publish_many(peer, 1_000);
        keep_up(&mut world, consumer);
        let stored = world.broker.stats(TOPIC).expect("the topic").entries;
        assert!(stored <= retained + 1_000, "{stored} are stored");
    }
    assert_eq!(world.billing().backlog, 0);
    assert_eq!(world.broker.stats(TOPIC).expect("the topic").entries, retained);
}
