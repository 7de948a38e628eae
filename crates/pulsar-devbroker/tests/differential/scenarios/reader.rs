//! Subscriptions that are not durable, as readers use.

use pulsar_wire::proto::*;

use super::consumer::{Consumer, shown, subscribe, texts};
use super::scenario::{Scenario, scenarios};

scenarios![
    starts,
    starts_beyond,
    batches,
    live,
    rollback,
    is_forgotten,
    beside_durable,
    acks
];

const EARLIEST: MessageIdData = at(u64::MAX, u64::MAX);
const LATEST: MessageIdData = at(i64::MAX as u64, i64::MAX as u64);

const fn at(ledger_id: u64, entry_id: u64) -> MessageIdData {
    MessageIdData {
        ledger_id,
        entry_id,
        partition: None,
        batch_index: None,
        ack_set: Vec::new(),
        batch_size: None,
        first_chunk_message_id: None,
    }
}

fn reader(topic: &str, name: &str, start: Option<MessageIdData>) -> CommandSubscribe {
    CommandSubscribe {
        subscription: name.into(),
        durable: Some(false),
        start_message_id: start,
        initial_position: None,
        ..subscribe(topic, SubType::Exclusive)
    }
}

async fn starts(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let ids = publisher.publish_many(4).await;
    let far = at(ids[0].ledger_id, 1000);
    let early = at(ids[0].ledger_id, u64::MAX);
    for (name, start) in [
        ("earliest", Some(EARLIEST)),
        ("latest", Some(LATEST)),
        ("first", Some(ids[0].clone())),
        ("third", Some(ids[2].clone())),
        ("last", Some(ids[3].clone())),
        ("beyond_the_end", Some(far)),
        ("before_the_ledger", Some(early)),
        ("other_ledger_before", Some(at(0, 0))),
        ("none", None),
    ] {
        let mut consumer = Consumer::attach(scenario.connect().await, reader(&topic, name, start)).await;
        scenario.observe(name, shown(&consumer.everything().await));
        consumer.close().await;
    }
}

/// Behind the end the initial position decides after all.
async fn starts_beyond(scenario: &Scenario) {
    let topic = scenario.topic();
    let ids = scenario.publisher(&topic).await.publish_many(3).await;
    let far = at(ids[0].ledger_id, 1000);
    for (name, start) in [
        ("latest", LATEST),
        ("beyond_the_end", far),
        ("last", ids[2].clone()),
    ] {
        let earliest = CommandSubscribe {
            initial_position: Some(InitialPosition::Earliest as i32),
            ..reader(&topic, name, Some(start))
        };
        let mut consumer = Consumer::attach(scenario.connect().await, earliest).await;
        scenario.observe(name, texts(&consumer.everything().await));
    }
}

async fn batches(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("first").await;
    let id = publisher
        .publish_batch(MessageMetadata::default(), &["a", "b", "c"])
        .await;
    publisher.publish("last").await;
    for index in [0, 1, 2] {
        let start = MessageIdData {
            batch_index: Some(index),
            ..id.clone()
        };
        let mut consumer = Consumer::attach(
            scenario.connect().await,
            reader(&topic, &format!("reader-{index}"), Some(start)),
        )
        .await;
        scenario.observe(&format!("index_{index}"), shown(&consumer.everything().await));
        consumer.close().await;
    }
}

async fn live(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("old").await;
    let mut consumer =
        Consumer::attach(scenario.connect().await, reader(&topic, "reader", Some(LATEST))).await;
    consumer.flow(10).await;
    scenario.observe("before", consumer.peer.soon().await);
    publisher.publish("new").await;
    scenario.observe("after", shown(&consumer.take(1).await));
}

async fn rollback(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish_many(2).await;
    for (name, seconds, start) in [
        ("an_hour", 3600, None),
        ("an_hour_from_latest", 3600, Some(LATEST)),
    ] {
        let command = CommandSubscribe {
            start_message_rollback_duration_sec: Some(seconds),
            ..reader(&topic, name, start)
        };
        let mut consumer = Consumer::attach(scenario.connect().await, command).await;
        scenario.observe(name, texts(&consumer.everything().await));
        consumer.close().await;
    }
}

async fn is_forgotten(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish_many(2).await;
    let mut consumer =
        Consumer::attach(scenario.connect().await, reader(&topic, "reader", Some(EARLIEST))).await;
    consumer.flow(1).await;
    let ids = super::consumer::ids(&consumer.take(1).await);
    consumer.ack(&ids).await;
    consumer.close().await;
    let mut consumer =
        Consumer::attach(scenario.connect().await, reader(&topic, "reader", Some(EARLIEST))).await;
    scenario.observe("comes_back", texts(&consumer.everything().await));
}

async fn beside_durable(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut durable = scenario.consumer(&topic, SubType::Shared).await;
    let mut peer = scenario.connect().await;
    let reader = CommandSubscribe {
        subscription: "sub".into(),
        sub_type: SubType::Shared as i32,
        ..reader(&topic, "sub", None)
    };
    let ask = |request_id| CommandSubscribe {
        request_id,
        ..reader.clone()
    };
    scenario.observe("while_attached", peer.request(ask).await);
    durable.close().await;
    scenario.observe("while_not_attached", peer.request(ask).await);
    let only = subscribe(&topic, SubType::Shared);
    let volatile = CommandSubscribe {
        consumer_id: 2,
        subscription: "only".into(),
        ..reader.clone()
    };
    peer.request(|request_id| CommandSubscribe {
        request_id,
        ..volatile
    })
    .await;
    let durable = CommandSubscribe {
        consumer_id: 3,
        subscription: "only".into(),
        ..only
    };
    scenario.observe(
        "durable_beside_it",
        peer.request(|request_id| CommandSubscribe {
            request_id,
            ..durable
        })
        .await,
    );
}

async fn acks(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let ids = publisher.publish_many(3).await;
    let mut consumer =
        Consumer::attach(scenario.connect().await, reader(&topic, "reader", Some(EARLIEST))).await;
    consumer.flow(3).await;
    consumer.take(3).await;
    scenario.observe(
        "cumulative",
        consumer.ack_as(AckType::Cumulative, &ids[..2]).await,
    );
    consumer.redeliver(&[]).await;
    scenario.observe("after_redeliver", shown(&consumer.everything().await));
    scenario.observe("last_id", consumer.last_id().await);
}
