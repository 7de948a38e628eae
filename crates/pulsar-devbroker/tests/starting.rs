//! Where a subscription starts: durable ones once, readers wherever they say.

mod support;

use pulsar_devbroker::PeerId;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use std::time::Duration;
use support::{Consumer, START_MS, TOPIC, World, server_error, subscribe};

fn shop(count: u64) -> (World, PeerId) {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, count);
    world.sent.clear();
    (world, peer)
}

/// What a reader gets that starts so.
fn read(world: &mut World, peer: PeerId, change: impl FnOnce(&mut CommandSubscribe)) -> Vec<u64> {
    let mut command = CommandSubscribe {
        durable: Some(false),
        initial_position: None,
        subscription: "reader".into(),
        ..subscribe(9, SubType::Exclusive)
    };
    change(&mut command);
    world.send(peer, command);
    assert!(matches!(world.answer(), Command::Success(_)));
    world.flow(Consumer { peer, id: 1 }, 100);
    let entries = world.entries();
    world.close(Consumer { peer, id: 1 });
    world.sent.clear();
    entries
}

fn id(ledger_id: u64, entry_id: u64) -> Option<MessageIdData> {
    Some(MessageIdData {
        ledger_id,
        entry_id,
        ..Default::default()
    })
}

#[test]
fn a_reader_starts_with_the_message_that_it_names() {
    let (mut world, peer) = shop(4);
    let named = Some(world.broker.entries(TOPIC)[2].id.clone());
    assert_eq!(
        read(&mut world, peer, |command| command.start_message_id = named),
        [2, 3]
    );
}

#[test]
fn a_reader_can_name_both_ends() {
    let (mut world, peer) = shop(2);
    let before = id(u64::MAX, u64::MAX);
    let behind = id(i64::MAX as u64, i64::MAX as u64);
    assert_eq!(
        read(&mut world, peer, |command| command.start_message_id = before),
        [0, 1]
    );
    assert_eq!(
        read(&mut world, peer, |command| command.start_message_id = behind),
        []
    );
}

#[test]
fn a_reader_that_names_nothing_starts_behind_the_last_message() {
    let (mut world, peer) = shop(2);
    assert_eq!(read(&mut world, peer, |_| {}), []);
}

#[test]
fn a_reader_is_gone_with_its_consumer() {
    let (mut world, peer) = shop(2);
    read(&mut world, peer, |_| {});
    assert!(world.broker.stats(TOPIC).unwrap().subscriptions.is_empty());
}

#[test]
fn a_reader_can_start_some_time_ago() {
    let (mut world, peer) = shop(1);
    world.pass(Duration::from_secs(60));
    let fresh = MessageMetadata {
        publish_time: START_MS + 60_000,
        ..Default::default()
    };
    world.publish_at(peer, fresh);
    world.sent.clear();
    let seconds = |seconds| {
        move |command: &mut CommandSubscribe| {
            command.start_message_rollback_duration_sec = Some(seconds);
        }
    };
    assert_eq!(read(&mut world, peer, seconds(30)), [1]);
    assert_eq!(read(&mut world, peer, seconds(90)), [0, 1]);
}

#[test]
fn a_durable_subscription_does_not_look_at_a_named_message() {
    let (mut world, peer) = shop(3);
    let last = Some(world.broker.entries(TOPIC)[2].id.clone());
    let command = CommandSubscribe {
        start_message_id: last,
        ..subscribe(9, SubType::Shared)
    };
    world.send(peer, command);
    world.flow(Consumer { peer, id: 1 }, 100);
    assert_eq!(world.entries(), [0, 1, 2]);
}

#[test]
fn one_name_is_not_durable_and_passing_at_once() {
    let (mut world, peer) = shop(1);
    world.subscribe(peer, 1, SubType::Shared);
    world.sent.clear();
    let passing = CommandSubscribe {
        durable: Some(false),
        consumer_id: 2,
        ..subscribe(9, SubType::Shared)
    };
    world.send(peer, passing);
    assert_eq!(server_error(&world.answer()), Some(ServerError::NotAllowedError));
}

#[test]
fn the_same_consumer_again_succeeds_again() {
    let (mut world, peer) = shop(0);
    for _ in 0..2 {
        world.send(peer, subscribe(9, SubType::Exclusive));
        assert!(matches!(world.answer(), Command::Success(_)));
    }
    assert_eq!(world.billing().consumers.len(), 1);
}
