//! What comes again, to whom, and with which count.

use std::time::Duration;

use pulsar_wire::proto::*;

use super::consumer::{Consumer, ids, shown};
use super::scenario::{KINDS, Scenario, scenarios};

/// Longer than a Failover subscription takes to change its active consumer.
const FAILOVER: Duration = Duration::from_millis(2500);

scenarios![
    with_ids,
    twice,
    without_ids,
    epochs,
    acked,
    of_another,
    unknown,
    to_others_on_close,
    to_others_on_drop,
    last_one_returns,
    count_of_batch
];

/// Three messages, all delivered.
async fn three(scenario: &Scenario, topic: &str, kind: SubType) -> (Consumer, Vec<MessageIdData>) {
    let ids = scenario.publisher(topic).await.publish_many(3).await;
    let mut consumer = scenario.consumer(topic, kind).await;
    consumer.flow(3).await;
    consumer.take(3).await;
    (consumer, ids)
}

async fn with_ids(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let (mut consumer, ids) = three(scenario, &scenario.topic(), kind).await;
        consumer.redeliver(&ids[1..2]).await;
        scenario.observe(name, shown(&consumer.everything().await));
    }
}

async fn twice(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let (mut consumer, ids) = three(scenario, &scenario.topic(), kind).await;
        consumer.ack(&ids[1..]).await;
        for _ in 0..2 {
            consumer.redeliver(&ids[..1]).await;
            consumer.flow(1).await;
            consumer.take(1).await;
        }
        consumer.redeliver(&ids[..1]).await;
        scenario.observe(name, shown(&consumer.everything().await));
    }
}

async fn without_ids(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let (mut consumer, ids) = three(scenario, &scenario.topic(), kind).await;
        consumer.ack(&ids[..1]).await;
        consumer.redeliver(&[]).await;
        scenario.observe(name, shown(&consumer.everything().await));
    }
}

async fn epochs(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let (mut consumer, _) = three(scenario, &scenario.topic(), kind).await;
        consumer.redeliver_with_epoch(&[], Some(4)).await;
        scenario.observe(&format!("{name}.first"), shown(&consumer.everything().await));
        consumer.redeliver_with_epoch(&[], Some(5)).await;
        scenario.observe(&format!("{name}.second"), shown(&consumer.everything().await));
    }
}

async fn acked(scenario: &Scenario) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("shared", SubType::Shared)] {
        let (mut consumer, ids) = three(scenario, &scenario.topic(), kind).await;
        consumer.ack(&ids).await;
        consumer.redeliver(&ids).await;
        scenario.observe(name, shown(&consumer.everything().await));
    }
}

async fn of_another(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut consumer, ids) = three(scenario, &topic, SubType::Shared).await;
    let mut other = scenario.consumer(&topic, SubType::Shared).await;
    other.flow(10).await;
    other.redeliver(&ids).await;
    scenario.observe("asks", shown(&other.rest().await));
    scenario.observe("holds", shown(&consumer.everything().await));
}

async fn unknown(scenario: &Scenario) {
    let (mut consumer, ids) = three(scenario, &scenario.topic(), SubType::Shared).await;
    let foreign = MessageIdData {
        entry_id: 1000,
        ..ids[0].clone()
    };
    consumer.redeliver(&[foreign]).await;
    scenario.observe("id", shown(&consumer.everything().await));
    let command = CommandRedeliverUnacknowledgedMessages {
        consumer_id: 77,
        message_ids: ids,
        consumer_epoch: None,
    };
    consumer.peer.tell(command).await;
    scenario.observe("consumer", consumer.peer.ping().await);
}

/// Exclusive has no others.
async fn to_others_on_close(scenario: &Scenario) {
    for (name, kind) in KINDS.into_iter().filter(|(_, kind)| *kind != SubType::Exclusive) {
        let topic = scenario.topic();
        let (mut consumer, ids) = three(scenario, &topic, kind).await;
        consumer.redeliver(&ids[..1]).await;
        consumer.flow(1).await;
        consumer.take(1).await;
        let mut other = scenario.named_consumer(&topic, kind, "other").await;
        let mut seen = Vec::new();
        if kind == SubType::Failover {
            // It may have become the active one by coming.
            other.flow(100).await;
            seen.extend(other.take_within(3, FAILOVER).await);
        }
        consumer.close().await;
        seen.extend(other.everything().await);
        scenario.observe(name, shown(&seen));
    }
}

async fn to_others_on_drop(scenario: &Scenario) {
    for (name, kind) in [("shared", SubType::Shared), ("key_shared", SubType::KeyShared)] {
        let topic = scenario.topic();
        let (mut consumer, message_ids) = three(scenario, &topic, kind).await;
        consumer.redeliver(&message_ids[1..2]).await;
        consumer.flow(1).await;
        consumer.take(1).await;
        let mut other = scenario.named_consumer(&topic, kind, "other").await;
        drop(consumer);
        let mut seen = other.everything().await;
        seen.sort_by_key(|delivery| delivery.id().entry_id);
        scenario.observe(name, shown(&seen));
        other.redeliver(&ids(&seen)).await;
        let mut seen = other.everything().await;
        seen.sort_by_key(|delivery| delivery.id().entry_id);
        scenario.observe(&format!("{name}.nacked"), shown(&seen));
    }
}

async fn last_one_returns(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let (mut consumer, ids) = three(scenario, &topic, kind).await;
        consumer.redeliver(&ids[..1]).await;
        consumer.flow(1).await;
        consumer.take(1).await;
        consumer.close().await;
        let mut next = scenario.consumer(&topic, kind).await;
        scenario.observe(name, shown(&next.everything().await));
    }
}

async fn count_of_batch(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let id = scenario
            .publisher(&topic)
            .await
            .publish_batch(MessageMetadata::default(), &["a", "b"])
            .await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(2).await;
        consumer.take(1).await;
        consumer.redeliver(&[id]).await;
        scenario.observe(name, shown(&consumer.everything().await));
    }
}
