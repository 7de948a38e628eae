//! SUBSCRIBE and CLOSE_CONSUMER.

use pulsar_wire::proto::*;
use serde_json::Value;

use super::consumer::{Consumer, close, subscribe, texts};
use super::scenario::{KINDS, Scenario, scenarios};
use crate::peer::Peer;

scenarios![
    kinds,
    positions,
    existing,
    start_is_ignored,
    same_id,
    creation,
    odd_names,
    options,
    unknown_kind,
    names,
    closing
];

async fn attach(peer: &mut Peer, command: CommandSubscribe) -> Value {
    peer.request(|request_id| CommandSubscribe {
        request_id,
        ..command
    })
    .await
}

async fn kinds(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let mut peer = scenario.connect().await;
        scenario.observe(name, attach(&mut peer, subscribe(&scenario.topic(), kind)).await);
        scenario.observe(&format!("{name}.then"), peer.soon().await);
    }
}

async fn positions(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("before").await;
    let at = |name: &str, position: Option<InitialPosition>| CommandSubscribe {
        subscription: name.into(),
        initial_position: position.map(|position| position as i32),
        ..subscribe(&topic, SubType::Shared)
    };
    let mut consumers = Vec::new();
    for (name, position) in [
        ("earliest", Some(InitialPosition::Earliest)),
        ("latest", Some(InitialPosition::Latest)),
        ("unsaid", None),
    ] {
        consumers.push((
            name,
            Consumer::attach(scenario.connect().await, at(name, position)).await,
        ));
    }
    publisher.publish("after").await;
    for (name, mut consumer) in consumers {
        scenario.observe(name, texts(&consumer.everything().await));
    }
}

async fn existing(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let ids = publisher.publish_many(3).await;
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    consumer.flow(1).await;
    consumer.take(1).await;
    consumer.ack(&ids[..1]).await;
    consumer.close().await;
    for (name, position) in [
        ("latest", InitialPosition::Latest),
        ("earliest", InitialPosition::Earliest),
    ] {
        let command = CommandSubscribe {
            initial_position: Some(position as i32),
            ..subscribe(&topic, SubType::Exclusive)
        };
        let mut consumer = Consumer::attach(scenario.connect().await, command).await;
        scenario.observe(name, texts(&consumer.everything().await));
        consumer.close().await;
    }
}

/// A durable subscription begins where its initial position says.
async fn start_is_ignored(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let ids = publisher.publish_many(3).await;
    let command = CommandSubscribe {
        start_message_id: Some(ids[2].clone()),
        ..subscribe(&topic, SubType::Exclusive)
    };
    let mut consumer = Consumer::attach(scenario.connect().await, command).await;
    scenario.observe("deliveries", texts(&consumer.everything().await));
}

async fn same_id(scenario: &Scenario) {
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    attach(&mut peer, subscribe(&topic, SubType::Exclusive)).await;
    scenario.observe(
        "again",
        attach(&mut peer, subscribe(&topic, SubType::Exclusive)).await,
    );
    let other = CommandSubscribe {
        subscription: "other".into(),
        ..subscribe(&topic, SubType::Shared)
    };
    scenario.observe("for_another_subscription", attach(&mut peer, other).await);
}

async fn creation(scenario: &Scenario) {
    let (topic, mut peer) = (scenario.topic(), scenario.connect().await);
    let unforced = || CommandSubscribe {
        force_topic_creation: Some(false),
        ..subscribe(&topic, SubType::Shared)
    };
    scenario.observe("absent", attach(&mut peer, unforced()).await);
    scenario.observe("absent.ping", peer.ping().await);
    scenario.publisher(&topic).await;
    scenario.observe("present", attach(&mut peer, unforced()).await);
}

async fn odd_names(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    scenario.observe(
        "no_topic",
        attach(&mut peer, subscribe("", SubType::Shared)).await,
    );
    for (consumer_id, name, subscription) in [(2, "blank", "  "), (3, "with_slash_and_space", "a/b c")] {
        let command = CommandSubscribe {
            subscription: subscription.into(),
            consumer_id,
            ..subscribe(&scenario.topic(), SubType::Shared)
        };
        scenario.observe(name, attach(&mut peer, command).await);
    }
    scenario.observe("ping", peer.ping().await);
}

async fn options(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let compacted = |kind| CommandSubscribe {
        read_compacted: Some(true),
        ..subscribe(&scenario.topic(), kind)
    };
    scenario.observe(
        "read_compacted.shared",
        attach(&mut peer, compacted(SubType::Shared)).await,
    );
    scenario.observe(
        "read_compacted.key_shared",
        attach(&mut peer, compacted(SubType::KeyShared)).await,
    );
    let compacted = CommandSubscribe {
        consumer_id: 2,
        ..compacted(SubType::Exclusive)
    };
    scenario.observe("read_compacted.exclusive", attach(&mut peer, compacted).await);
    let replicated = CommandSubscribe {
        consumer_id: 3,
        replicate_subscription_state: Some(true),
        ..subscribe(&scenario.topic(), SubType::Shared)
    };
    scenario.observe("replicated", attach(&mut peer, replicated).await);
    let pair = KeyValue {
        key: "a".into(),
        value: "b".into(),
    };
    let described = CommandSubscribe {
        consumer_id: 4,
        metadata: vec![pair.clone()],
        subscription_properties: vec![pair],
        ..subscribe(&scenario.topic(), SubType::Shared)
    };
    scenario.observe("metadata", attach(&mut peer, described).await);
    let urgent = CommandSubscribe {
        consumer_id: 5,
        priority_level: Some(3),
        ..subscribe(&scenario.topic(), SubType::Shared)
    };
    scenario.observe("priority", attach(&mut peer, urgent).await);
}

async fn unknown_kind(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let command = CommandSubscribe {
        sub_type: 9,
        ..subscribe(&scenario.topic(), SubType::Shared)
    };
    scenario.observe("answer", attach(&mut peer, command).await);
}

/// Consumers of one subscription may share a name.
async fn names(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut one = scenario.named_consumer(&topic, SubType::Shared, "twin").await;
    let mut two = scenario.named_consumer(&topic, SubType::Shared, "twin").await;
    one.flow(1).await;
    publisher.publish("a").await;
    scenario.observe("one", texts(&one.take(1).await));
    two.flow(1).await;
    publisher.publish("b").await;
    scenario.observe("two", texts(&two.take(1).await));
}

async fn closing(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&scenario.topic(), SubType::Shared).await;
    scenario.observe("known", consumer.close().await);
    scenario.observe("repeated", consumer.close().await);
    scenario.observe(
        "unknown",
        consumer.peer.request(|request_id| close(77, request_id)).await,
    );
    let again = subscribe(&scenario.topic(), SubType::Shared);
    scenario.observe("id_is_free", attach(&mut consumer.peer, again).await);
}
