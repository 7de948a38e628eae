//! Subscriptions: where they begin, and who is refused.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{ack, close_consumer, subscribe};

const BEFORE_ALL: MessageIdData = MessageIdData {
    ledger_id: u64::MAX,
    entry_id: u64::MAX,
    partition: None,
    batch_index: None,
    ack_set: Vec::new(),
    batch_size: None,
    first_chunk_message_id: None,
};

fn reader(topic: &str, consumer_id: u64, start: Option<MessageIdData>) -> CommandSubscribe {
    CommandSubscribe {
        subscription: format!("reader-{consumer_id}"),
        durable: Some(false),
        start_message_id: start,
        ..subscribe(topic, consumer_id, SubType::Exclusive)
    }
}

pub(super) async fn observe(lab: &Lab) {
    positions(lab).await;
    readers(lab).await;
    refusals(lab).await;
}

async fn positions(lab: &Lab) {
    let (mut peer, topic) = lab.scene("positions").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, SubType::Exclusive).await;
    peer.publish_all(1, &["a", "b", "c"]).await;
    peer.flow(1, 10).await;
    let ids = peer.ids(3).await;
    peer.ask(ack(1, &ids[..1])).await;
    peer.ask(close_consumer(1)).await;
    let latest = CommandSubscribe {
        initial_position: Some(InitialPosition::Latest as i32),
        ..subscribe(&topic, 2, SubType::Exclusive)
    };
    notes!(lab, "subscribe/existing", "latest" => peer.ask(latest.clone()).await);
    peer.flow(2, 10).await;
    notes!(lab, "subscribe/existing", "delivered" => peer.deliveries().await);

    let other = |id| CommandSubscribe {
        subscription: format!("other-{id}"),
        consumer_id: id,
        ..latest.clone()
    };
    notes!(lab, "subscribe/new", "latest" => peer.ask(other(3)).await);
    peer.flow(3, 10).await;
    notes!(lab, "subscribe/new", "latest_delivered" => peer.deliveries().await);
    let from_id = CommandSubscribe {
        initial_position: Some(InitialPosition::Earliest as i32),
        start_message_id: Some(ids[2].clone()),
        ..other(4)
    };
    notes!(lab, "subscribe/new", "durable_with_start" => peer.ask(from_id).await);
    peer.flow(4, 10).await;
    notes!(lab, "subscribe/new", "durable_with_start_delivered" => peer.deliveries().await);
    notes!(lab, "subscribe/new", "same_number" => peer.ask(other(4)).await);
}

async fn readers(lab: &Lab) {
    let (mut peer, topic) = lab.scene("readers").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, SubType::Exclusive).await;
    peer.publish_all(1, &["a", "b", "c"]).await;
    peer.flow(1, 10).await;
    let ids = peer.ids(3).await;
    let after_all = MessageIdData {
        ledger_id: i64::MAX as u64,
        entry_id: i64::MAX as u64,
        ..BEFORE_ALL
    };
    let starts = [
        ("earliest", 2, Some(BEFORE_ALL)),
        ("second", 3, Some(ids[1].clone())),
        ("latest", 4, Some(after_all)),
        ("nowhere", 5, None),
    ];
    for (name, number, start) in starts {
        let opened = peer.ask(reader(&topic, number, start)).await;
        lab.record.note(&format!("reader/{name}"), opened);
        peer.flow(number, 10).await;
        lab.record
            .note(&format!("reader/{name}_delivered"), peer.deliveries().await);
    }
    let rollback = CommandSubscribe {
        start_message_rollback_duration_sec: Some(3600),
        ..reader(&topic, 6, None)
    };
    notes!(lab, "reader", "an_hour_ago" => peer.ask(rollback).await);
    peer.flow(6, 10).await;
    notes!(lab, "reader", "an_hour_ago_delivered" => peer.deliveries().await);
}

async fn refusals(lab: &Lab) {
    let (mut peer, topic) = lab.scene("refusals").await;
    let mut other = lab.peer(&topic).await;
    let absent = CommandSubscribe {
        force_topic_creation: Some(false),
        ..subscribe(&lab.topic("absent"), 50, SubType::Shared)
    };
    let unnamed = CommandSubscribe {
        subscription: String::new(),
        ..subscribe(&topic, 51, SubType::Shared)
    };
    let compacted = CommandSubscribe {
        subscription: "compacted".into(),
        read_compacted: Some(true),
        ..subscribe(&topic, 52, SubType::Shared)
    };
    notes!(lab, "subscribe/refused",
        "absent_topic" => peer.ask(absent).await,
        "no_name" => peer.ask(unnamed).await,
        "compacted_shared" => peer.ask(compacted).await,
        "unknown_namespace" => peer.ask(subscribe("persistent://public/nothing/x", 53, SubType::Shared)).await,
        "bad_topic" => peer.ask(subscribe("http://public/default/x", 54, SubType::Shared)).await,
    );
    notes!(lab, "busy",
        "exclusive" => peer.ask(subscribe(&topic, 1, SubType::Exclusive)).await,
        "second_exclusive" => other.ask(subscribe(&topic, 2, SubType::Exclusive)).await,
        "second_on_the_same_connection" => peer.ask(subscribe(&topic, 3, SubType::Exclusive)).await,
        "shared_beside_exclusive" => other.ask(subscribe(&topic, 4, SubType::Shared)).await,
        "failover_beside_exclusive" => other.ask(subscribe(&topic, 5, SubType::Failover)).await,
        "connection_after_errors" => other.ask(CommandPing {}).await,
        "close" => peer.ask(close_consumer(1)).await,
        "close_again" => peer.ask(close_consumer(1)).await,
        "close_unknown" => peer.ask(close_consumer(99)).await,
        "type_changes_when_nobody_is_there" => other.ask(subscribe(&topic, 6, SubType::Shared)).await,
        "key_shared_beside_shared" => peer.ask(subscribe(&topic, 7, SubType::KeyShared)).await,
        "exclusive_beside_shared" => peer.ask(subscribe(&topic, 8, SubType::Exclusive)).await,
        "shared_beside_shared" => peer.ask(subscribe(&topic, 9, SubType::Shared)).await,
    );
}
