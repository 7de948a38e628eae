//! What the broker can't do, it says.

mod support;

use bytes::Bytes;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{World, server_error, subscribe};

fn is_refused(command: impl Into<Command>) {
    let mut world = World::new();
    let peer = world.peer();
    let command = command.into();
    let request_id = command.request_id();
    world.send(peer, command);
    let answer = world.answer();
    assert_eq!(answer.request_id(), request_id);
    assert_eq!(server_error(&answer), Some(ServerError::NotAllowedError));
    assert!(world.closed.is_empty());
}

#[test]
fn transactions_are_refused() {
    is_refused(CommandTcClientConnectRequest {
        request_id: 4,
        ..Default::default()
    });
    is_refused(CommandNewTxn {
        request_id: 5,
        ..Default::default()
    });
    is_refused(CommandEndTxn {
        request_id: 6,
        ..Default::default()
    });
}

#[test]
fn compacted_reading_is_refused_on_every_type() {
    for kind in [SubType::Exclusive, SubType::Shared] {
        is_refused(CommandSubscribe {
            read_compacted: Some(true),
            ..subscribe(4, kind)
        });
    }
}

#[test]
fn replicated_subscriptions_are_refused() {
    is_refused(CommandSubscribe {
        replicate_subscription_state: Some(true),
        ..subscribe(4, SubType::Shared)
    });
}

#[test]
fn a_request_of_tomorrow_is_refused() {
    // Type 99, and a nested structure whose first field is the number 4.
    let body = Bytes::from_static(&[8, 99, 0x9a, 6, 2, 8, 4]);
    is_refused(Command::decode(body).expect("a command"));
}

#[test]
fn a_command_that_asks_nothing_and_is_not_known_closes_the_connection() {
    let mut world = World::new();
    let peer = world.peer();
    let body = Bytes::from_static(&[8, 99, 0x9a, 6, 0]);
    world.send(peer, Command::decode(body).expect("a command"));
    assert_eq!(world.closed[0].0, peer);
}

#[test]
fn a_subscription_without_a_name_is_refused_as_pulsar_does() {
    let mut world = World::new();
    let peer = world.peer();
    let nameless = CommandSubscribe {
        subscription: String::new(),
        ..subscribe(1, SubType::Shared)
    };
    world.send(peer, nameless);
    assert_eq!(server_error(&world.answer()), Some(ServerError::ProducerBusy));
}

#[test]
fn figures_of_an_unknown_consumer_are_refused() {
    let mut world = World::new();
    let peer = world.peer();
    let question = CommandConsumerStats {
        request_id: 4,
        consumer_id: 9,
    };
    world.send(peer, question);
    let Command::ConsumerStatsResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.error_code, Some(ServerError::ConsumerNotFound.code()));
}
