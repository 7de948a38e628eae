//! Topics that keep nothing.

use pulsar_wire::encode_send;
use pulsar_wire::proto::*;

use super::consumer::{Consumer, ids, shown, subscribe, texts};
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![
    receipts,
    delivery,
    nobody_there,
    settling,
    last_id,
    seek,
    reader,
    schema
];

fn volatile(scenario: &Scenario) -> String {
    scenario.topic().replace("persistent://", "non-persistent://")
}

async fn receipts(scenario: &Scenario) {
    let mut publisher = scenario.publisher(&volatile(scenario)).await;
    for name in ["first", "second"] {
        let (send, metadata) = publisher.message(MessageMetadata::default());
        scenario.observe(
            name,
            publisher.raw(&encode_send(&send, &metadata, b"order")).await,
        );
    }
    let batch = publisher.batch(MessageMetadata::default(), &["a", "b"]);
    scenario.observe("batch", publisher.raw(&batch).await);
}

/// Only with permits at that moment.
async fn delivery(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = volatile(scenario);
        let mut publisher = scenario.publisher(&topic).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        publisher.publish("without permits").await;
        scenario.observe(&format!("{name}.without"), texts(&consumer.rest().await));
        consumer.flow(2).await;
        consumer.peer.ping().await;
        scenario.observe(&format!("{name}.late_permits"), texts(&consumer.rest().await));
        publisher.publish_many(4).await;
        scenario.observe(&format!("{name}.two_permits"), shown(&consumer.rest().await));
    }
}

async fn nobody_there(scenario: &Scenario) {
    let topic = volatile(scenario);
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("early").await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    scenario.observe("deliveries", texts(&consumer.everything().await));
}

async fn settling(scenario: &Scenario) {
    let topic = volatile(scenario);
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    consumer.peer.ping().await;
    publisher.publish("order").await;
    let seen = consumer.take(1).await;
    consumer.redeliver(&ids(&seen)).await;
    scenario.observe("nack", texts(&consumer.rest().await));
    scenario.observe("ack", consumer.ack(&ids(&seen)).await);
    scenario.observe("close", consumer.close().await);
}

async fn last_id(scenario: &Scenario) {
    let topic = volatile(scenario);
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    publisher.publish("order").await;
    scenario.observe("answer", consumer.last_id().await);
}

async fn seek(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&volatile(scenario), SubType::Exclusive).await;
    let id = MessageIdData {
        ledger_id: u64::MAX,
        entry_id: u64::MAX,
        ..Default::default()
    };
    scenario.observe("answer", consumer.seek(Some(id), None).await);
    let mut consumer = scenario.consumer(&volatile(scenario), SubType::Exclusive).await;
    scenario.observe("unsubscribe", consumer.unsubscribe(None).await);
}

async fn reader(scenario: &Scenario) {
    let topic = volatile(scenario);
    let reader = CommandSubscribe {
        durable: Some(false),
        ..subscribe(&topic, SubType::Exclusive)
    };
    let mut consumer = Consumer::attach(scenario.connect().await, reader).await;
    consumer.flow(10).await;
    consumer.peer.ping().await;
    scenario.publisher(&topic).await.publish_many(2).await;
    scenario.observe("deliveries", texts(&consumer.take(2).await));
}

async fn schema(scenario: &Scenario) {
    let topic = volatile(scenario);
    let mut publisher = scenario.publisher(&topic).await;
    let get = |request_id| CommandGetSchema {
        request_id,
        topic: topic.clone(),
        schema_version: None,
    };
    scenario.observe("get", publisher.peer.request(get).await);
}
