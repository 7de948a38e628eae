//! What tests can make happen.

use std::time::{Duration, Instant};

use pulsar_devbroker::{CommandKind, DevBroker};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use tokio::time::timeout;

use crate::peer::{LONG, Peer, TOPIC};

async fn broker() -> DevBroker {
    DevBroker::builder().start().await.unwrap()
}

async fn producer(broker: &DevBroker) -> Peer {
    let mut peer = Peer::connect(broker).await;
    peer.produce(1).await;
    peer
}

#[tokio::test]
async fn a_send_that_is_failed_is_answered_and_not_stored() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    let caught = broker
        .next(CommandKind::Send)
        .fail(ServerError::PersistenceError, "disk full");
    peer.publish(1, b"order").await;
    let Command::SendError(error) = peer.next().await else {
        panic!("no error");
    };
    assert_eq!(error.error, ServerError::PersistenceError.code());
    assert_eq!(error.message, "disk full");
    assert!(caught.has_happened());
    assert_eq!(broker.counters().published_messages, 0);
    peer.publish(1, b"order").await;
    peer.receipt().await;
}

#[tokio::test]
async fn requests_are_failed_in_their_own_words() {
    let broker = broker().await;
    let mut peer = Peer::connect(&broker).await;
    let fail = |kind| broker.next(kind).fail(ServerError::ServiceNotReady, "later");
    fail(CommandKind::Lookup);
    fail(CommandKind::PartitionMetadata);
    fail(CommandKind::Subscribe);
    let topic = || TOPIC.to_owned();
    peer.send(CommandLookupTopic {
        topic: topic(),
        ..Default::default()
    })
    .await;
    let Command::LookupTopicResponse(answer) = peer.next().await else {
        panic!("no answer");
    };
    assert_eq!(answer.response(), LookupType::Failed);
    peer.send(CommandPartitionedTopicMetadata {
        topic: topic(),
        ..Default::default()
    })
    .await;
    let Command::PartitionMetadataResponse(answer) = peer.next().await else {
        panic!("no answer");
    };
    assert_eq!(answer.response(), MetadataLookupType::Failed);
    peer.send(CommandSubscribe {
        topic: topic(),
        request_id: 77,
        ..Default::default()
    })
    .await;
    let Command::Error(error) = peer.next().await else {
        panic!("no error");
    };
    assert_eq!(error.request_id, 77);
}

#[tokio::test]
async fn a_send_that_is_discarded_has_no_receipt() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    broker.next(CommandKind::Send).discard();
    peer.publish(1, b"first").await;
    peer.publish(1, b"second").await;
    assert_eq!(peer.receipt().await.sequence_id, 1);
    assert_eq!(broker.counters().published_messages, 1);
}

#[tokio::test]
async fn others_may_pass_before() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    broker.next(CommandKind::Send).after(1).discard();
    for payload in [b"a", b"b", b"c"] {
        peer.publish(1, payload).await;
    }
    assert_eq!(peer.receipt().await.sequence_id, 0);
    assert_eq!(peer.receipt().await.sequence_id, 2);
}

#[tokio::test]
async fn what_is_held_waits_with_all_behind_it_until_it_is_released() {
    let broker = broker().await;
    let mut held_peer = producer(&broker).await;
    let held = broker.next(CommandKind::Send).hold();
    assert!(!held.caught().has_happened());
    held_peer.publish(1, b"order").await;
    held_peer.send(CommandPing {}).await;
    timeout(LONG, held.caught().happened()).await.unwrap();
    // Another connection goes on.
    let mut other = producer(&broker).await;
    other.publish(1, b"order").await;
    other.receipt().await;
    assert_eq!(broker.counters().published_messages, 1);

    held.release();
    held_peer.receipt().await;
    assert!(matches!(held_peer.next().await, Command::Pong(_)));
}

#[tokio::test]
async fn what_is_held_is_released_by_dropping_the_holder_too() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    let held = broker.next(CommandKind::SendReceipt).hold();
    peer.publish(1, b"order").await;
    timeout(LONG, held.caught().happened()).await.unwrap();
    assert_eq!(broker.counters().published_messages, 1);
    drop(held);
    peer.receipt().await;
}

