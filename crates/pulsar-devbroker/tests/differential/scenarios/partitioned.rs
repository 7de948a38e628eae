//! Topics with partitions.

use pulsar_wire::encode_send;
use pulsar_wire::proto::*;

use super::consumer::{Consumer, shown, subscribe, texts};
use super::publisher::producer;
use super::scenario::{Scenario, scenarios};

scenarios![metadata, parent, one, beyond, independent];

async fn metadata(scenario: &Scenario) {
    let topic = scenario.partitioned(3).await;
    let mut peer = scenario.connect().await;
    for (name, topic) in [
        ("parent", topic.clone()),
        ("partition", format!("{topic}-partition-1")),
    ] {
        let partitions = |request_id| CommandPartitionedTopicMetadata {
            topic: topic.clone(),
            request_id,
            ..Default::default()
        };
        scenario.observe(&format!("{name}.partitions"), peer.request(partitions).await);
        let lookup = |request_id| CommandLookupTopic {
            topic: topic.clone(),
            request_id,
            ..Default::default()
        };
        scenario.observe(&format!("{name}.lookup"), peer.request(lookup).await);
    }
}

/// It is no topic of its own.
async fn parent(scenario: &Scenario) {
    let topic = scenario.partitioned(2).await;
    let mut peer = scenario.connect().await;
    scenario.observe(
        "producer",
        peer.request(|request_id| producer(&topic, request_id)).await,
    );
    let command = |request_id| CommandSubscribe {
        request_id,
        ..subscribe(&topic, SubType::Shared)
    };
    scenario.observe("subscribe", peer.request(command).await);
    scenario.observe("ping", peer.ping().await);
}

/// Receipts name no partition, deliveries do.
async fn one(scenario: &Scenario) {
    let topic = format!("{}-partition-1", scenario.partitioned(2).await);
    let mut publisher = scenario.publisher(&topic).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    scenario.observe(
        "receipt",
        publisher.raw(&encode_send(&send, &metadata, b"order")).await,
    );
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    let seen = consumer.everything().await;
    scenario.observe("delivery", shown(&seen));
    scenario.observe("last_id", consumer.last_id().await);
    let with_partition: Vec<MessageIdData> = seen
        .iter()
        .map(|delivery| delivery.command.message_id.clone())
        .collect();
    scenario.observe("ack", consumer.ack(&with_partition).await);
    consumer.redeliver(&[]).await;
    scenario.observe("after_ack", texts(&consumer.everything().await));
}

async fn beyond(scenario: &Scenario) {
    let topic = format!("{}-partition-5", scenario.partitioned(2).await);
    let mut peer = scenario.connect().await;
    scenario.observe(
        "producer",
        peer.request(|request_id| producer(&topic, request_id)).await,
    );
    let command = |request_id| CommandSubscribe {
        request_id,
        ..subscribe(&topic, SubType::Shared)
    };
    scenario.observe("subscribe", peer.request(command).await);
    let unmade = format!("{}-partition-0", scenario.topic());
    let command = |request_id| CommandProducer {
        producer_id: 2,
        ..producer(&unmade, request_id)
    };
    scenario.observe("producer_of_no_parent", peer.request(command).await);
}

async fn independent(scenario: &Scenario) {
    let topic = scenario.partitioned(2).await;
    let mut publisher = scenario.publisher(&format!("{topic}-partition-0")).await;
    publisher.publish("zero").await;
    let mut one = Consumer::attach(
        scenario.connect().await,
        subscribe(&format!("{topic}-partition-1"), SubType::Shared),
    )
    .await;
    scenario.observe("other_partition", texts(&one.everything().await));
}
