//! Failover: who is active, who is told, and when deliveries begin.

mod support;

use std::time::Duration;

use pulsar_wire::Command;
use pulsar_wire::proto::{CommandSubscribe, SubType};
use support::{Consumer, World, subscribe};

const DELAY: Duration = Duration::from_secs(1);

fn join(world: &mut World, name: &str) -> Consumer {
    let peer = world.peer();
    let request_id = world.request();
    world.send(
        peer,
        CommandSubscribe {
            consumer_name: Some(name.to_owned()),
            ..subscribe(request_id, SubType::Failover)
        },
    );
    Consumer { peer, id: 1 }
}

/// Two consumers, the active one first, after the start; four messages.
fn pair() -> (World, Consumer, Consumer) {
    let mut world = World::new();
    let consumers = ["anna", "bert"].map(|name| join(&mut world, name));
    world.pass(DELAY);
    let [first, second] = consumers;
    let is_first = is_active(&world, first);
    let (active, other) = if is_first {
        (first, second)
    } else {
        (second, first)
    };
    world.flow(active, 10);
    world.flow(other, 10);
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.sent.clear();
    world.publish_many(peer, 4);
    (world, active, other)
}

fn is_active(world: &World, consumer: Consumer) -> bool {
    let consumers = world.billing().consumers;
    consumers
        .iter()
        .any(|one| one.peer == consumer.peer && one.is_active)
}

fn changes(world: &mut World) -> Vec<(Consumer, Option<bool>)> {
    let sent = std::mem::take(&mut world.sent);
    let changes = sent.into_iter().filter_map(|(peer, command, _)| match command {
        Command::ActiveConsumerChange(change) => {
            let consumer = Consumer {
                peer,
                id: change.consumer_id,
            };
            Some((consumer, change.is_active))
        }
        _ => None,
    });
    changes.collect()
}

#[test]
fn the_first_consumer_starts_after_the_delay() {
    let mut world = World::new();
    let consumer = join(&mut world, "anna");
    world.flow(consumer, 10);
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, 1);
    assert_eq!(world.entries(), []);
    world.pass(DELAY);
    assert_eq!(world.sent[0].1.name(), "ACTIVE_CONSUMER_CHANGE");
    assert_eq!(world.entries(), [0]);
}

#[test]
fn one_that_joins_learns_that_it_is_not_active() {
    let (mut world, active, other) = pair();
    world.close(other);
    world.sent.clear();
    let name = if world.billing().consumers[0].name == "anna" {
        "bert"
    } else {
        "anna"
    };
    let back = join(&mut world, name);
    assert_eq!(changes(&mut world), [(back, Some(false))]);
    assert!(is_active(&world, active));
}

#[test]
fn everything_goes_to_the_active_one() {
    let (mut world, active, _) = pair();
    let takers: Vec<_> = world.deliveries().iter().map(|one| one.consumer).collect();
    assert_eq!(takers, [active; 4]);
}

#[test]
fn the_other_takes_over_what_is_not_acknowledged_after_the_delay() {
    let (mut world, active, other) = pair();
    let deliveries = world.deliveries();
    world.ack_cumulative(active, &deliveries[1].id);
    world.disconnect(active.peer);
    world.pass(DELAY - Duration::from_millis(1));
    assert_eq!(world.entries(), []);
    world.pass(Duration::from_millis(1));
    let taken: Vec<_> = world.deliveries();
    let seen: Vec<_> = taken
        .iter()
        .map(|one| (one.consumer, one.id.entry_id, one.count))
        .collect();
    assert_eq!(seen, [(other, 2, 0), (other, 3, 0)]);
}

#[test]
fn a_better_priority_takes_over() {
    let (mut world, active, _) = pair();
    world.sent.clear();
    let peer = world.peer();
    world.send(
        peer,
        CommandSubscribe {
            priority_level: Some(-1),
            ..subscribe(99, SubType::Failover)
        },
    );
    world.pass(DELAY);
    let told = changes(&mut world);
    assert_eq!(told.len(), 3);
    assert!(told.contains(&(active, Some(false))));
    assert!(told.contains(&(Consumer { peer, id: 1 }, Some(true))));
}
