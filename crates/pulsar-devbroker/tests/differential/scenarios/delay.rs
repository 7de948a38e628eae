//! Messages that are to be delivered later. When exactly is looked at by bounds: from the time on,
//! a tick of a second later at most, and some for a busy machine.

use std::time::{Duration, Instant};

use pulsar_wire::proto::*;
use serde_json::{Value, json};

use super::consumer::{Consumer, ids, shown, texts};
use super::scenario::{KINDS, Scenario, scenarios};
use crate::seen;

scenarios![delayed, short, past, order, batch, reconnect, nack, another_kind];

fn now() -> i64 {
    seen::now().cast_signed()
}

fn after(delay: Duration) -> MessageMetadata {
    MessageMetadata {
        deliver_at_time: Some(now() + delay.as_millis() as i64),
        ..Default::default()
    }
}

/// Long enough that nothing that comes at once takes as long, however busy the machine is.
const DELAY: Duration = Duration::from_secs(4);

/// The next delivery and when it comes: a tick of a second too early or too late is in time.
async fn next(consumer: &mut Consumer, since: Instant) -> Value {
    let deliveries = consumer.take(1).await;
    let when = match since.elapsed().as_millis() {
        ..2900 => "at once",
        2900..7000 => "in time",
        _ => "late",
    };
    json!({ "deliveries": shown(&deliveries), "when": when })
}

async fn delayed(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(10).await;
        if kind == SubType::Failover {
            publisher.publish("so that it is active").await;
            consumer.take(1).await;
        }
        let since = Instant::now();
        publisher.publish_with(after(DELAY), "later").await;
        scenario.observe(name, next(&mut consumer, since).await);
    }
}

/// Less than a tick is no delay. A busy machine may be late once, not always.
async fn short(scenario: &Scenario) {
    for (name, kind) in [("shared", SubType::Shared), ("key_shared", SubType::KeyShared)] {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(10).await;
        let mut came_before_its_time = false;
        for _ in 0..5 {
            let metadata = after(Duration::from_millis(950));
            let due = metadata.deliver_at_time;
            publisher.publish_with(metadata, "soon").await;
            consumer.take(1).await;
            came_before_its_time |= Some(now()) < due;
        }
        scenario.observe(&format!("{name}.came_before_its_time"), came_before_its_time);
    }
}

async fn past(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    for (name, at) in [("an_hour_ago", now() - 3_600_000), ("zero", 0), ("negative", -5)] {
        let metadata = MessageMetadata {
            deliver_at_time: Some(at),
            ..Default::default()
        };
        let since = Instant::now();
        publisher.publish_with(metadata, name).await;
        scenario.observe(name, next(&mut consumer, since).await);
    }
}

async fn order(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(10).await;
        publisher
            .publish_with(after(Duration::from_secs(6)), "six seconds")
            .await;
        publisher
            .publish_with(after(Duration::from_secs(2)), "two seconds")
            .await;
        publisher.publish("at once").await;
        scenario.observe(name, shown(&consumer.take(3).await));
    }
}

async fn batch(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    let since = Instant::now();
    publisher.publish_batch(after(DELAY), &["a", "b"]).await;
    publisher.publish("at once").await;
    scenario.observe("single", texts(&consumer.take(1).await));
    scenario.observe("batch", next(&mut consumer, since).await);
}

async fn reconnect(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    let since = Instant::now();
    publisher.publish_with(after(DELAY), "later").await;
    publisher.publish("at once").await;
    let seen = consumer.take(1).await;
    consumer.ack(&ids(&seen)).await;
    drop(consumer);
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    scenario.observe("first", texts(&seen));
    scenario.observe("then", next(&mut consumer, since).await);
}

/// Once it was delivered it comes again at once.
async fn nack(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    publisher.publish_with(after(DELAY), "later").await;
    let seen = consumer.take(1).await;
    let since = Instant::now();
    consumer.redeliver(&ids(&seen)).await;
    scenario.observe("again", next(&mut consumer, since).await);
}

/// What is delayed on Shared is not when an Exclusive consumer comes.
async fn another_kind(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    publisher
        .publish_with(after(Duration::from_secs(3600)), "in an hour")
        .await;
    scenario.observe("shared", texts(&consumer.rest().await));
    consumer.close().await;
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("exclusive", texts(&consumer.everything().await));
}
