//! Partitions of a topic and who serves it.

use pulsar_wire::proto::*;

use super::Lab;
use crate::peer::{ASKED, Peer, lookup};

fn partitions(topic: &str) -> CommandPartitionedTopicMetadata {
    CommandPartitionedTopicMetadata {
        topic: topic.into(),
        request_id: ASKED,
        ..Default::default()
    }
}

pub(super) async fn observe(lab: &Lab) {
    let mut peer = Peer::connect(&lab.url).await;
    let new = lab.topic("new");
    let short = new.rsplit('/').next().expect("a name");
    let names = [
        ("full", new.clone()),
        ("short", short.to_owned()),
        ("three_parts", format!("public/default/{short}")),
        ("partition", format!("{new}-partition-3")),
        (
            "non_persistent",
            new.replace("persistent://", "non-persistent://"),
        ),
        ("unknown_tenant", format!("persistent://nobody/default/{short}")),
        (
            "unknown_namespace",
            format!("persistent://public/nothing/{short}"),
        ),
        ("bad_domain", format!("http://public/default/{short}")),
        ("too_few_parts", format!("persistent://public/{short}")),
        ("two_parts", format!("public/{short}")),
        ("empty", String::new()),
    ];
    for (name, topic) in names {
        lab.record
            .note(&format!("partitions/{name}"), peer.ask(partitions(&topic)).await);
        lab.record
            .note(&format!("lookup/{name}"), peer.ask(lookup(&topic)).await);
    }

    let absent = CommandPartitionedTopicMetadata {
        metadata_auto_creation_enabled: Some(false),
        ..partitions(&lab.topic("absent"))
    };
    lab.record
        .note("partitions/absent_and_not_to_be_made", peer.ask(absent).await);
    let listener = CommandLookupTopic {
        advertised_listener_name: Some("nobody".into()),
        ..lookup(&new)
    };
    let mut answer = peer.ask(listener.clone()).await;
    for _ in 0..50 {
        // Pulsar answers lookups of a namespace together: perhaps it was that of another peer.
        if answer["response"] != "Connect" {
            break;
        }
        answer = peer.ask(listener.clone()).await;
    }
    lab.record.note("lookup/unknown_listener", answer);
    let authoritative = CommandLookupTopic {
        authoritative: Some(true),
        ..lookup(&new)
    };
    lab.record
        .note("lookup/authoritative", peer.ask(authoritative).await);
}
