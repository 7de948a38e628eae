//! Key_Shared: owners of keys, order, joining and leaving.

mod support;

use std::collections::BTreeMap;

use pulsar_wire::ServerError;
use pulsar_wire::proto::{CommandSubscribe, IntRange, KeySharedMeta, KeySharedMode, SubType};
use support::{Consumer, Delivery, World, server_error, subscribe, with_key};

const KEYS: u64 = 20;

fn join(world: &mut World) -> Consumer {
    let peer = world.peer();
    let consumer = world.subscribe(peer, 1, SubType::KeyShared);
    world.flow(consumer, 1000);
    consumer
}

/// Publishes one message for each key; entry `n` has key `n % KEYS`.
fn round(world: &mut World, consumer: Consumer) {
    for key in 0..KEYS {
        world.publish(consumer.peer, with_key(&format!("order {key}")));
    }
}

fn shop() -> (World, Consumer) {
    let mut world = World::new();
    let consumer = join(&mut world);
    world.open_producer(consumer.peer, 1);
    world.sent.clear();
    (world, consumer)
}

fn owners(deliveries: &[Delivery]) -> BTreeMap<u64, Consumer> {
    let key = |delivery: &Delivery| delivery.id.entry_id % KEYS;
    deliveries.iter().map(|one| (key(one), one.consumer)).collect()
}

#[test]
fn a_key_stays_with_its_consumer() {
    let (mut world, first) = shop();
    join(&mut world);
    round(&mut world, first);
    let before = owners(&world.deliveries());
    round(&mut world, first);
    let after = owners(&world.deliveries());
    assert_eq!((before.len() as u64, &before), (KEYS, &after));
    assert!(
        before.values().any(|consumer| *consumer != first),
        "both have keys"
    );
}

#[test]
fn keys_that_move_wait_until_their_old_owner_is_done() {
    let (mut world, first) = shop();
    round(&mut world, first);
    let held = world.deliveries();
    let second = join(&mut world);
    round(&mut world, first);
    let flowing = world.deliveries();
    assert!(flowing.iter().all(|one| one.consumer == first));
    assert!(flowing.len() < KEYS as usize, "some keys moved");
    for delivery in &held {
        world.ack(first, &delivery.id);
    }
    let moved = world.deliveries();
    assert_eq!(flowing.len() + moved.len(), KEYS as usize);
    assert!(moved.iter().all(|one| one.consumer == second));
}

#[test]
fn what_a_lost_consumer_held_goes_to_the_others_in_order() {
    let (mut world, first) = shop();
    let second = join(&mut world);
    round(&mut world, first);
    round(&mut world, first);
    let of_second = world
        .deliveries()
        .iter()
        .filter(|one| one.consumer == second)
        .count();
    world.disconnect(second.peer);
    let entries = world.entries();
    assert_eq!(entries.len(), of_second);
    assert!(entries.is_sorted());
}

#[test]
fn only_the_message_sent_back_returns() {
    let (mut world, consumer) = shop();
    for _ in 0..3 {
        world.publish(consumer.peer, with_key("order"));
    }
    let id = world.deliveries()[0].id.clone();
    world.redeliver(consumer, &[id]);
    let again = world.deliveries();
    assert_eq!((again.len(), again[0].id.entry_id, again[0].count), (1, 0, 1));
}

fn sticky(world: &mut World, start: i32, end: i32) -> Consumer {
    let peer = world.peer();
    let meta = KeySharedMeta {
        key_shared_mode: KeySharedMode::Sticky as i32,
        hash_ranges: vec![IntRange { start, end }],
        ..Default::default()
    };
    let request_id = world.request();
    let command = CommandSubscribe {
        key_shared_meta: Some(meta),
        ..subscribe(request_id, SubType::KeyShared)
    };
    world.send(peer, command);
    Consumer { peer, id: 1 }
}

#[test]
fn chosen_ranges_must_not_overlap() {
    let mut world = World::new();
    sticky(&mut world, 0, 100);
    world.sent.clear();
    sticky(&mut world, 100, 200);
    assert_eq!(
        server_error(&world.answer()),
        Some(ServerError::ConsumerAssignError)
    );
}

#[test]
fn chosen_ranges_and_the_ring_do_not_mix() {
    let mut world = World::new();
    sticky(&mut world, 0, 100);
    let peer = world.peer();
    world.subscribe(peer, 1, SubType::KeyShared);
    assert_eq!(server_error(&world.answer()), Some(ServerError::ConsumerBusy));
}

#[test]
fn keys_outside_of_all_ranges_wait_for_an_owner() {
    let mut world = World::new();
    let lower = sticky(&mut world, 0, 32_767);
    world.flow(lower, 1000);
    world.open_producer(lower.peer, 1);
    round(&mut world, lower);
    let first = world.deliveries().len();
    let upper = sticky(&mut world, 32_768, 65_535);
    world.flow(upper, 1000);
    let rest = world.deliveries();
    assert!(first > 0 && rest.iter().all(|one| one.consumer == upper));
    assert_eq!(first + rest.len(), KEYS as usize);
}
