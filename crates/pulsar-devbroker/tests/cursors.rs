//! Seek, last message id, unsubscribe, figures, and the calls for tests.

mod support;

use pulsar_devbroker::Position;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{Consumer, START_MS, TOPIC, World, batch_of, server_error, subscribe};

fn shop(count: u64) -> (World, Consumer) {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, count);
    let consumer = world.subscribe(peer, 1, SubType::Exclusive);
    world.sent.clear();
    (world, consumer)
}

/// What comes when the consumer is back.
fn again(world: &mut World, consumer: Consumer) -> Vec<u64> {
    let consumer = world.subscribe(consumer.peer, 1, SubType::Exclusive);
    world.flow(consumer, 100);
    world.entries()
}

#[test]
fn a_seek_closes_the_consumer_and_then_succeeds() {
    let (mut world, consumer) = shop(3);
    world.flow(consumer, 10);
    let id = world.deliveries()[1].id.clone();
    world.ack_cumulative(consumer, &id);
    world.send(
        consumer.peer,
        CommandSeek {
            consumer_id: 1,
            request_id: 5,
            message_id: Some(id),
            ..Default::default()
        },
    );
    assert!(matches!(world.answer(), Command::CloseConsumer(_)));
    assert!(matches!(world.answer(), Command::Success(_)));
    assert_eq!(again(&mut world, consumer), [1, 2]);
}

#[test]
fn a_seek_finds_a_time() {
    let (mut world, consumer) = shop(2);
    for (time, expected) in [(START_MS, vec![0, 1]), (START_MS + 1, vec![])] {
        world.send(
            consumer.peer,
            CommandSeek {
                consumer_id: 1,
                message_publish_time: Some(time),
                ..Default::default()
            },
        );
        assert_eq!(again(&mut world, consumer), expected);
    }
}

#[test]
fn a_seek_without_a_target_is_refused() {
    let (mut world, consumer) = shop(0);
    world.send(
        consumer.peer,
        CommandSeek {
            consumer_id: 1,
            ..Default::default()
        },
    );
    assert_eq!(server_error(&world.answer()), Some(ServerError::MetadataError));
}

fn last_id(world: &mut World, consumer: Consumer) -> CommandGetLastMessageIdResponse {
    world.sent.clear();
    world.send(
        consumer.peer,
        CommandGetLastMessageId {
            consumer_id: 1,
            request_id: 5,
        },
    );
    match world.answer() {
        Command::GetLastMessageIdResponse(answer) => *answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_id_names_the_last_member_of_a_batch() {
    let (mut world, consumer) = shop(0);
    let empty = last_id(&mut world, consumer);
    assert_eq!(empty.last_message_id.entry_id, u64::MAX);
    assert_eq!(empty.consumer_mark_delete_position.unwrap().entry_id, u64::MAX);
    world.publish(consumer.peer, batch_of(3));
    let answer = last_id(&mut world, consumer).last_message_id;
    assert_eq!((answer.entry_id, answer.batch_index), (0, Some(2)));
}

#[test]
fn an_unsubscribed_subscription_is_gone() {
    let (mut world, consumer) = shop(1);
    world.send(
        consumer.peer,
        CommandUnsubscribe {
            consumer_id: 1,
            ..Default::default()
        },
    );
    assert!(matches!(world.answer(), Command::Success(_)));
    assert!(world.broker.stats(TOPIC).unwrap().subscriptions.is_empty());
}

#[test]
fn others_stand_in_the_way_of_unsubscribing_unless_it_is_forced() {
    let mut world = World::new();
    let peer = world.peer();
    for id in [1, 2] {
        world.subscribe(peer, id, SubType::Shared);
    }
    world.sent.clear();
    world.send(
        peer,
        CommandUnsubscribe {
            consumer_id: 1,
            ..Default::default()
        },
    );
    assert_eq!(server_error(&world.answer()), Some(ServerError::MetadataError));
    world.send(
        peer,
        CommandUnsubscribe {
            consumer_id: 1,
            force: Some(true),
            ..Default::default()
        },
    );
    assert!(matches!(world.answer(), Command::CloseConsumer(_)));
    assert!(matches!(world.answer(), Command::Success(_)));
}

#[test]
fn figures_of_a_consumer_are_told() {
    let (mut world, consumer) = shop(3);
    world.close(consumer);
    let consumer = world.subscribe(consumer.peer, 1, SubType::Shared);
    world.flow(consumer, 2);
    world.sent.clear();
    world.send(
        consumer.peer,
        CommandConsumerStats {
            consumer_id: 1,
            request_id: 5,
        },
    );
    let Command::ConsumerStatsResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!((answer.msg_backlog, answer.unacked_messages), (Some(3), Some(2)));
}

#[test]
fn a_consumer_of_a_terminated_topic_hears_of_the_end_once() {
    let (mut world, consumer) = shop(1);
    world.flow(consumer, 10);
    let id = world.deliveries()[0].id.clone();
    world.broker.terminate(world.now, TOPIC);
    world.drain();
    assert!(matches!(world.answer(), Command::CloseProducer(_)));
    assert!(world.sent.is_empty());
    world.ack(consumer, &id);
    world.ack(consumer, &id);
    assert!(matches!(world.answer(), Command::ReachedEndOfTopic(_)));
    assert!(world.sent.is_empty());
}

#[test]
fn a_cursor_can_be_reset_from_outside() {
    let (mut world, consumer) = shop(3);
    assert!(
        world
            .broker
            .reset_cursor(world.now, TOPIC, "billing", Position::Entry(2))
    );
    world.drain();
    assert!(matches!(world.answer(), Command::CloseConsumer(_)));
    assert_eq!(again(&mut world, consumer), [2]);
}

#[test]
fn a_deleted_topic_starts_anew() {
    let (mut world, consumer) = shop(3);
    let before = world.broker.entries(TOPIC)[0].id.ledger_id;
    assert!(world.broker.delete(world.now, TOPIC));
    world.drain();
    world.open_producer(consumer.peer, 1);
    world.publish_many(consumer.peer, 1);
    assert_ne!(world.broker.entries(TOPIC)[0].id.ledger_id, before);
}

#[test]
fn entries_that_all_have_acknowledged_leave_when_there_are_too_many() {
    let mut world = World::with(|config| config.retained_entries = 2);
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Exclusive);
    world.publish_many(peer, 5);
    world.flow(consumer, 10);
    let deliveries = world.deliveries();
    assert_eq!(world.broker.entries(TOPIC).len(), 5);
    world.ack_cumulative(consumer, &deliveries[4].id);
    assert_eq!(world.broker.entries(TOPIC).len(), 2);
}

#[test]
fn a_message_of_a_topic_that_is_not_persistent_is_for_who_is_ready() {
    let mut world = World::new();
    let peer = world.peer();
    let topic = "non-persistent://public/default/orders";
    world.send(
        peer,
        CommandProducer {
            topic: topic.into(),
            ..support::producer(1)
        },
    );
    world.send(
        peer,
        CommandSubscribe {
            topic: topic.into(),
            ..subscribe(2, SubType::Shared)
        },
    );
    world.publish_many(peer, 1);
    world.flow(Consumer { peer, id: 1 }, 10);
    assert_eq!(world.entries(), []);
    world.publish_many(peer, 1);
    assert_eq!(world.entries(), [0]);
}
