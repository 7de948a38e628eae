//! Limits: what consumers may hold, what stays in memory; and what is counted.

mod support;

use std::time::Duration;

use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{Consumer, TOPIC, World, batch_of, due_in};

fn shop(max_unacked: u64, count: u64) -> (World, Consumer) {
    let mut world = World::with(|config| config.max_unacked_per_consumer = max_unacked);
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, count);
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.sent.clear();
    (world, consumer)
}

#[test]
fn who_holds_too_much_gets_nothing_until_half_is_acknowledged() {
    let (mut world, consumer) = shop(4, 10);
    world.flow(consumer, 100);
    let held = world.deliveries();
    assert_eq!(held.len(), 4);
    assert!(world.billing().consumers[0].blocked);
    world.ack(consumer, &held[0].id);
    assert_eq!(world.entries(), []);
    world.ack(consumer, &held[1].id);
    assert_eq!(world.entries(), [4, 5]);
}

#[test]
fn a_namespace_can_have_a_limit_of_its_own() {
    let (mut world, consumer) = shop(50_000, 10);
    world.broker.limit_unacked("public/default", 2).unwrap();
    world.flow(consumer, 100);
    assert_eq!(world.entries().len(), 2);
}

#[test]
fn what_is_due_too_late_is_refused() {
    let (mut world, consumer) = shop(10, 0);
    let minute = std::time::Duration::from_secs(60);
    world.broker.limit_delay("public/default", minute).unwrap();
    world.publish(consumer.peer, due_in(60_000));
    assert!(matches!(world.answer(), Command::SendReceipt(_)));
    world.publish(consumer.peer, due_in(60_001));
    let Command::SendError(error) = world.answer() else {
        panic!("an error")
    };
    assert_eq!(error.error, ServerError::NotAllowedError.code());
}

#[test]
fn permits_of_a_blocked_consumer_wait() {
    let (mut world, consumer) = shop(4, 10);
    world.flow(consumer, 4);
    let held = world.deliveries();
    world.flow(consumer, 3);
    assert_eq!(world.billing().consumers[0].permits, 0);
    world.ack(consumer, &held[0].id);
    world.ack(consumer, &held[1].id);
    assert_eq!(world.entries(), [4, 5]);
    assert_eq!(world.billing().consumers[0].permits, 1);
}

#[test]
fn sending_back_frees_a_blocked_consumer() {
    let (mut world, consumer) = shop(4, 10);
    world.flow(consumer, 100);
    let held = world.deliveries();
    world.redeliver(consumer, &[held[0].id.clone()]);
    assert_eq!(world.entries(), [0]);
}

#[test]
fn all_consumers_together_may_hold_so_much() {
    let mut world = World::with(|config| config.max_unacked_per_subscription = 4);
    let peer = world.peer();
    world.open_producer(peer, 1);
    let first = world.subscribe(peer, 1, SubType::Shared);
    let second = world.subscribe(peer, 2, SubType::Shared);
    world.flow(first, 10);
    world.flow(second, 10);
    world.publish_many(peer, 10);
    let held = world.deliveries();
    assert_eq!(held.len(), 4);
    assert!(world.billing().blocked);
    for delivery in &held[..3] {
        world.ack(delivery.consumer, &delivery.id);
    }
    assert_eq!(world.entries().len(), 3, "up to the limit");
}

#[test]
fn exclusive_consumers_may_hold_everything() {
    let mut world = World::with(|config| config.max_unacked_per_consumer = 2);
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, 5);
    let consumer = world.subscribe(peer, 1, SubType::Exclusive);
    world.flow(consumer, 10);
    assert_eq!(world.entries().len(), 5);
}

/// Publishes and acknowledges `rounds` messages; returns how many stay.
fn keep_up(world: &mut World, rounds: u64) -> u64 {
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.flow(consumer, 1_000_000);
    for _ in 0..rounds {
        world.publish(peer, MessageMetadata::default());
        for delivery in world.deliveries() {
            world.ack(consumer, &delivery.id);
        }
    }
    world.broker.stats(TOPIC).expect("the topic").entries
}

#[test]
fn memory_is_flat_with_a_consumer_that_keeps_up() {
    let mut world = World::with(|config| config.retained_entries = 10);
    assert_eq!(keep_up(&mut world, 1000), 10);
}

#[test]
fn a_crash_brings_back_only_what_is_still_stored() {
    let mut world = World::with(|config| config.retained_entries = 2);
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Exclusive);
    world.publish_many(peer, 5);
    world.flow(consumer, 100);
    let deliveries = world.deliveries();
    world.ack_cumulative(consumer, &deliveries[4].id);
    world.broker.forget_recent_acks(world.now, TOPIC);
    world.drain();
    assert_eq!(world.entries(), [3, 4]);
    assert_eq!(world.billing().backlog, 2);
}

#[test]
fn large_messages_stay_in_smaller_number() {
    let mut world = World::with(|config| config.retained_bytes = 100);
    assert!(keep_up(&mut world, 1000) < 10);
}

#[test]
fn a_namespace_can_keep_everything() {
    let mut world = World::with(|config| config.retained_entries = 10);
    world.broker.keep_acknowledged("public/default").unwrap();
    assert_eq!(keep_up(&mut world, 1000), 1000);
}

#[test]
fn a_second_subscription_that_is_behind_holds_everything() {
    let mut world = World::with(|config| config.retained_entries = 10);
    world
        .broker
        .create_subscription(TOPIC, "audit", pulsar_devbroker::Position::Earliest)
        .unwrap();
    assert_eq!(keep_up(&mut world, 100), 100);
}

#[test]
fn messages_are_counted() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.publish(peer, batch_of(3));
    world.publish(peer, MessageMetadata::default());
    world.flow(consumer, 3);
    let stats = world.broker.stats(TOPIC).unwrap();
    assert_eq!((stats.messages_in, stats.messages_out), (4, 3));
    assert_eq!(stats.subscriptions["billing"].consumers[0].messages_out, 3);
    assert_eq!((stats.producers.len(), stats.producers[0].peer), (1, peer));
}

#[test]
fn rates_are_of_the_last_ten_seconds() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.flow(consumer, 1000);
    world.publish_many(peer, 1);
    world.pass(Duration::from_secs(10));
    world.publish_many(peer, 100);
    world.pass(Duration::from_secs(10));
    world.broker.on_time(world.now);
    assert!((world.billing().rate_out - 10.0).abs() < 0.2);
    world.pass(Duration::from_secs(20));
    world.broker.on_time(world.now);
    assert!(world.billing().rate_out < 0.1);
}
