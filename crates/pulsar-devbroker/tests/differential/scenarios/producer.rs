//! PRODUCER and CLOSE_PRODUCER.

use pulsar_wire::proto::*;

use super::consumer::shown;
use super::publisher::producer;
use super::scenario::{Scenario, scenarios};
use crate::peer::Peer;

scenarios![
    names,
    same_id,
    name_in_use,
    name_is_free_again,
    epochs,
    epochs_of_generated_names,
    exclusive,
    fencing,
    waiting,
    initial_subscription,
    options,
    refused,
    closing,
    last_sequence,
];

async fn open(peer: &mut Peer, command: CommandProducer) -> serde_json::Value {
    peer.request(|request_id| CommandProducer {
        request_id,
        ..command
    })
    .await
}

fn named(topic: &str, producer_id: u64, name: &str) -> CommandProducer {
    CommandProducer {
        producer_id,
        producer_name: Some(name.into()),
        ..producer(topic, 0)
    }
}

fn with_access(topic: &str, producer_id: u64, mode: ProducerAccessMode) -> CommandProducer {
    CommandProducer {
        producer_id,
        producer_access_mode: Some(mode as i32),
        ..producer(topic, 0)
    }
}

async fn names(scenario: &Scenario) {
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    scenario.observe("generated", open(&mut peer, producer(&topic, 0)).await);
    scenario.observe("own", open(&mut peer, named(&topic, 2, "mine")).await);
    scenario.observe("empty", open(&mut peer, named(&topic, 3, "")).await);
}

async fn same_id(scenario: &Scenario) {
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    scenario.observe("first", open(&mut peer, named(&topic, 1, "mine")).await);
    scenario.observe("again", open(&mut peer, named(&topic, 1, "mine")).await);
    scenario.observe(
        "again_with_another_name",
        open(&mut peer, named(&topic, 1, "other")).await,
    );
    let other = scenario.topic();
    scenario.observe(
        "again_on_another_topic",
        open(&mut peer, named(&other, 1, "mine")).await,
    );
}

async fn name_in_use(scenario: &Scenario) {
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    open(&mut peer, named(&topic, 1, "mine")).await;
    scenario.observe("same_connection", open(&mut peer, named(&topic, 2, "mine")).await);
    scenario.observe("same_connection.ping", peer.ping().await);
    let mut other = scenario.connect().await;
    scenario.observe(
        "other_connection",
        open(&mut other, named(&topic, 1, "mine")).await,
    );
    scenario.observe("other_connection.ping", other.ping().await);
    scenario.observe("first_hears", peer.soon().await);
}

async fn name_is_free_again(scenario: &Scenario) {
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    open(&mut peer, named(&topic, 1, "mine")).await;
    peer.request(|request_id| CommandCloseProducer {
        producer_id: 1,
        request_id,
        ..Default::default()
    })
    .await;
    scenario.observe("after_close", open(&mut peer, named(&topic, 2, "mine")).await);
}

async fn epochs(scenario: &Scenario) {
    let (topic, mut peer, mut other) = (
        scenario.topic(),
        scenario.connect().await,
        scenario.connect().await,
    );
    let with_epoch = |epoch| CommandProducer {
        epoch: Some(epoch),
        user_provided_producer_name: Some(true),
        ..named(&topic, 1, "mine")
    };
    scenario.observe("first", open(&mut peer, with_epoch(3)).await);
    scenario.observe("same", open(&mut other, with_epoch(3)).await);
    scenario.observe("higher", open(&mut other, with_epoch(4)).await);
    scenario.observe("lower", open(&mut other, with_epoch(2)).await);
    scenario.observe("first_hears", peer.soon().await);
}

async fn epochs_of_generated_names(scenario: &Scenario) {
    let (topic, mut peer, mut other) = (
        scenario.topic(),
        scenario.connect().await,
        scenario.connect().await,
    );
    let with_epoch = |epoch| CommandProducer {
        epoch: Some(epoch),
        user_provided_producer_name: Some(false),
        ..named(&topic, 1, "given-by-a-broker")
    };
    scenario.observe("first", open(&mut peer, with_epoch(3)).await);
    scenario.observe("same", open(&mut other, with_epoch(3)).await);
    scenario.observe("lower", open(&mut other, with_epoch(2)).await);
    scenario.observe("higher", open(&mut other, with_epoch(4)).await);
    scenario.observe("first_hears", peer.soon().await);
}