#[tokio::test]
async fn a_frame_can_be_late() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    let time = Duration::from_millis(100);
    broker.next(CommandKind::Send).delay(time);
    let begun = Instant::now();
    peer.publish(1, b"order").await;
    peer.receipt().await;
    assert!(begun.elapsed() >= time);
}

#[tokio::test]
async fn a_receipt_can_be_lost_with_its_connection() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    broker.next(CommandKind::SendReceipt).after(1).cut();
    peer.publish(1, b"first").await;
    peer.publish(1, b"second").await;
    assert_eq!(peer.receipt().await.sequence_id, 0);
    peer.ended().await;
    assert_eq!(broker.counters().published_messages, 2);
}

#[tokio::test]
async fn a_delivery_that_is_lost_does_not_hold_up_others() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    peer.subscribe(1, SubType::Shared).await;
    peer.flow(1, 1_000).await;
    // Together more than may be on its way at a time.
    for entry in 0..100 {
        let caught = broker.next(CommandKind::Message).discard();
        peer.publish(1, &vec![7; 100_000]).await;
        peer.receipt().await;
        timeout(LONG, caught.happened()).await.unwrap();
        assert_eq!(broker.counters().delivered_entries, entry + 1);
    }
    peer.publish(1, b"order").await;
    peer.receipt().await;
    assert_eq!(peer.delivery().await.1, "order");
}

#[tokio::test]
async fn connections_can_be_cut_and_new_ones_refused() {
    let broker = broker().await;
    let mut peer = Peer::connect(&broker).await;
    broker.refuse_connections();
    broker.cut_connections();
    peer.ended().await;
    Peer::dial(&broker).await.ended().await;
    broker.accept_connections();
    Peer::connect(&broker).await;
}

#[tokio::test]
async fn what_is_delayed_for_an_hour_comes_when_the_clock_is_moved() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    peer.subscribe(1, SubType::Shared).await;
    peer.flow(1, 10).await;
    let in_an_hour = std::time::SystemTime::now() + Duration::from_secs(3600);
    let in_an_hour = in_an_hour.duration_since(std::time::UNIX_EPOCH).unwrap();
    let metadata = MessageMetadata {
        producer_name: "test".into(),
        publish_time: 1,
        deliver_at_time: Some(in_an_hour.as_millis() as i64),
        ..Default::default()
    };
    let send = CommandSend {
        producer_id: 1,
        ..Default::default()
    };
    peer.bytes(&pulsar_wire::encode_send(&send, &metadata, b"order"))
        .await;
    peer.receipt().await;
    let stats = broker.stats(TOPIC).unwrap();
    assert_eq!(stats.subscriptions["billing"].delayed, 1);
    broker.advance_clock(Duration::from_secs(3601));
    assert_eq!(peer.delivery().await.1, "order");
}

#[tokio::test]
async fn what_is_delayed_comes_by_itself() {
    let broker = DevBroker::builder().strict_delay(true).start().await.unwrap();
    let mut peer = producer(&broker).await;
    peer.subscribe(1, SubType::Shared).await;
    peer.flow(1, 10).await;
    let due = std::time::SystemTime::now() + Duration::from_millis(100);
    let due = due.duration_since(std::time::UNIX_EPOCH).unwrap();
    let metadata = MessageMetadata {
        producer_name: "test".into(),
        publish_time: 1,
        deliver_at_time: Some(due.as_millis() as i64),
        ..Default::default()
    };
    let send = CommandSend {
        producer_id: 1,
        ..Default::default()
    };
    peer.bytes(&pulsar_wire::encode_send(&send, &metadata, b"order"))
        .await;
    peer.receipt().await;
    peer.delivery().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    assert!(now.unwrap() >= due);
}

#[tokio::test]
async fn an_unloaded_topic_closes_its_producers() {
    let broker = broker().await;
    let mut peer = producer(&broker).await;
    broker.unload(TOPIC).unwrap();
    assert!(matches!(peer.next().await, Command::CloseProducer(_)));
    let error = broker.unload("no-such-topic").unwrap_err();
    assert!(error.to_string().contains("no-such-topic"), "{error}");
}
