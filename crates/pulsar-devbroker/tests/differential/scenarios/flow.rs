//! FLOW.

use pulsar_wire::proto::*;

use super::consumer::texts;
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![
    none,
    counted,
    zero,
    negative,
    unknown_consumer,
    before_messages,
    kept
];

async fn none(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        scenario.publisher(&topic).await.publish_many(2).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        scenario.observe(name, texts(&consumer.rest().await));
    }
}

async fn counted(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        scenario.publisher(&topic).await.publish_many(5).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        if kind == SubType::Failover {
            // The first read of Failover waits for a second.
            consumer
                .take_within(1, std::time::Duration::from_millis(1500))
                .await;
        }
        consumer.flow(2).await;
        let mut seen = consumer.take(2).await;
        seen.extend(consumer.rest().await);
        scenario.observe(&format!("{name}.two"), texts(&seen));
        consumer.flow(1).await;
        let mut seen = consumer.take(1).await;
        seen.extend(consumer.rest().await);
        scenario.observe(&format!("{name}.one_more"), texts(&seen));
        consumer.flow(10).await;
        scenario.observe(&format!("{name}.plenty"), texts(&consumer.take(2).await));
    }
}

async fn zero(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&scenario.topic(), SubType::Shared).await;
    consumer.flow(0).await;
    scenario.observe("answer", consumer.peer.next().await);
}

/// As a signed number.
async fn negative(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&scenario.topic(), SubType::Shared).await;
    consumer.flow(u32::MAX).await;
    scenario.observe("answer", consumer.peer.soon().await);
}

async fn unknown_consumer(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    peer.tell(CommandFlow {
        consumer_id: 77,
        message_permits: 1,
    })
    .await;
    scenario.observe("then_ping", peer.ping().await);
    peer.tell(CommandFlow {
        consumer_id: 77,
        message_permits: 0,
    })
    .await;
    scenario.observe("zero_then_ping", peer.ping().await);
}

async fn before_messages(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(2).await;
        scenario.publisher(&topic).await.publish_many(3).await;
        let mut seen = consumer.take(2).await;
        seen.extend(consumer.rest().await);
        scenario.observe(name, texts(&seen));
    }
}

/// Permits add up while there is nothing to send.
async fn kept(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(1).await;
    consumer.flow(2).await;
    scenario.publisher(&topic).await.publish_many(5).await;
    let mut seen = consumer.take(3).await;
    seen.extend(consumer.rest().await);
    scenario.observe("deliveries", texts(&seen));
}
