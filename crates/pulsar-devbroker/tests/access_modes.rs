//! Producers that want a topic for themselves.

mod support;

use pulsar_devbroker::PeerId;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{TOPIC, World, producer, server_error};

fn open(
    world: &mut World,
    peer: PeerId,
    id: u64,
    mode: ProducerAccessMode,
    topic_epoch: Option<u64>,
) -> Command {
    world.sent.clear();
    let command = CommandProducer {
        producer_id: id,
        producer_access_mode: Some(mode as i32),
        topic_epoch,
        ..producer(id)
    };
    world.send(peer, command);
    world.sent.pop_back().expect("an answer").1
}

fn epoch(answer: &Command) -> Option<u64> {
    match answer {
        Command::ProducerSuccess(success) => success.topic_epoch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_exclusive_producer_keeps_others_out() {
    let mut world = World::new();
    let peer = world.peer();
    let first = open(&mut world, peer, 1, ProducerAccessMode::Exclusive, None);
    assert_eq!(epoch(&first), Some(0));
    let shared = open(&mut world, peer, 2, ProducerAccessMode::Shared, None);
    assert_eq!(server_error(&shared), Some(ServerError::ProducerBusy));
    let exclusive = open(&mut world, peer, 3, ProducerAccessMode::Exclusive, None);
    assert_eq!(server_error(&exclusive), Some(ServerError::ProducerFenced));
}

#[test]
fn one_that_fences_throws_out_who_publishes_and_who_waits() {
    let mut world = World::new();
    let (peer, rival) = (world.peer(), world.peer());
    open(&mut world, peer, 1, ProducerAccessMode::Exclusive, None);
    let waiting = open(&mut world, peer, 2, ProducerAccessMode::WaitForExclusive, None);
    assert!(matches!(waiting, Command::ProducerSuccess(success) if !success.producer_ready()));
    let fencing = open(
        &mut world,
        rival,
        3,
        ProducerAccessMode::ExclusiveWithFencing,
        None,
    );
    assert_eq!(epoch(&fencing), Some(1));
    let waiting = world.answer();
    assert_eq!(waiting.request_id(), Some(2));
    assert_eq!(server_error(&waiting), Some(ServerError::ProducerFenced));
    assert!(world.sent.is_empty(), "who was publishing is not told");

    world.publish_many(peer, 1);
    assert_eq!(world.closed[0].0, peer);
    assert_eq!(world.broker.entries(TOPIC).len(), 0);
}

#[test]
fn who_was_fenced_is_too_late() {
    let mut world = World::new();
    let (peer, rival) = (world.peer(), world.peer());
    open(&mut world, peer, 1, ProducerAccessMode::Exclusive, None);
    open(
        &mut world,
        rival,
        2,
        ProducerAccessMode::ExclusiveWithFencing,
        None,
    );
    world.disconnect(rival);
    let late = open(&mut world, peer, 3, ProducerAccessMode::Exclusive, Some(0));
    assert_eq!(server_error(&late), Some(ServerError::ProducerFenced));
}

#[test]
fn those_that_wait_come_one_by_one() {
    let mut world = World::new();
    let peers = [world.peer(), world.peer(), world.peer()];
    open(&mut world, peers[0], 1, ProducerAccessMode::Exclusive, None);
    for peer in &peers[1..] {
        open(&mut world, *peer, 1, ProducerAccessMode::WaitForExclusive, None);
    }
    for (gone, next, expected) in [(0, 1, 1), (1, 2, 2)] {
        world.sent.clear();
        world.disconnect(peers[gone]);
        let (peer, answer, _) = world.sent.pop_front().expect("the next is told");
        assert_eq!((peer, epoch(&answer)), (peers[next], Some(expected)));
    }
}

#[test]
fn one_that_waits_may_have_the_name_of_the_one_it_waits_for() {
    let mut world = World::new();
    let (peer, second) = (world.peer(), world.peer());
    let named = |id, mode: ProducerAccessMode| CommandProducer {
        producer_name: Some("shop".into()),
        producer_access_mode: Some(mode as i32),
        ..producer(id)
    };
    world.send(peer, named(1, ProducerAccessMode::Exclusive));
    world.send(second, named(2, ProducerAccessMode::WaitForExclusive));
    world.sent.clear();
    world.disconnect(peer);
    assert_eq!(epoch(&world.answer()), Some(1));
}
