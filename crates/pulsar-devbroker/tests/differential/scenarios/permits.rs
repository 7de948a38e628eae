//! What a batch costs, and that redelivery is not free. How far Pulsar overdraws when several
//! batches are ready is not looked at: one is there at a time.

use pulsar_wire::proto::*;
use serde_json::json;

use super::consumer::{ids, texts};
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![batches, bounds, redelivery, singles_after_batch];

async fn batches(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(1).await;
        publisher
            .publish_batch(MessageMetadata::default(), &["a", "b", "c", "d", "e"])
            .await;
        scenario.observe(&format!("{name}.one_permit"), texts(&consumer.take(1).await));
        publisher
            .publish_batch(MessageMetadata::default(), &["f", "g"])
            .await;
        scenario.observe(&format!("{name}.in_debt"), texts(&consumer.rest().await));
        consumer.flow(4).await;
        scenario.observe(&format!("{name}.debt_paid"), texts(&consumer.rest().await));
        consumer.flow(1).await;
        scenario.observe(&format!("{name}.one_more"), texts(&consumer.take(1).await));
    }
}

/// With several batches ready at least one goes out, and all that follow are paid for.
async fn bounds(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        for _ in 0..4 {
            publisher
                .publish_batch(MessageMetadata::default(), &["a", "b", "c", "d", "e"])
                .await;
        }
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(5).await;
        let mut seen = consumer.take(1).await;
        seen.extend(consumer.rest().await);
        consumer.flow(15).await;
        seen.extend(consumer.take_within(4 - seen.len(), crate::peer::PATIENCE).await);
        scenario.observe(
            name,
            json!({ "at_least_one": !seen.is_empty(), "all_once_paid": ids(&seen).len() == 4 }),
        );
    }
}

async fn redelivery(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(1).await;
        publisher.publish("order").await;
        let seen = consumer.take(1).await;
        consumer.redeliver(&ids(&seen)).await;
        scenario.observe(&format!("{name}.no_permits"), texts(&consumer.rest().await));
        consumer.flow(1).await;
        scenario.observe(&format!("{name}.one_permit"), texts(&consumer.take(1).await));
    }
}

async fn singles_after_batch(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(4).await;
    publisher
        .publish_batch(MessageMetadata::default(), &["a", "b", "c"])
        .await;
    let mut seen = consumer.take(1).await;
    publisher.publish_many(3).await;
    seen.extend(consumer.take(1).await);
    seen.extend(consumer.rest().await);
    scenario.observe("deliveries", texts(&seen));
}
