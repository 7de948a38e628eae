//! Handshake, lookup, producers and sending.

mod support;

use bytes::Bytes;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError, encode_headers_and_payload};
use support::{TOPIC, World, producer, server_error};

#[test]
fn a_second_connect_closes_the_connection() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(peer, CommandConnect::default());
    assert_eq!(world.closed[0].0, peer);
}

#[test]
fn a_command_before_connect_closes_the_connection() {
    let mut world = World::new();
    let peer = world.broker.connect(world.now);
    world.look_up(peer);
    assert_eq!(world.closed[0].0, peer);
}

#[test]
fn a_ping_before_connect_is_answered() {
    let mut world = World::new();
    let peer = world.broker.connect(world.now);
    world.send(peer, CommandPing {});
    assert!(matches!(world.answer(), Command::Pong(_)));
}

#[test]
fn a_producer_without_a_lookup_is_sent_back() {
    let mut world = World::new();
    let peer = world.broker.connect(world.now);
    world.send(peer, CommandConnect::default());
    world.sent.clear();
    world.send(peer, producer(1));
    assert_eq!(server_error(&world.answer()), Some(ServerError::ServiceNotReady));
}

#[test]
fn an_unknown_namespace_is_not_found() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(
        peer,
        CommandLookupTopic {
            topic: "a/b/c".into(),
            ..Default::default()
        },
    );
    let Command::LookupTopicResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.error, Some(ServerError::TopicNotFound.code()));
}

#[test]
fn partitions_are_told() {
    let mut world = World::new();
    let peer = world.peer();
    world.broker.create_partitioned("bills", 3);
    world.send(
        peer,
        CommandPartitionedTopicMetadata {
            topic: "bills".into(),
            ..Default::default()
        },
    );
    let Command::PartitionMetadataResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.partitions, Some(3));
}

#[test]
fn an_absent_topic_is_not_found_without_auto_creation() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(
        peer,
        CommandPartitionedTopicMetadata {
            topic: "absent".into(),
            metadata_auto_creation_enabled: Some(false),
            ..Default::default()
        },
    );
    let Command::PartitionMetadataResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.error, Some(ServerError::TopicNotFound.code()));
}

#[test]
fn a_name_in_use_is_busy() {
    let mut world = World::new();
    let peer = world.peer();
    let named = CommandProducer {
        producer_name: Some("till".into()),
        ..producer(1)
    };
    world.send(peer, named.clone());
    world.send(
        peer,
        CommandProducer {
            producer_id: 2,
            epoch: Some(5),
            ..named
        },
    );
    world.answer();
    assert_eq!(server_error(&world.answer()), Some(ServerError::ProducerBusy));
    assert!(world.closed.is_empty());
}

#[test]
fn the_same_producer_again_gets_the_same_name() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(peer, producer(1));
    world.send(peer, producer(2));
    let names = [world.answer(), world.answer()].map(|answer| match answer {
        Command::ProducerSuccess(success) => success.producer_name,
        other => panic!("{other:?}"),
    });
    assert_eq!(names[0], names[1]);
}

#[test]
fn one_that_waits_for_exclusive_access_is_told_when_it_is_free() {
    let mut world = World::new();
    let peer = world.peer();
    let exclusive = |mode: ProducerAccessMode, id| CommandProducer {
        producer_id: id,
        producer_access_mode: Some(mode as i32),
        ..producer(id)
    };
    world.send(peer, exclusive(ProducerAccessMode::Exclusive, 1));
    world.send(peer, exclusive(ProducerAccessMode::WaitForExclusive, 2));
    world.send(
        peer,
        CommandCloseProducer {
            producer_id: 1,
            request_id: 3,
            ..Default::default()
        },
    );
    let readiness: Vec<_> = std::mem::take(&mut world.sent)
        .into_iter()
        .filter_map(|(_, command, _)| match command {
            Command::ProducerSuccess(success) => Some((success.producer_ready(), success.topic_epoch)),
            _ => None,
        })
        .collect();
    assert_eq!(readiness, [(true, Some(0)), (false, None), (true, Some(1))]);
}

#[test]
fn shared_and_exclusive_producers_exclude_each_other() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.sent.clear();
    let exclusive = Some(ProducerAccessMode::Exclusive as i32);
    world.send(
        peer,
        CommandProducer {
            producer_id: 2,
            producer_access_mode: exclusive,
            ..producer(9)
        },
    );
    assert_eq!(server_error(&world.answer()), Some(ServerError::ProducerFenced));
}

