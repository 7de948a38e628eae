//! Topics, subscriptions and namespaces by calls.

use std::time::{Duration, Instant};

use pulsar_devbroker::{ControlErrorKind, DevBroker, Position};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};

use crate::peer::{Peer, TOPIC};

async fn broker() -> DevBroker {
    DevBroker::builder().start().await.unwrap()
}

async fn partitions_seen(peer: &mut Peer) -> u32 {
    let request_id = peer.request();
    let question = CommandPartitionedTopicMetadata {
        topic: TOPIC.into(),
        request_id,
        ..Default::default()
    };
    peer.send(question).await;
    match peer.next().await {
        Command::PartitionMetadataResponse(answer) => answer.partitions(),
        other => panic!("no answer but {other:?}"),
    }
}

#[tokio::test]
async fn partitions_can_be_made_at_the_start() {
    let broker = DevBroker::builder().partitioned(TOPIC, 3).start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    assert_eq!(partitions_seen(&mut peer).await, 3);
}

#[tokio::test]
async fn a_topic_that_cannot_be_made_is_an_error_of_the_start() {
    let builder = DevBroker::builder().partitioned("no-tenant/no-namespace/x", 3);
    let error = builder.start().await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("no-tenant/no-namespace"), "{cause}");
}

#[tokio::test]
async fn new_partitions_get_the_subscriptions_of_the_others() {
    let broker = broker().await;
    broker.create_partitioned(TOPIC, 1).unwrap();
    broker
        .create_subscription(TOPIC, "billing", Position::Earliest)
        .unwrap();
    broker.grow_partitions(TOPIC, 2).unwrap();
    assert_eq!(broker.partitions(TOPIC), Some(2));
    let stats = broker.stats(&format!("{TOPIC}-partition-1")).unwrap();
    assert!(stats.subscriptions.contains_key("billing"));
    let mut peer = Peer::connect(&broker).await;
    assert_eq!(partitions_seen(&mut peer).await, 2);
}

#[tokio::test]
async fn what_is_there_is_not_made_again_and_what_is_not_there_not_deleted() {
    let broker = broker().await;
    broker.create_topic("orders").unwrap();
    let kind = |done: Result<(), pulsar_devbroker::ControlError>| done.unwrap_err().kind();
    assert_eq!(kind(broker.create_topic(TOPIC)), ControlErrorKind::Exists);
    assert_eq!(
        kind(broker.create_partitioned(TOPIC, 2)),
        ControlErrorKind::Exists
    );
    assert_eq!(kind(broker.grow_partitions(TOPIC, 2)), ControlErrorKind::NotFound);
    assert_eq!(kind(broker.create_topic("a/b/c")), ControlErrorKind::NotFound);
    assert_eq!(kind(broker.create_topic("a//c")), ControlErrorKind::Invalid);
    assert_eq!(kind(broker.create_namespace("a")), ControlErrorKind::Invalid);
    assert_eq!(
        kind(broker.create_namespace("public/default")),
        ControlErrorKind::Exists
    );
    assert_eq!(broker.partitions(TOPIC), Some(0));
    broker.delete_topic(TOPIC).unwrap();
    assert_eq!(broker.partitions(TOPIC), None);
    assert_eq!(kind(broker.delete_topic(TOPIC)), ControlErrorKind::NotFound);
}

#[tokio::test]
async fn a_topic_in_use_is_only_deleted_by_force() {
    let broker = broker().await;
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    let error = broker.delete_unused_topic(TOPIC).unwrap_err();
    assert_eq!(error.kind(), ControlErrorKind::InUse);
    broker.delete_topic(TOPIC).unwrap();
    assert!(matches!(peer.next().await, Command::CloseProducer(_)));
}

