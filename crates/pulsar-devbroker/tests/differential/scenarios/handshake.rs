//! CONNECT, and what comes before it.

use bytes::Bytes;
use pulsar_wire::Command;
use pulsar_wire::proto::*;
use serde_json::Value;

use super::consumer::{close, subscribe};
use super::publisher::producer;
use super::scenario::{Scenario, scenarios};
use crate::peer::hello;

scenarios![versions, options, before_connect, auth_response, pong];

/// Its name and what it advertises is looked at elsewhere.
fn welcome(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("server");
        fields.remove("flags");
    }
    answer
}

async fn versions(scenario: &Scenario) {
    for version in [Some(0), Some(5), Some(21), Some(99), None] {
        let mut peer = scenario.dial().await;
        let connect = CommandConnect {
            protocol_version: version,
            ..hello()
        };
        let name = version.map_or("unsaid".to_owned(), |version| version.to_string());
        scenario.observe(&name, welcome(peer.ask(connect).await));
    }
}

async fn options(scenario: &Scenario) {
    let with_flags = CommandConnect {
        feature_flags: Some(FeatureFlags {
            supports_auth_refresh: Some(true),
            supports_broker_entry_metadata: Some(true),
            supports_partial_producer: Some(true),
            supports_topic_watchers: Some(true),
            ..Default::default()
        }),
        ..hello()
    };
    let with_credentials = CommandConnect {
        auth_method_name: Some("token".into()),
        auth_data: Some(Bytes::from_static(b"secret")),
        ..hello()
    };
    let with_old_credentials = CommandConnect {
        auth_method: Some(1),
        ..hello()
    };
    let through_proxy = CommandConnect {
        proxy_to_broker_url: Some("broker.example:6650".into()),
        ..hello()
    };
    let from_proxy = CommandConnect {
        original_principal: Some("somebody".into()),
        proxy_version: Some("4.0.7".into()),
        ..hello()
    };
    let nameless = CommandConnect {
        client_version: String::new(),
        ..hello()
    };
    for (name, connect) in [
        ("feature_flags", with_flags),
        ("credentials", with_credentials),
        ("old_credentials", with_old_credentials),
        ("proxy_to_broker_url", through_proxy),
        ("from_proxy", from_proxy),
        ("no_client_version", nameless),
    ] {
        let mut peer = scenario.dial().await;
        scenario.observe(name, welcome(peer.ask(connect).await));
        scenario.observe(&format!("{name}.ping"), peer.ping().await);
    }
}

async fn before_connect(scenario: &Scenario) {
    let topic = scenario.topic();
    let lookup = CommandLookupTopic {
        topic: topic.clone(),
        request_id: 1,
        ..Default::default()
    };
    let partitions = CommandPartitionedTopicMetadata {
        topic: topic.clone(),
        request_id: 1,
        ..Default::default()
    };
    let commands: [(&str, Command); 7] = [
        ("lookup", lookup.into()),
        ("partitions", partitions.into()),
        ("producer", producer(&topic, 1).into()),
        ("subscribe", subscribe(&topic, SubType::Shared).into()),
        (
            "flow",
            CommandFlow {
                consumer_id: 1,
                message_permits: 1,
            }
            .into(),
        ),
        ("close_consumer", close(1, 1).into()),
        ("auth_response", CommandAuthResponse::default().into()),
    ];
    for (name, command) in commands {
        let mut peer = scenario.dial().await;
        peer.tell(command).await;
        scenario.observe(name, peer.next().await);
    }
}

async fn auth_response(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let response = AuthData {
        auth_method_name: Some("token".into()),
        auth_data: Some(Bytes::from_static(b"x")),
    };
    peer.tell(CommandAuthResponse {
        response: Some(response),
        ..Default::default()
    })
    .await;
    scenario.observe("answer", peer.all().await);
}

async fn pong(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    peer.tell(CommandPong {}).await;
    scenario.observe("then_ping", peer.ping().await);
}
