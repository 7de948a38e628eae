//! Key_Shared: which consumer gets a key, and in which order. The consumers have names, so that
//! their keys are the same on every run.

use bytes::Bytes;
use pulsar_wire::proto::*;
use serde_json::{Value, json};

use super::consumer::{Consumer, Delivery, ids, shown, subscribe, texts};
use super::publisher::{Publisher, with_key};
use super::scenario::{Scenario, scenarios};

scenarios![
    assignment,
    order,
    ordering_key,
    no_key,
    batches,
    leave,
    join,
    join_with_nothing_held,
    nack,
    sticky,
    sticky_gap,
    one_without_permits,
    permits_of_the_owner
];

const KIND: SubType = SubType::KeyShared;

async fn publish_keys(publisher: &mut Publisher, keys: usize, rounds: usize) {
    for round in 0..rounds {
        for key in 0..keys {
            publisher
                .publish_with(with_key(&format!("k{key}")), &format!("k{key}:{round}"))
                .await;
        }
    }
}

/// Messages of one key, in order.
fn of_key(deliveries: &[Delivery], key: &str) -> Vec<String> {
    texts(deliveries)
        .into_iter()
        .filter(|text| text.split(':').next() == Some(key))
        .collect()
}

/// Which keys came.
fn keys(deliveries: &[Delivery]) -> Vec<String> {
    let mut keys: Vec<String> = texts(deliveries)
        .iter()
        .filter_map(|text| text.split(':').next())
        .map(str::to_owned)
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

fn sorted(mut deliveries: Vec<Delivery>) -> Vec<Delivery> {
    deliveries.sort_by_key(|delivery| delivery.id().entry_id);
    deliveries
}

async fn assignment(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut consumers = Vec::new();
    for name in ["anna", "ben", "cleo"] {
        let mut consumer = scenario.named_consumer(&topic, KIND, name).await;
        consumer.flow(100).await;
        consumers.push((name, consumer));
    }
    publish_keys(&mut scenario.publisher(&topic).await, 20, 2).await;
    let mut all = 0;
    for (name, consumer) in &mut consumers {
        let seen = consumer.some().await;
        all += seen.len();
        scenario.observe(&format!("keys_of_{name}"), keys(&seen));
    }
    scenario.observe("all", all);
}

async fn order(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    one.flow(100).await;
    two.flow(100).await;
    publish_keys(&mut scenario.publisher(&topic).await, 4, 5).await;
    let (one, two) = (one.rest().await, two.rest().await);
    for key in ["k0", "k1", "k2", "k3"] {
        let (one, two) = (of_key(&one, key), of_key(&two, key));
        let one_consumer = one.is_empty() || two.is_empty();
        let order = if one.is_empty() { two } else { one };
        scenario.observe(key, json!({ "one_consumer": one_consumer, "order": order }));
    }
}

/// It counts more than the key.
async fn ordering_key(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    one.flow(100).await;
    two.flow(100).await;
    let mut publisher = scenario.publisher(&topic).await;
    for index in 0..10 {
        let metadata = MessageMetadata {
            ordering_key: Some(Bytes::from_static(b"same")),
            ..with_key(&format!("k{index}"))
        };
        publisher.publish_with(metadata, &format!("{index}")).await;
    }
    let (one, two) = (texts(&one.rest().await), texts(&two.rest().await));
    scenario.observe("one_consumer", one.is_empty() || two.is_empty());
    scenario.observe("order", if one.is_empty() { two } else { one });
}

async fn no_key(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    one.flow(100).await;
    two.flow(100).await;
    scenario.publisher(&topic).await.publish_many(40).await;
    let (one, two) = (one.rest().await.len(), two.rest().await.len());
    scenario.observe(
        "spread",
        json!({ "both_get_some": one > 0 && two > 0, "all": one + two }),
    );
}

/// A batch goes by the key of its entry.
async fn batches(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    one.flow(100).await;
    two.flow(100).await;
    let mut publisher = scenario.publisher(&topic).await;
    for key in 0..6 {
        publisher
            .publish_batch(with_key(&format!("k{key}")), &[&format!("k{key}:a"), "b"])
            .await;
    }
    scenario.observe("anna", texts(&one.some().await));
    scenario.observe("ben", texts(&two.some().await));
}

async fn leave(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    one.flow(100).await;
    publish_keys(&mut scenario.publisher(&topic).await, 3, 3).await;
    one.take(9).await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    two.flow(100).await;
    scenario.observe("while_there", texts(&two.rest().await));
    one.close().await;
    let seen = two.take(9).await;
    for key in ["k0", "k1", "k2"] {
        scenario.observe(key, of_key(&seen, key));
    }
    scenario.observe("counts", shown(&sorted(seen)));
}

/// Keys that move are held back until their old owner has settled what it has of them.
async fn join(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    one.flow(100).await;
    let mut publisher = scenario.publisher(&topic).await;
    publish_keys(&mut publisher, 6, 1).await;
    let held = one.take(6).await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    two.flow(100).await;
    publish_keys(&mut publisher, 6, 1).await;
    let stays = one.some().await;
    scenario.observe("old_owner", keys(&stays));
    scenario.observe("new_owner_while_held", texts(&two.rest().await));
    let moved = |delivery: &&Delivery| !keys(&stays).contains(&keys(std::slice::from_ref(delivery))[0]);
    let blocking: Vec<MessageIdData> = held.iter().filter(moved).map(Delivery::id).collect();
    one.ack(&blocking[..1]).await;
    scenario.observe("after_one_ack", texts(&two.some().await));
    one.ack(&blocking[1..]).await;
    scenario.observe("after_all_acks", texts(&two.some().await));
    scenario.observe("old_owner_at_last", texts(&one.rest().await));
}

async fn join_with_nothing_held(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    one.flow(100).await;
    let mut publisher = scenario.publisher(&topic).await;
    publish_keys(&mut publisher, 6, 1).await;
    let held = one.take(6).await;
    one.ack(&ids(&held)).await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    two.flow(100).await;
    publish_keys(&mut publisher, 6, 1).await;
    scenario.observe("old_owner", keys(&one.some().await));
    scenario.observe("new_owner", keys(&two.some().await));
}

/// Only the one comes back; newer ones of its key go on.
async fn nack(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut consumer = scenario.named_consumer(&topic, KIND, "anna").await;
    consumer.flow(100).await;
    let mut publisher = scenario.publisher(&topic).await;
    publish_keys(&mut publisher, 1, 3).await;
    let seen = consumer.take(3).await;
    consumer.redeliver(&ids(&seen[..1])).await;
    scenario.observe("again", shown(&consumer.take(1).await));
    publisher.publish_with(with_key("k0"), "k0:new").await;
    scenario.observe("newer", shown(&consumer.take(1).await));
    scenario.observe("then", shown(&consumer.rest().await));
}

async fn ranged(scenario: &Scenario, topic: &str, start: i32, end: i32) -> Consumer {
    let meta = KeySharedMeta {
        key_shared_mode: KeySharedMode::Sticky as i32,
        hash_ranges: vec![IntRange { start, end }],
        allow_out_of_order_delivery: None,
    };
    let command = CommandSubscribe {
        key_shared_meta: Some(meta),
        ..subscribe(topic, KIND)
    };
    let mut consumer = Consumer::attach(scenario.connect().await, command).await;
    consumer.flow(100).await;
    consumer
}

async fn sticky(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut lower = ranged(scenario, &topic, 0, 32767).await;
    let mut upper = ranged(scenario, &topic, 32768, 65535).await;
    publish_keys(&mut scenario.publisher(&topic).await, 12, 1).await;
    scenario.observe("lower", texts(&lower.some().await));
    scenario.observe("upper", texts(&upper.some().await));
    lower.close().await;
    scenario.observe("upper_alone", texts(&upper.rest().await));
}

/// Keys of nobody wait for somebody.
async fn sticky_gap(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut lower = ranged(scenario, &topic, 0, 32767).await;
    publish_keys(&mut scenario.publisher(&topic).await, 12, 1).await;
    let first = texts(&lower.some().await);
    let mut upper = ranged(scenario, &topic, 32768, 65535).await;
    scenario.observe("lower", first);
    scenario.observe("upper", texts(&upper.some().await));
}

/// A consumer that takes nothing does not stop the keys of others.
async fn one_without_permits(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.named_consumer(&topic, KIND, "anna").await;
    let mut two = scenario.named_consumer(&topic, KIND, "ben").await;
    one.flow(100).await;
    publish_keys(&mut scenario.publisher(&topic).await, 6, 2).await;
    scenario.observe("with_permits", texts(&one.some().await));
    scenario.observe("without", texts(&two.rest().await));
    two.flow(100).await;
    scenario.observe("later", texts(&two.some().await));
}

async fn permits_of_the_owner(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut consumer = scenario.named_consumer(&topic, KIND, "anna").await;
    consumer.flow(2).await;
    publish_keys(&mut scenario.publisher(&topic).await, 2, 3).await;
    let show = |seen: &[Delivery]| -> Value { texts(seen).into() };
    let mut seen = consumer.take(2).await;
    seen.extend(consumer.rest().await);
    scenario.observe("two", show(&seen));
    consumer.flow(3).await;
    let mut seen = consumer.take(3).await;
    seen.extend(consumer.rest().await);
    scenario.observe("three_more", show(&seen));
}
