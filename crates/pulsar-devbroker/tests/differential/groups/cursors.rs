//! Seek, last message id, unsubscribe.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{ASKED, Peer, ack, batch, last_id, subscribe};
use crate::seen;

fn seek(consumer_id: u64) -> CommandSeek {
    CommandSeek {
        consumer_id,
        request_id: ASKED,
        ..Default::default()
    }
}

fn unsubscribe(consumer_id: u64) -> CommandUnsubscribe {
    CommandUnsubscribe {
        consumer_id,
        request_id: ASKED,
        force: None,
    }
}

pub(super) async fn observe(lab: &Lab) {
    tokio::join!(seeks(lab), last_ids(lab), unsubscribing(lab));
}

async fn seeks(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("seeks").await;
    let mut peer = lab.peer(&topic).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    publisher.produces(&topic, 1).await;
    let start = seen::now();
    publisher.publish_all(1, &["a", "b", "c"]).await;
    peer.flow(1, 100).await;
    let ids = peer.ids(3).await;
    let edge = |ledger_id, entry_id| MessageIdData {
        ledger_id,
        entry_id,
        ..Default::default()
    };
    let seeks = [
        (
            "to_an_id",
            CommandSeek {
                message_id: Some(ids[1].clone()),
                ..seek(1)
            },
        ),
        (
            "to_the_start",
            CommandSeek {
                message_id: Some(edge(u64::MAX, u64::MAX)),
                ..seek(1)
            },
        ),
        (
            "to_the_end",
            CommandSeek {
                message_id: Some(edge(i64::MAX as u64, i64::MAX as u64)),
                ..seek(1)
            },
        ),
        (
            "to_a_time_before",
            CommandSeek {
                message_publish_time: Some(start - 1_000),
                ..seek(1)
            },
        ),
        (
            "to_a_time_after",
            CommandSeek {
                message_publish_time: Some(seen::now() + 60_000),
                ..seek(1)
            },
        ),
    ];
    for (name, command) in seeks {
        let path = |step: &str| format!("seek/{name}/{step}");
        lab.record.note(&path("frames"), peer.all_of(command).await);
        let again = peer.ask(subscribe(&topic, 1, SubType::Shared)).await;
        lab.record.note(&path("comes_again"), again["is"].clone());
        peer.flow(1, 100).await;
        lab.record.note(&path("delivered"), peer.deliveries().await);
    }
    let nowhere = seek(1);
    let unknown = CommandSeek {
        message_id: Some(ids[0].clone()),
        ..seek(99)
    };
    notes!(lab, "seek",
        "without_target" => peer.ask(nowhere).await,
        "unknown_consumer" => peer.ask(unknown).await,
    );
    // Others on the subscription are closed as well.
    let mut other = lab.peer(&topic).await;
    other.consumes(&topic, 2, SubType::Shared).await;
    let back = CommandSeek {
        message_id: Some(ids[0].clone()),
        ..seek(1)
    };
    peer.all_of(back).await;
    notes!(lab, "seek", "the_other_consumer" => other.all().await);
}

async fn last_ids(lab: &Lab) {
    let (mut peer, topic) = lab.scene("last").await;
    peer.consumes(&topic, 1, SubType::Exclusive).await;
    notes!(lab, "last_id",
        "empty" => peer.ask(last_id(1)).await,
        "unknown_consumer" => peer.ask(last_id(99)).await,
    );
    peer.produces(&topic, 1).await;
    peer.publish_all(1, &["a", "b"]).await;
    notes!(lab, "last_id", "single" => peer.ask(last_id(1)).await);
    peer.publish(1, batch(&["c", "d", "e"])).await;
    notes!(lab, "last_id", "batch" => peer.ask(last_id(1)).await);
    peer.flow(1, 100).await;
    let ids = peer.ids(3).await;
    peer.ask(ack(1, &ids[..2])).await;
    notes!(lab, "last_id", "after_acks" => peer.ask(last_id(1)).await);
    peer.ask(ack(1, &ids[2..])).await;
    notes!(lab, "last_id", "after_all_acks" => peer.ask(last_id(1)).await);
}

async fn unsubscribing(lab: &Lab) {
    let (mut peer, topic) = lab.scene("unsubscribing").await;
    let mut other = lab.peer(&topic).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    other.consumes(&topic, 2, SubType::Shared).await;
    notes!(lab, "unsubscribe",
        "unknown_consumer" => peer.ask(unsubscribe(99)).await,
        "with_others" => peer.ask(unsubscribe(1)).await,
        "the_connection_goes_on" => peer.ask(CommandPing {}).await,
    );
    let force = CommandUnsubscribe {
        force: Some(true),
        ..unsubscribe(2)
    };
    notes!(lab, "unsubscribe",
        "by_force" => other.all_of(force).await,
        "the_others" => peer.all().await,
    );
    let (mut peer, topic) = lab.scene("unsubscribing-alone").await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    peer.produces(&topic, 1).await;
    peer.publish_all(1, &["a"]).await;
    notes!(lab, "unsubscribe", "alone" => peer.ask(unsubscribe(1)).await);
    let mut peer = Peer::near(&lab.url, &topic).await;
    let latest = CommandSubscribe {
        initial_position: Some(InitialPosition::Latest as i32),
        ..subscribe(&topic, 2, SubType::Shared)
    };
    peer.ask(latest).await;
    peer.flow(2, 100).await;
    notes!(lab, "unsubscribe", "a_new_one_begins_anew" => peer.deliveries().await);
}
