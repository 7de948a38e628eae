//! Delayed delivery.

mod support;

use std::time::Duration;

use pulsar_wire::proto::SubType;
use support::{Consumer, World, due_in};

fn shop(kind: SubType) -> (World, Consumer) {
    attach(World::new(), kind)
}

fn attach(mut world: World, kind: SubType) -> (World, Consumer) {
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, kind);
    world.flow(consumer, 10);
    (world, consumer)
}

#[test]
fn others_overtake_a_delayed_message_which_comes_when_it_is_due() {
    let (mut world, consumer) = shop(SubType::Shared);
    world.publish(consumer.peer, due_in(5000));
    world.publish_many(consumer.peer, 1);
    assert_eq!(world.entries(), [1]);
    world.pass(Duration::from_millis(4999));
    assert_eq!(world.entries(), []);
    world.pass(Duration::from_millis(1));
    let due = world.deliveries();
    assert_eq!((due[0].id.entry_id, due[0].count), (0, 0));
}

#[test]
fn what_is_due_within_a_tick_comes_at_once() {
    let (mut world, consumer) = shop(SubType::Shared);
    world.publish(consumer.peer, due_in(1000));
    assert_eq!(world.entries(), [0]);
}

#[test]
fn nothing_comes_early_when_delays_are_strict() {
    let (mut world, consumer) = attach(World::with(|config| config.strict_delay = true), SubType::Shared);
    world.publish(consumer.peer, due_in(1));
    assert_eq!(world.entries(), []);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.entries(), [0]);
}

#[test]
fn exclusive_consumers_do_not_wait() {
    let (mut world, consumer) = shop(SubType::Exclusive);
    world.publish(consumer.peer, due_in(5000));
    assert_eq!(world.entries(), [0]);
}

#[test]
fn a_consumer_that_comes_back_waits_on() {
    let (mut world, consumer) = shop(SubType::Shared);
    world.publish(consumer.peer, due_in(5000));
    world.close(consumer);
    let consumer = world.subscribe(consumer.peer, 2, SubType::Shared);
    world.flow(consumer, 10);
    assert_eq!(world.entries(), []);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.entries(), [0]);
}

#[test]
fn a_time_beyond_all_clocks_is_never() {
    let (mut world, consumer) = shop(SubType::Shared);
    let mut metadata = due_in(0);
    metadata.deliver_at_time = Some(i64::MAX);
    world.publish(consumer.peer, metadata);
    world.pass(Duration::from_secs(1_000_000));
    assert_eq!(world.entries(), []);
}