async fn exclusive(scenario: &Scenario) {
    use ProducerAccessMode::{Exclusive, Shared};
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    scenario.observe("free", open(&mut peer, with_access(&topic, 1, Exclusive)).await);
    scenario.observe("second", open(&mut peer, with_access(&topic, 2, Exclusive)).await);
    scenario.observe(
        "shared_beside_it",
        open(&mut peer, with_access(&topic, 3, Shared)).await,
    );
    peer.request(|request_id| CommandCloseProducer {
        producer_id: 1,
        request_id,
        ..Default::default()
    })
    .await;
    scenario.observe(
        "shared_after_it",
        open(&mut peer, with_access(&topic, 4, Shared)).await,
    );
    scenario.observe(
        "beside_shared",
        open(&mut peer, with_access(&topic, 5, Exclusive)).await,
    );
    peer.request(|request_id| CommandCloseProducer {
        producer_id: 4,
        request_id,
        ..Default::default()
    })
    .await;
    scenario.observe("again", open(&mut peer, with_access(&topic, 6, Exclusive)).await);
    peer.request(|request_id| CommandCloseProducer {
        producer_id: 6,
        request_id,
        ..Default::default()
    })
    .await;
    let with_epoch = |epoch| CommandProducer {
        topic_epoch: Some(epoch),
        ..with_access(&topic, 7, Exclusive)
    };
    scenario.observe("with_old_topic_epoch", open(&mut peer, with_epoch(0)).await);
    scenario.observe("with_topic_epoch", open(&mut peer, with_epoch(1)).await);
}

async fn fencing(scenario: &Scenario) {
    use ProducerAccessMode::{ExclusiveWithFencing, Shared};
    let (topic, mut peer, mut other) = (
        scenario.topic(),
        scenario.connect().await,
        scenario.connect().await,
    );
    open(&mut peer, with_access(&topic, 1, Shared)).await;
    scenario.observe(
        "beside_shared",
        open(&mut other, with_access(&topic, 1, ExclusiveWithFencing)).await,
    );
    scenario.observe("shared_one_hears", peer.soon().await);
    let mut third = scenario.connect().await;
    scenario.observe(
        "second",
        open(&mut third, with_access(&topic, 1, ExclusiveWithFencing)).await,
    );
    scenario.observe("first_hears", other.soon().await);
}

async fn waiting(scenario: &Scenario) {
    use ProducerAccessMode::{Shared, WaitForExclusive};
    let (topic, mut peer, mut other) = (
        scenario.topic(),
        scenario.connect().await,
        scenario.connect().await,
    );
    open(&mut peer, with_access(&topic, 1, Shared)).await;
    scenario.observe(
        "beside_shared",
        open(&mut other, with_access(&topic, 1, WaitForExclusive)).await,
    );
    scenario.observe("while_waiting", other.soon().await);
    peer.request(|request_id| CommandCloseProducer {
        producer_id: 1,
        request_id,
        ..Default::default()
    })
    .await;
    scenario.observe("when_free", other.next().await);
    let mut third = scenario.connect().await;
    scenario.observe(
        "second",
        open(&mut third, with_access(&topic, 1, WaitForExclusive)).await,
    );
    drop(other);
    scenario.observe("second_when_free", third.next().await);
}

async fn initial_subscription(scenario: &Scenario) {
    let topic = scenario.topic();
    let command = CommandProducer {
        initial_subscription_name: Some("sub".into()),
        ..producer(&topic, 0)
    };
    let mut peer = scenario.connect().await;
    scenario.observe("answer", open(&mut peer, command).await);
    drop(peer);
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish_many(2).await;
    let mut late = super::consumer::subscribe(&topic, SubType::Shared);
    late.initial_position = Some(InitialPosition::Latest as i32);
    let mut consumer = super::consumer::Consumer::attach(scenario.connect().await, late).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

async fn options(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let transactional = CommandProducer {
        txn_enabled: Some(true),
        ..producer(&scenario.topic(), 0)
    };
    scenario.observe("txn_enabled", open(&mut peer, transactional).await);
    let encrypted = CommandProducer {
        producer_id: 2,
        encrypted: Some(true),
        ..producer(&scenario.topic(), 0)
    };
    scenario.observe("encrypted", open(&mut peer, encrypted).await);
    let pair = KeyValue {
        key: "a".into(),
        value: "b".into(),
    };
    let described = CommandProducer {
        producer_id: 4,
        metadata: vec![pair],
        ..producer(&scenario.topic(), 0)
    };
    scenario.observe("metadata", open(&mut peer, described).await);
}

async fn refused(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    for (name, topic) in [
        ("unknown_namespace", "persistent://public/missing/orders"),
        ("unknown_tenant", "persistent://missing/default/orders"),
        ("bad_name", "volatile://public/default/orders"),
        ("empty", ""),
    ] {
        scenario.observe(name, open(&mut peer, producer(topic, 0)).await);
        scenario.observe(&format!("{name}.ping"), peer.ping().await);
    }
}

async fn closing(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    open(&mut peer, producer(&scenario.topic(), 0)).await;
    for name in ["known", "repeated"] {
        let close = |request_id| CommandCloseProducer {
            producer_id: 1,
            request_id,
            ..Default::default()
        };
        scenario.observe(name, peer.request(close).await);
    }
    let close = |request_id| CommandCloseProducer {
        producer_id: 77,
        request_id,
        ..Default::default()
    };
    scenario.observe("unknown", peer.request(close).await);
}

/// Without deduplication the broker keeps no sequence ids.
async fn last_sequence(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish_many(3).await;
    let mut peer = scenario.connect().await;
    scenario.observe("new_name", open(&mut peer, named(&topic, 1, "other")).await);
}
