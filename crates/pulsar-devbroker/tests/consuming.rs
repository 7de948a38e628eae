//! Subscribing, delivery, permits, acknowledgements, redelivery on Exclusive and Shared.

mod support;

use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{Consumer, TOPIC, World, batch_of, server_error, subscribe};

/// A world with `count` messages and a consumer without permits.
fn shop(kind: SubType, count: u64) -> (World, Consumer) {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, count);
    let consumer = world.subscribe(peer, 1, kind);
    world.sent.clear();
    (world, consumer)
}

#[test]
fn nothing_is_sent_without_permits() {
    let (mut world, consumer) = shop(SubType::Exclusive, 3);
    assert_eq!(world.entries(), []);
    world.flow(consumer, 2);
    assert_eq!(world.entries(), [0, 1]);
}

#[test]
fn a_batch_costs_its_messages_and_may_leave_a_debt() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    for _ in 0..3 {
        world.publish(peer, batch_of(5));
    }
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.sent.clear();
    world.flow(consumer, 6);
    assert_eq!(world.entries(), [0, 1]);
    world.flow(consumer, 4);
    assert_eq!(world.entries(), [], "the debt is only just paid");
    world.flow(consumer, 1);
    assert_eq!(world.entries(), [2]);
}

#[test]
fn a_flow_of_nothing_closes_the_connection() {
    let (mut world, consumer) = shop(SubType::Exclusive, 0);
    world.flow(consumer, 0);
    assert_eq!(world.closed[0].0, consumer.peer);
}

#[test]
fn a_second_exclusive_consumer_is_refused() {
    let (mut world, _) = shop(SubType::Exclusive, 0);
    let other = world.peer();
    world.subscribe(other, 1, SubType::Exclusive);
    assert_eq!(server_error(&world.answer()), Some(ServerError::ConsumerBusy));
}

#[test]
fn the_type_changes_only_when_nobody_is_attached() {
    let (mut world, consumer) = shop(SubType::Exclusive, 0);
    let other = world.peer();
    world.subscribe(other, 1, SubType::Shared);
    assert_eq!(server_error(&world.answer()), Some(ServerError::ConsumerBusy));
    world.close(consumer);
    world.sent.clear();
    world.subscribe(other, 1, SubType::Shared);
    assert!(matches!(world.answer(), Command::Success(_)));
}

#[test]
fn a_subscription_continues_at_its_cursor() {
    let (mut world, consumer) = shop(SubType::Exclusive, 3);
    world.flow(consumer, 10);
    let deliveries = world.deliveries();
    world.ack_cumulative(consumer, &deliveries[1].id);
    world.close(consumer);
    let consumer = world.subscribe(consumer.peer, 2, SubType::Exclusive);
    world.flow(consumer, 10);
    assert_eq!(world.entries(), [2]);
}

#[test]
fn one_that_is_not_durable_starts_with_the_named_message_and_is_gone_with_its_consumer() {
    let (mut world, consumer) = shop(SubType::Exclusive, 3);
    world.flow(consumer, 10);
    let id = world.deliveries()[1].id.clone();
    let reader = CommandSubscribe {
        subscription: "reader".into(),
        consumer_id: 2,
        durable: Some(false),
        start_message_id: Some(id),
        ..subscribe(7, SubType::Exclusive)
    };
    world.send(consumer.peer, reader);
    let reader = Consumer { id: 2, ..consumer };
    world.flow(reader, 10);
    assert_eq!(world.entries(), [1, 2]);
    world.close(reader);
    assert!(
        !world
            .broker
            .stats(TOPIC)
            .unwrap()
            .subscriptions
            .contains_key("reader")
    );
}

#[test]
fn shared_consumers_all_get_some() {
    let (mut world, first) = shop(SubType::Shared, 0);
    let other = world.peer();
    let second = world.subscribe(other, 1, SubType::Shared);
    world.flow(first, 100);
    world.flow(second, 100);
    world.publish_many(first.peer, 10);
    let deliveries = world.deliveries();
    let of_first = deliveries
        .iter()
        .filter(|delivery| delivery.consumer == first)
        .count();
    assert_eq!((deliveries.len(), of_first), (10, 5));
}

#[test]
fn an_acknowledgement_is_answered_when_asked() {
    let (mut world, consumer) = shop(SubType::Shared, 1);
    let ack = CommandAck {
        consumer_id: 1,
        request_id: Some(5),
        ..Default::default()
    };
    world.send(consumer.peer, ack.clone());
    let Command::AckResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!((answer.request_id, answer.error), (Some(5), None));
    world.send(
        consumer.peer,
        CommandAck {
            consumer_id: 9,
            ..ack
        },
    );
    assert!(world.sent.is_empty(), "an unknown consumer gets no answer");
}

#[test]
fn a_transactional_acknowledgement_is_refused() {
    let (mut world, consumer) = shop(SubType::Shared, 1);
    world.send(
        consumer.peer,
        CommandAck {
            consumer_id: 1,
            request_id: Some(5),
            txnid_least_bits: Some(1),
            ..Default::default()
        },
    );
    let Command::AckResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.error, Some(ServerError::NotAllowedError.code()));
}

#[test]
fn a_cumulative_acknowledgement_on_shared_changes_nothing() {
    let (mut world, consumer) = shop(SubType::Shared, 2);
    world.flow(consumer, 10);
    let id = world.deliveries()[1].id.clone();
    world.ack_cumulative(consumer, &id);
    assert_eq!(world.billing().backlog, 2);
}

