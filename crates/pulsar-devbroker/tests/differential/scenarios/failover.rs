//! Failover: one consumer is active. On a topic without partitions a hash of the topic's name
//! decides which, so that is not written down.

use std::time::{Duration, Instant};

use pulsar_wire::Command;
use pulsar_wire::proto::*;
use serde_json::json;
use tokio::time::timeout;

use super::consumer::{Consumer, ids, shown, subscribe, texts};
use super::scenario::{Scenario, scenarios};
use crate::peer::SILENCE;

scenarios![
    first,
    exclusive_is_told_nothing,
    second,
    takeover,
    priorities,
    partitions,
    unacked
];

/// The last that the consumer was told, if it was.
async fn told(consumer: &mut Consumer) -> Option<bool> {
    let mut told = None;
    let mut patience = Duration::from_millis(2500);
    while let Ok(Some(frame)) = timeout(patience, consumer.peer.frame()).await {
        patience = SILENCE;
        if let Command::ActiveConsumerChange(change) = frame.command {
            told = change.is_active;
        }
    }
    told
}

async fn first(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut consumer = scenario.consumer(&topic, SubType::Failover).await;
    scenario.observe("is_told", consumer.peer.next().await);
    scenario.observe("and_then", consumer.peer.soon().await);
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish_many(2).await;
    consumer.flow(10).await;
    scenario.observe("deliveries", shown(&consumer.take(2).await));
}

async fn exclusive_is_told_nothing(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&scenario.topic(), SubType::Exclusive).await;
    scenario.observe("is_told", consumer.peer.soon().await);
}

async fn second(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, SubType::Failover, "anna").await;
    let one_at_first = told(&mut one).await;
    let mut two = scenario.named_consumer(&topic, SubType::Failover, "ben").await;
    let two_at_first = told(&mut two).await;
    let one_is_active = told(&mut one).await.or(one_at_first);
    scenario.observe("one_is_active", one_at_first);
    scenario.observe("second_is_told", two_at_first.is_some());
    scenario.observe(
        "exactly_one_is_active",
        one_is_active == Some(true) && two_at_first == Some(false)
            || one_is_active == Some(false) && two_at_first == Some(true),
    );
    one.flow(10).await;
    two.flow(10).await;
    scenario.publisher(&topic).await.publish_many(4).await;
    let (mut active, mut passive) = if one_is_active == Some(true) {
        (one, two)
    } else {
        (two, one)
    };
    scenario.observe("active", texts(&active.take(4).await));
    scenario.observe("passive", texts(&passive.rest().await));
}

/// The one with the better priority is active, so it is known who takes over.
async fn pair(scenario: &Scenario, topic: &str) -> (Consumer, Consumer) {
    let with = |level, name: &str| CommandSubscribe {
        priority_level: Some(level),
        consumer_name: Some(name.into()),
        ..subscribe(topic, SubType::Failover)
    };
    let active = Consumer::attach(scenario.connect().await, with(1, "anna")).await;
    let passive = Consumer::attach(scenario.connect().await, with(2, "ben")).await;
    (active, passive)
}

async fn takeover(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut active, mut passive) = pair(scenario, &topic).await;
    active.flow(10).await;
    passive.flow(10).await;
    scenario.publisher(&topic).await.publish_many(3).await;
    scenario.observe("before", shown(&active.take(3).await));
    scenario.observe("passive_is_told", told(&mut passive).await);
    let since = Instant::now();
    active.close().await;
    let first = passive.take(1).await;
    let took = since.elapsed();
    let about_a_second = (Duration::from_millis(700)..Duration::from_secs(4)).contains(&took);
    let mut seen = first;
    seen.extend(passive.take(2).await);
    scenario.observe(
        "after",
        json!({ "about_a_second": about_a_second, "deliveries": shown(&seen) }),
    );
    scenario.observe("is_told_then", told(&mut passive).await);
}

async fn priorities(scenario: &Scenario) {
    let topic = scenario.topic();
    let with = |level| CommandSubscribe {
        priority_level: Some(level),
        ..subscribe(&topic, SubType::Failover)
    };
    let mut low = Consumer::attach(scenario.connect().await, with(5)).await;
    scenario.observe("alone", told(&mut low).await);
    let mut high = Consumer::attach(scenario.connect().await, with(1)).await;
    scenario.observe("high_joins", told(&mut high).await);
    scenario.observe("low_is_told", told(&mut low).await);
    high.close().await;
    scenario.observe("high_leaves", told(&mut low).await);
}

/// The partition's number picks among the consumers, sorted by name.
async fn partitions(scenario: &Scenario) {
    let topic = scenario.partitioned(3).await;
    for partition in 0..3 {
        let name = format!("{topic}-partition-{partition}");
        let mut consumers = Vec::new();
        for consumer in ["cleo", "anna", "ben"] {
            let mut consumer = scenario.named_consumer(&name, SubType::Failover, consumer).await;
            consumer.flow(10).await;
            consumers.push(consumer);
        }
        scenario.publisher(&name).await.publish("order").await;
        let [cleo, anna, ben] = &mut consumers[..] else {
            unreachable!("there are three");
        };
        let patience = Duration::from_secs(3);
        let (cleo, anna, ben) = tokio::join!(
            cleo.take_within(1, patience),
            anna.take_within(1, patience),
            ben.take_within(1, patience)
        );
        let got = json!({ "anna": anna.len(), "ben": ben.len(), "cleo": cleo.len() });
        scenario.observe(&format!("active_of_{partition}"), got);
    }
}

/// What the last active one has not acknowledged comes to the next, with what is new.
async fn unacked(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut active, mut passive) = pair(scenario, &topic).await;
    active.flow(10).await;
    passive.flow(10).await;
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish_many(4).await;
    let seen = active.take(4).await;
    active.ack(&[ids(&seen)[0].clone(), ids(&seen)[2].clone()]).await;
    drop(active);
    publisher.publish("new").await;
    let mut seen = passive.take(3).await;
    seen.extend(passive.rest().await);
    scenario.observe("next", shown(&seen));
}