#[tokio::test]
async fn a_subscription_made_by_a_call_gets_what_is_published_then() {
    let broker = broker().await;
    broker
        .create_subscription(TOPIC, "billing", Position::Latest)
        .unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    peer.publish(1, b"order").await;
    peer.receipt().await;
    assert_eq!(broker.stats(TOPIC).unwrap().subscriptions["billing"].backlog, 1);
    peer.subscribe(1, SubType::Shared).await;
    peer.flow(1, 1).await;
    peer.delivery().await;
}

#[tokio::test]
async fn figures_of_a_topic_count_messages_and_clients() {
    let broker = broker().await;
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(7, SubType::Shared).await;
    peer.flow(7, 10).await;
    peer.produce(3).await;
    for _ in 0..2 {
        peer.publish(3, b"order").await;
        peer.receipt().await;
        peer.delivery().await;
    }
    let stats = broker.stats(TOPIC).unwrap();
    assert_eq!((stats.messages_in, stats.messages_out), (2, 2));
    assert_eq!(stats.producers[0].id, 3);
    let client = peer.stream.local_addr().unwrap();
    assert_eq!(broker.client_addr(stats.producers[0].peer), Some(client));
    assert_eq!(broker.connections(), 1);
    let billing = &stats.subscriptions["billing"];
    assert_eq!((billing.backlog, billing.unacked), (2, 2));
    let consumer = &billing.consumers[0];
    assert_eq!((consumer.id, consumer.permits, consumer.messages_out), (7, 8, 2));
    assert_eq!(broker.topics(), [TOPIC]);
    assert_eq!(broker.entries(TOPIC)[1].payload(), "order");
}

#[tokio::test]
async fn topics_of_a_closed_namespace_are_not_made_by_use() {
    let broker = broker().await;
    broker.set_topic_creation("public/default", false).unwrap();
    let mut peer = Peer::connect(&broker).await;
    let producer = CommandProducer {
        topic: TOPIC.into(),
        request_id: 9,
        ..Default::default()
    };
    peer.send(producer).await;
    let Command::Error(error) = peer.next().await else {
        panic!("no error");
    };
    assert_eq!(error.error, ServerError::TopicNotFound.code());
    broker.create_topic(TOPIC).unwrap();
    // The first lookup failed, so that the namespace is not served yet.
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
}

#[tokio::test]
async fn a_namespace_goes_with_its_topics() {
    let broker = broker().await;
    broker.create_namespace("acme/shop").unwrap();
    broker.create_topic("acme/shop/orders").unwrap();
    broker.create_partitioned("acme/shop/bills", 2).unwrap();
    broker.create_topic(TOPIC).unwrap();
    broker.delete_namespace("acme/shop").unwrap();
    assert_eq!(broker.topics(), [TOPIC]);
    assert!(broker.set_deduplication("acme/shop", true).is_err());
}

#[tokio::test]
async fn a_namespace_can_deduplicate() {
    let broker = broker().await;
    broker.set_deduplication("public/default", true).unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    let frame = peer.message(1, b"order");
    for _ in 0..2 {
        peer.bytes(&frame).await;
        peer.receipt().await;
    }
    assert_eq!(broker.entries(TOPIC).len(), 1);
}

#[tokio::test]
async fn publishers_over_the_limit_wait_and_others_do_not() {
    let broker = broker().await;
    broker.limit_publishing("public/default", Some(20)).unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    let begun = Instant::now();
    for _ in 0..30 {
        peer.publish(1, b"order").await;
    }
    let mut other = Peer::connect(&broker).await;
    other.send(CommandPing {}).await;
    assert!(matches!(other.next().await, Command::Pong(_)));
    for sequence in 0..30 {
        assert_eq!(peer.receipt().await.sequence_id, sequence);
    }
    // A second's worth at once, then one each 50 ms.
    assert!(begun.elapsed() >= Duration::from_millis(400));
    broker.limit_publishing("public/default", None).unwrap();
    for _ in 0..100 {
        peer.publish(1, b"order").await;
        peer.receipt().await;
    }
}
