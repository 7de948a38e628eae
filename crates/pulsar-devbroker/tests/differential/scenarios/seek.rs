//! SEEK.

use pulsar_wire::proto::*;

use super::consumer::{Consumer, ids, shown, subscribe, texts};
use super::publisher::PUBLISHED;
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![
    to_id,
    to_ends,
    to_time,
    in_batch,
    refused,
    all_consumers,
    of_reader,
    acked_before
];

const EARLIEST: (u64, u64) = (u64::MAX, u64::MAX);
const LATEST: (u64, u64) = (i64::MAX as u64, i64::MAX as u64);

fn id((ledger_id, entry_id): (u64, u64)) -> MessageIdData {
    MessageIdData {
        ledger_id,
        entry_id,
        ..Default::default()
    }
}

/// What the consumer gets that comes back.
async fn after(scenario: &Scenario, topic: &str, kind: SubType) -> Vec<String> {
    let mut consumer = scenario.consumer(topic, kind).await;
    let seen = shown(&consumer.everything().await);
    consumer.close().await;
    seen
}

async fn four(scenario: &Scenario, topic: &str, kind: SubType) -> (Consumer, Vec<MessageIdData>) {
    let ids = scenario.publisher(topic).await.publish_many(4).await;
    let mut consumer = scenario.consumer(topic, kind).await;
    consumer.flow(4).await;
    consumer.take(4).await;
    (consumer, ids)
}

async fn to_id(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let (mut consumer, ids) = four(scenario, &topic, kind).await;
        // The active consumer of Failover was told that it is.
        consumer.peer.clear();
        scenario.observe(
            &format!("{name}.answer"),
            consumer.seek(Some(ids[2].clone()), None).await,
        );
        scenario.observe(&format!("{name}.after"), after(scenario, &topic, kind).await);
    }
}

async fn to_ends(scenario: &Scenario) {
    for (name, target) in [
        ("earliest", EARLIEST),
        ("latest", LATEST),
        ("unknown_ledger", (1 << 40, 0)),
    ] {
        let topic = scenario.topic();
        let (mut consumer, ids) = four(scenario, &topic, SubType::Exclusive).await;
        consumer.ack(&ids).await;
        scenario.observe(
            &format!("{name}.answer"),
            consumer.seek(Some(id(target)), None).await,
        );
        scenario.observe(
            &format!("{name}.after"),
            after(scenario, &topic, SubType::Exclusive).await,
        );
    }
    let topic = scenario.topic();
    let (mut consumer, ids) = four(scenario, &topic, SubType::Exclusive).await;
    let beyond = MessageIdData {
        entry_id: 1000,
        ..ids[0].clone()
    };
    scenario.observe("beyond_the_end.answer", consumer.seek(Some(beyond), None).await);
    scenario.observe(
        "beyond_the_end.after",
        after(scenario, &topic, SubType::Exclusive).await,
    );
}

/// The time that the publisher named.
async fn to_time(scenario: &Scenario) {
    for (name, time) in [
        ("zero", 0),
        ("then", PUBLISHED + 200),
        ("between", PUBLISHED + 150),
        ("future", PUBLISHED * 2),
    ] {
        let topic = scenario.topic();
        let mut publisher = scenario.publisher(&topic).await;
        for index in 0..4 {
            let (send, mut metadata) = publisher.message(MessageMetadata::default());
            metadata.publish_time = PUBLISHED + 100 * index;
            publisher
                .raw(&pulsar_wire::encode_send(
                    &send,
                    &metadata,
                    format!("m{index}").as_bytes(),
                ))
                .await;
        }
        let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
        scenario.observe(&format!("{name}.answer"), consumer.seek(None, Some(time)).await);
        scenario.observe(
            &format!("{name}.after"),
            after(scenario, &topic, SubType::Exclusive).await,
        );
    }
}

async fn in_batch(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("before").await;
    let id = publisher
        .publish_batch(MessageMetadata::default(), &["a", "b", "c"])
        .await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(10).await;
    let seen = consumer.take(2).await;
    consumer.ack(&ids(&seen)).await;
    let target = MessageIdData {
        batch_index: Some(1),
        ack_set: vec![0b110],
        ..id
    };
    scenario.observe("answer", consumer.seek(Some(target), None).await);
    scenario.observe("after", after(scenario, &topic, SubType::Shared).await);
}

async fn refused(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&scenario.topic(), SubType::Shared).await;
    scenario.observe("without_target", consumer.seek(None, None).await);
    let unknown = |request_id| CommandSeek {
        consumer_id: 77,
        request_id,
        message_id: Some(id(EARLIEST)),
        ..Default::default()
    };
    scenario.observe("unknown_consumer", consumer.peer.request(unknown).await);
    scenario.observe("ping", consumer.peer.ping().await);
}

async fn all_consumers(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.consumer(&topic, SubType::Shared).await;
    let mut two = scenario.consumer(&topic, SubType::Shared).await;
    scenario.observe("answer", one.seek(Some(id(EARLIEST)), None).await);
    scenario.observe("other_hears", two.peer.next().await);
    let again = subscribe(&topic, SubType::Shared);
    let answer = one
        .peer
        .request(|request_id| CommandSubscribe { request_id, ..again })
        .await;
    scenario.observe("comes_back", answer);
}

async fn of_reader(scenario: &Scenario) {
    let topic = scenario.topic();
    scenario.publisher(&topic).await.publish_many(3).await;
    let reader = CommandSubscribe {
        durable: Some(false),
        start_message_id: Some(id(LATEST)),
        ..subscribe(&topic, SubType::Exclusive)
    };
    let mut consumer = Consumer::attach(scenario.connect().await, reader).await;
    scenario.observe("answer", consumer.seek(Some(id(EARLIEST)), None).await);
    let again = CommandSubscribe {
        durable: Some(false),
        start_message_id: Some(id(LATEST)),
        ..subscribe(&topic, SubType::Exclusive)
    };
    consumer
        .peer
        .request(|request_id| CommandSubscribe { request_id, ..again })
        .await;
    scenario.observe("after", texts(&consumer.everything().await));
}

/// What was acknowledged behind the target comes again too.
async fn acked_before(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut consumer, ids) = four(scenario, &topic, SubType::Shared).await;
    consumer.ack(&[ids[1].clone(), ids[3].clone()]).await;
    consumer.redeliver(&ids[2..3]).await;
    consumer.seek(Some(ids[1].clone()), None).await;
    scenario.observe("after", after(scenario, &topic, SubType::Shared).await);
}