#[test]
fn members_of_a_batch_are_not_acknowledged_alone_by_default() {
    let (mut world, consumer) = shop(SubType::Shared, 0);
    world.flow(consumer, 10);
    world.publish(consumer.peer, batch_of(3));
    let id = world.deliveries()[0].id.clone();
    world.ack(
        consumer,
        &MessageIdData {
            ack_set: vec![0b110],
            ..id.clone()
        },
    );
    world.redeliver(consumer, &[id]);
    let again = world.deliveries();
    assert_eq!((again[0].count, again[0].ack_set.len()), (1, 0));
}

#[test]
fn members_of_a_batch_can_be_acknowledged_where_that_is_on() {
    let mut world = World::with(|config| config.batch_index_acks = true);
    let peer = world.peer();
    world.open_producer(peer, 1);
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.flow(consumer, 10);
    world.publish(peer, batch_of(3));
    let id = world.deliveries()[0].id.clone();
    world.ack(
        consumer,
        &MessageIdData {
            ack_set: vec![0b110],
            ..id.clone()
        },
    );
    assert_eq!(world.billing().unacked, 2);
    world.redeliver(consumer, std::slice::from_ref(&id));
    assert_eq!(world.deliveries()[0].ack_set, [0b110]);
    world.ack(
        consumer,
        &MessageIdData {
            ack_set: vec![0b001],
            ..id
        },
    );
    assert_eq!(world.billing().backlog, 0);
}

#[test]
fn redelivery_on_exclusive_brings_everything_and_does_not_count() {
    let (mut world, consumer) = shop(SubType::Exclusive, 3);
    world.flow(consumer, 10);
    let deliveries = world.deliveries();
    world.ack(consumer, &deliveries[1].id);
    world.redeliver(consumer, &[deliveries[2].id.clone()]);
    let again: Vec<_> = world
        .deliveries()
        .iter()
        .map(|one| (one.id.entry_id, one.count))
        .collect();
    assert_eq!(again, [(0, 0), (2, 0)]);
}

#[test]
fn redelivery_on_exclusive_echoes_the_epoch() {
    let (mut world, consumer) = shop(SubType::Exclusive, 1);
    world.flow(consumer, 10);
    assert_eq!(world.deliveries()[0].epoch, None);
    world.send(
        consumer.peer,
        CommandRedeliverUnacknowledgedMessages {
            consumer_id: 1,
            message_ids: Vec::new(),
            consumer_epoch: Some(4),
        },
    );
    assert_eq!(world.deliveries()[0].epoch, Some(4));
}

#[test]
fn redelivery_on_shared_brings_what_was_named_and_counts() {
    let (mut world, consumer) = shop(SubType::Shared, 3);
    world.flow(consumer, 10);
    let id = world.deliveries()[1].id.clone();
    for count in 1..4 {
        world.redeliver(consumer, std::slice::from_ref(&id));
        let again = world.deliveries();
        assert_eq!((again.len(), again[0].id.entry_id, again[0].count), (1, 1, count));
    }
}

#[test]
fn redelivery_needs_permits() {
    let (mut world, consumer) = shop(SubType::Shared, 1);
    world.flow(consumer, 1);
    let id = world.deliveries()[0].id.clone();
    world.redeliver(consumer, &[id]);
    assert_eq!(world.entries(), []);
    world.flow(consumer, 1);
    assert_eq!(world.entries(), [0]);
}

#[test]
fn what_a_lost_shared_consumer_held_goes_to_the_others_with_its_count() {
    let (mut world, first) = shop(SubType::Shared, 2);
    world.flow(first, 10);
    let id = world.deliveries()[0].id.clone();
    world.redeliver(first, &[id]);
    let other = world.peer();
    let second = world.subscribe(other, 1, SubType::Shared);
    world.flow(second, 10);
    world.sent.clear();
    world.disconnect(first.peer);
    let taken: Vec<_> = world
        .deliveries()
        .iter()
        .map(|one| (one.id.entry_id, one.count))
        .collect();
    assert_eq!(taken, [(0, 1), (1, 0)]);
}

#[test]
fn counts_are_forgotten_when_the_last_consumer_leaves() {
    let (mut world, consumer) = shop(SubType::Shared, 1);
    world.flow(consumer, 10);
    let id = world.deliveries()[0].id.clone();
    world.redeliver(consumer, &[id]);
    world.close(consumer);
    let consumer = world.subscribe(consumer.peer, 2, SubType::Shared);
    world.sent.clear();
    world.flow(consumer, 10);
    assert_eq!(world.deliveries()[0].count, 0);
}

#[test]
fn a_crash_forgets_acknowledgements_that_were_not_stored() {
    let (mut world, consumer) = shop(SubType::Shared, 2);
    world.flow(consumer, 10);
    let deliveries = world.deliveries();
    world.ack(consumer, &deliveries[0].id);
    world.broker.store_acks(TOPIC);
    world.ack(consumer, &deliveries[1].id);
    world.broker.forget_recent_acks(world.now, TOPIC);
    world.drain();
    assert_eq!(world.entries(), [1]);
}

#[test]
fn nothing_goes_to_other_consumers_of_a_lost_connection() {
    let (mut world, first) = shop(SubType::Shared, 2);
    world.flow(first, 10);
    let second = world.subscribe(first.peer, 2, SubType::Shared);
    world.flow(second, 10);
    world.sent.clear();
    world.disconnect(first.peer);
    assert_eq!(world.sent.len(), 0);
}
