//! Acknowledging members of a batch, where the broker only knows whole entries.

use pulsar_wire::AckSet;
use pulsar_wire::proto::*;

use super::consumer::{Consumer, shown};
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![
    one_member,
    all_members_one_by_one,
    empty_set,
    whole_entry,
    with_index,
    cumulative
];

/// `before`, a batch of three, `after`, all delivered.
async fn batch(scenario: &Scenario, kind: SubType) -> (Consumer, Vec<MessageIdData>) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut ids = vec![publisher.publish("before").await];
    ids.push(
        publisher
            .publish_batch(MessageMetadata::default(), &["a", "b", "c"])
            .await,
    );
    ids.push(publisher.publish("after").await);
    let mut consumer = scenario.consumer(&topic, kind).await;
    consumer.flow(5).await;
    let seen = consumer.take(3).await;
    assert_eq!(seen.len(), 3);
    (consumer, ids)
}

/// The id with the set of members that stay open.
fn without(id: &MessageIdData, members: &[u32]) -> MessageIdData {
    let mut open = AckSet::full(3);
    for member in members {
        open.clear(*member);
    }
    let ack_set = if open.is_empty() {
        vec![0]
    } else {
        open.into_words()
    };
    MessageIdData {
        ack_set,
        batch_size: Some(3),
        ..id.clone()
    }
}

async fn again(consumer: &mut Consumer) -> Vec<String> {
    consumer.redeliver(&[]).await;
    shown(&consumer.everything().await)
}

async fn one_member(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let (mut consumer, ids) = batch(scenario, kind).await;
        scenario.observe(
            &format!("{name}.answer"),
            consumer.ack(&[without(&ids[1], &[0])]).await,
        );
        consumer.redeliver(&ids[1..2]).await;
        scenario.observe(&format!("{name}.nacked"), shown(&consumer.everything().await));
    }
}

async fn all_members_one_by_one(scenario: &Scenario) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("shared", SubType::Shared)] {
        let (mut consumer, ids) = batch(scenario, kind).await;
        for member in [0, 1, 2] {
            consumer.ack(&[without(&ids[1], &[member])]).await;
        }
        scenario.observe(name, again(&mut consumer).await);
    }
}

async fn empty_set(scenario: &Scenario) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("shared", SubType::Shared)] {
        let (mut consumer, ids) = batch(scenario, kind).await;
        scenario.observe(
            &format!("{name}.answer"),
            consumer.ack(&[without(&ids[1], &[0, 1, 2])]).await,
        );
        scenario.observe(&format!("{name}.again"), again(&mut consumer).await);
    }
}

async fn whole_entry(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let (mut consumer, ids) = batch(scenario, kind).await;
        scenario.observe(&format!("{name}.answer"), consumer.ack(&ids[1..2]).await);
        scenario.observe(&format!("{name}.again"), again(&mut consumer).await);
    }
}

/// The index alone says nothing to the broker.
async fn with_index(scenario: &Scenario) {
    let (mut consumer, ids) = batch(scenario, SubType::Shared).await;
    let id = MessageIdData {
        batch_index: Some(1),
        ..ids[1].clone()
    };
    scenario.observe("answer", consumer.ack(&[id]).await);
    scenario.observe("again", again(&mut consumer).await);
}

async fn cumulative(scenario: &Scenario) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("failover", SubType::Failover)] {
        let (mut consumer, ids) = batch(scenario, kind).await;
        let answer = consumer
            .ack_as(AckType::Cumulative, &[without(&ids[1], &[0, 1])])
            .await;
        scenario.observe(&format!("{name}.answer"), answer);
        scenario.observe(&format!("{name}.again"), again(&mut consumer).await);
        scenario.observe(&format!("{name}.last_id"), consumer.last_id().await);
    }
}
