//! Topics that store nothing: what is published goes to who is ready, and is gone.

mod support;

use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{Consumer, World, batch_of, due_in, producer, server_error, subscribe, with_key};

const CLICKS: &str = "non-persistent://public/default/clicks";

fn shop(kind: SubType) -> (World, Consumer) {
    let mut world = World::new();
    let peer = world.peer();
    let producer = CommandProducer {
        topic: CLICKS.into(),
        ..producer(1)
    };
    world.send(peer, producer);
    let consumer = attach(&mut world, 1, kind);
    world.sent.clear();
    (world, consumer)
}

fn attach(world: &mut World, id: u64, kind: SubType) -> Consumer {
    let peer = world.peer();
    let command = CommandSubscribe {
        topic: CLICKS.into(),
        consumer_id: id,
        consumer_name: Some(format!("c-{id}")),
        ..subscribe(id, kind)
    };
    world.send(peer, command);
    Consumer { peer, id }
}

/// The publisher is the first connection.
fn publish(world: &mut World, metadata: MessageMetadata) {
    let peer = world.publisher();
    world.publish(peer, metadata);
}

#[test]
fn a_receipt_has_no_id_to_speak_of() {
    let (mut world, _) = shop(SubType::Shared);
    publish(&mut world, MessageMetadata::default());
    let Command::SendReceipt(receipt) = world.answer() else {
        panic!("a receipt")
    };
    let id = receipt.message_id.unwrap();
    assert_eq!((id.ledger_id, id.entry_id), (0, 0));
}

#[test]
fn only_who_has_permits_gets_a_message() {
    for kind in [
        SubType::Exclusive,
        SubType::Failover,
        SubType::Shared,
        SubType::KeyShared,
    ] {
        let (mut world, consumer) = shop(kind);
        publish(&mut world, MessageMetadata::default());
        world.flow(consumer, 1);
        assert_eq!(world.entries(), [], "{kind:?}: what was published before is gone");
        publish(&mut world, MessageMetadata::default());
        publish(&mut world, MessageMetadata::default());
        assert_eq!(world.entries(), [0], "{kind:?}");
    }
}

#[test]
fn a_batch_costs_its_messages() {
    let (mut world, consumer) = shop(SubType::Shared);
    world.flow(consumer, 2);
    publish(&mut world, batch_of(3));
    assert_eq!(world.entries().len(), 1);
    let stats = world.broker.stats(CLICKS).unwrap();
    assert_eq!(stats.subscriptions["billing"].consumers[0].permits, -1);
    assert_eq!((stats.messages_in, stats.messages_out, stats.entries), (3, 3, 0));
}

#[test]
fn delays_do_not_hold_anything_back() {
    let (mut world, consumer) = shop(SubType::Shared);
    world.flow(consumer, 2);
    publish(&mut world, due_in(60_000));
    assert_eq!(world.entries().len(), 1);
}

#[test]
fn every_key_has_one_consumer() {
    let (mut world, first) = shop(SubType::KeyShared);
    let second = attach(&mut world, 2, SubType::KeyShared);
    for consumer in [first, second] {
        world.flow(consumer, 100);
    }
    world.sent.clear();
    for _ in 0..3 {
        publish(&mut world, with_key("k"));
    }
    let deliveries = world.deliveries();
    assert_eq!(deliveries.len(), 3);
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery.consumer == deliveries[0].consumer)
    );
}

#[test]
fn what_asks_about_stored_messages_gets_nothing() {
    let (mut world, consumer) = shop(SubType::Shared);
    let seek = CommandSeek {
        consumer_id: consumer.id,
        request_id: 5,
        message_publish_time: Some(1),
        ..Default::default()
    };
    world.send(consumer.peer, seek);
    assert!(matches!(world.answer(), Command::Success(_)));
    assert!(world.sent.is_empty(), "the consumer stays");
    let question = CommandGetLastMessageId {
        consumer_id: consumer.id,
        request_id: 6,
    };
    world.send(consumer.peer, question);
    assert_eq!(server_error(&world.answer()), Some(ServerError::UnknownError));
}