#[test]
fn an_initial_subscription_misses_no_message() {
    let mut world = World::new();
    let peer = world.peer();
    let name = Some("billing".to_owned());
    world.send(
        peer,
        CommandProducer {
            initial_subscription_name: name,
            ..producer(1)
        },
    );
    world.publish_many(peer, 1);
    assert_eq!(world.billing().backlog, 1);
}

#[test]
fn a_receipt_names_the_entry() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, 2);
    let (_, Command::SendReceipt(receipt), _) = world.sent.pop_back().unwrap() else {
        panic!("a receipt")
    };
    assert_eq!(receipt.message_id.as_ref().unwrap().entry_id, 1);
    assert_eq!(receipt.highest_sequence_id, Some(u64::MAX));
    assert_eq!(world.broker.entries(TOPIC)[1].payload(), "order");
}

#[test]
fn sending_without_a_producer_closes_the_connection() {
    let mut world = World::new();
    let peer = world.peer();
    world.publish_many(peer, 1);
    assert_eq!(world.closed[0].0, peer);
}

#[test]
fn messages_under_way_to_a_producer_that_the_broker_closed_are_ignored() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.broker.unload(world.now, TOPIC);
    world.publish_many(peer, 1);
    assert!(world.closed.is_empty());
    world.pass(std::time::Duration::from_secs(30));
    world.publish_many(peer, 1);
    assert_eq!(world.closed[0].0, peer);
}

fn send_error(world: &mut World, message: Bytes) -> ServerError {
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.sent.clear();
    world.send_with(
        peer,
        CommandSend {
            producer_id: 1,
            ..Default::default()
        },
        message,
    );
    match world.answer() {
        Command::SendError(error) => ServerError::from_i32(error.error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_message_is_refused() {
    let mut message = encode_headers_and_payload(&MessageMetadata::default(), b"order").to_vec();
    *message.last_mut().unwrap() ^= 1;
    assert_eq!(
        send_error(&mut World::new(), message.into()),
        ServerError::ChecksumError
    );
}

#[test]
fn a_message_that_is_too_large_is_refused() {
    let mut world = World::with(|config| config.max_message_size = 100);
    let message = encode_headers_and_payload(&MessageMetadata::default(), &[0; 101]);
    assert_eq!(send_error(&mut world, message), ServerError::NotAllowedError);
}

#[test]
fn the_largest_message_may_have_metadata_besides() {
    let mut world = World::with(|config| config.max_message_size = 100);
    let peer = world.peer();
    world.open_producer(peer, 1);
    let send = CommandSend {
        producer_id: 1,
        ..Default::default()
    };
    let message = encode_headers_and_payload(&MessageMetadata::default(), &[0; 100]);
    world.send_with(peer, send, message);
    assert!(matches!(
        world.sent.pop_back(),
        Some((_, Command::SendReceipt(_), _))
    ));
}

#[test]
fn a_terminated_topic_takes_no_more() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.sent.clear();
    world.broker.terminate(world.now, TOPIC);
    world.drain();
    assert!(matches!(world.answer(), Command::CloseProducer(_)));
    world.publish_many(peer, 1);
    let Command::SendError(error) = world.answer() else {
        panic!("an error for what was under way")
    };
    assert_eq!(error.error, ServerError::TopicTerminatedError.code());
    world.open_producer(peer, 1);
    assert_eq!(
        server_error(&world.answer()),
        Some(ServerError::TopicTerminatedError)
    );
}

#[test]
fn a_sequence_id_counts_once_with_deduplication() {
    let mut world = World::with(|config| config.deduplication = true);
    let peer = world.peer();
    world.open_producer(peer, 1);
    let message = encode_headers_and_payload(&MessageMetadata::default(), b"order");
    let send = CommandSend {
        producer_id: 1,
        sequence_id: 7,
        ..Default::default()
    };
    world.send_with(peer, send.clone(), message.clone());
    world.send_with(peer, send, message);
    let (_, Command::SendReceipt(receipt), _) = world.sent.pop_back().unwrap() else {
        panic!("a receipt")
    };
    assert_eq!(receipt.message_id.unwrap().entry_id, u64::MAX);
    assert_eq!(world.broker.entries(TOPIC).len(), 1);
}

#[test]
fn an_unloaded_topic_waits_for_a_lookup() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.sent.clear();
    world.broker.unload(world.now, TOPIC);
    world.drain();
    assert!(matches!(world.answer(), Command::CloseProducer(_)));
    world.open_producer(peer, 1);
    assert_eq!(server_error(&world.answer()), Some(ServerError::ServiceNotReady));
    world.look_up(peer);
    world.sent.clear();
    world.open_producer(peer, 1);
    assert!(matches!(world.answer(), Command::ProducerSuccess(_)));
}
