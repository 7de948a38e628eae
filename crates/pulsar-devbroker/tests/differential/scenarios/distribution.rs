//! How Shared spreads messages. How evenly is looked at by bounds.

use pulsar_wire::proto::*;
use serde_json::json;

use super::consumer::{Consumer, subscribe, texts};
use super::scenario::{Scenario, scenarios};

scenarios![
    spread,
    permits_decide,
    priorities,
    two_subscriptions,
    late_permits
];

async fn spread(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.consumer(&topic, SubType::Shared).await;
    let mut two = scenario.consumer(&topic, SubType::Shared).await;
    one.flow(200).await;
    two.flow(200).await;
    scenario.publisher(&topic).await.publish_many(100).await;
    let (mut one, two) = (texts(&one.rest().await), texts(&two.rest().await));
    let evenly = one.len() >= 25 && two.len() >= 25;
    let count = one.len() + two.len();
    one.extend(two);
    one.sort();
    one.dedup();
    scenario.observe(
        "hundred",
        json!({ "evenly": evenly, "all": count, "different": one.len() }),
    );
}

async fn permits_decide(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.consumer(&topic, SubType::Shared).await;
    let mut two = scenario.consumer(&topic, SubType::Shared).await;
    one.flow(100).await;
    scenario.publisher(&topic).await.publish_many(10).await;
    scenario.observe("with", one.take(10).await.len());
    scenario.observe("without", two.rest().await.len());
}

/// The lower number is served first.
async fn priorities(scenario: &Scenario) {
    let topic = scenario.topic();
    let with = |level| CommandSubscribe {
        priority_level: Some(level),
        ..subscribe(&topic, SubType::Shared)
    };
    let mut second = Consumer::attach(scenario.connect().await, with(2)).await;
    let mut first = Consumer::attach(scenario.connect().await, with(1)).await;
    first.flow(3).await;
    second.flow(100).await;
    first.peer.ping().await;
    second.peer.ping().await;
    scenario.publisher(&topic).await.publish_many(8).await;
    scenario.observe("first", texts(&first.rest().await));
    scenario.observe("second", texts(&second.rest().await));
}

async fn two_subscriptions(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.consumer(&topic, SubType::Shared).await;
    let other = CommandSubscribe {
        subscription: "other".into(),
        ..subscribe(&topic, SubType::Exclusive)
    };
    let mut two = Consumer::attach(scenario.connect().await, other).await;
    scenario.publisher(&topic).await.publish_many(3).await;
    scenario.observe("one", texts(&one.everything().await));
    scenario.observe("two", texts(&two.everything().await));
}

async fn late_permits(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.consumer(&topic, SubType::Shared).await;
    let mut two = scenario.consumer(&topic, SubType::Shared).await;
    one.flow(2).await;
    scenario.publisher(&topic).await.publish_many(5).await;
    scenario.observe("one", texts(&one.take(2).await));
    two.flow(10).await;
    scenario.observe("two", texts(&two.take(3).await));
}
