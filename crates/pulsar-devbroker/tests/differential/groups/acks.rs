//! Acknowledgements.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{Peer, ack, batch, close_consumer, redeliver, stats, subscribe};

/// A topic with five messages, all delivered to the consumer 1.
async fn five(lab: &Lab, kind: SubType) -> (Peer, String, Vec<MessageIdData>) {
    let (mut peer, topic) = lab.scene("acks").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, kind).await;
    peer.publish_all(1, &["a", "b", "c", "d", "e"]).await;
    peer.flow(1, 100).await;
    let ids = peer.ids(5).await;
    (peer, topic, ids)
}

/// What a new consumer gets after the consumer 1 has gone.
async fn left(peer: &mut Peer, topic: &str, kind: SubType) -> Vec<String> {
    peer.ask(close_consumer(1)).await;
    peer.consumes(topic, 2, kind).await;
    peer.flow(2, 100).await;
    peer.deliveries().await
}

pub(super) async fn observe(lab: &Lab) {
    individual(lab).await;
    cumulative(lab).await;
    odd(lab).await;
    members(lab).await;
}

async fn individual(lab: &Lab) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("shared", SubType::Shared)] {
        let (mut peer, topic, ids) = five(lab, kind).await;
        let path = |step: &str| format!("acks/{name}/{step}");
        let silent = CommandAck {
            request_id: None,
            ..ack(1, &ids[..1])
        };
        peer.tell(silent).await;
        lab.record.note(&path("without_request"), peer.soon().await);
        lab.record
            .note(&path("in_the_middle"), peer.ask(ack(1, &ids[2..3])).await);
        lab.record
            .note(&path("again"), peer.ask(ack(1, &ids[2..3])).await);
        lab.record
            .note(&path("two_at_once"), peer.ask(ack(1, &ids[3..5])).await);
        lab.record
            .note(&path("backlog"), peer.ask(stats(1)).await["backlog"].clone());
        lab.record
            .note(&path("left"), left(&mut peer, &topic, kind).await);
    }
}

async fn cumulative(lab: &Lab) {
    for (name, kind) in [
        ("exclusive", SubType::Exclusive),
        ("failover", SubType::Failover),
        ("shared", SubType::Shared),
        ("key_shared", SubType::KeyShared),
    ] {
        let (mut peer, topic, ids) = five(lab, kind).await;
        let up_to = CommandAck {
            ack_type: AckType::Cumulative as i32,
            ..ack(1, &ids[2..3])
        };
        lab.record
            .note(&format!("acks/cumulative/{name}"), peer.ask(up_to).await);
        let left = left(&mut peer, &topic, kind).await;
        lab.record.note(&format!("acks/cumulative/{name}_left"), left);
    }
}

async fn odd(lab: &Lab) {
    let (mut peer, topic, ids) = five(lab, SubType::Shared).await;
    let foreign = MessageIdData {
        ledger_id: 1_000_000_000,
        ..ids[0].clone()
    };
    let transactional = CommandAck {
        txnid_least_bits: Some(1),
        txnid_most_bits: Some(1),
        ..ack(1, &ids[1..2])
    };
    notes!(lab, "acks/odd",
        "no_ids" => peer.ask(ack(1, &[])).await,
        "foreign_id" => peer.ask(ack(1, &[foreign])).await,
        "transaction" => peer.ask(transactional).await,
    );
    peer.tell(ack(99, &ids[..1])).await;
    notes!(lab, "acks/odd", "unknown_consumer" => peer.soon().await);
    let damaged = CommandAck {
        validation_error: Some(ValidationError::ChecksumMismatch as i32),
        ..ack(1, &ids[4..5])
    };
    notes!(lab, "acks/odd",
        "of_a_damaged_message" => peer.ask(damaged).await,
        "left" => left(&mut peer, &topic, SubType::Shared).await,
    );
}

/// One member of a batch of three, then all.
async fn members(lab: &Lab) {
    let (mut peer, topic) = lab.scene("members").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    peer.publish(1, batch(&["a", "b", "c"])).await;
    peer.flow(1, 100).await;
    let ids = peer.ids(1).await;
    let part = MessageIdData {
        batch_index: Some(0),
        batch_size: Some(3),
        // The bits of the members that are still open.
        ack_set: vec![0b110],
        ..ids[0].clone()
    };
    notes!(lab, "acks/batch",
        "one_member" => peer.ask(ack(1, std::slice::from_ref(&part))).await,
        "backlog" => peer.ask(stats(1)).await["backlog"].clone(),
    );
    peer.tell(redeliver(1, &ids)).await;
    notes!(lab, "acks/batch", "given_back" => peer.all().await);
    peer.ask(close_consumer(1)).await;
    notes!(lab, "acks/batch", "new_consumer" => peer.ask(subscribe(&topic, 2, SubType::Shared)).await);
    peer.flow(2, 100).await;
    notes!(lab, "acks/batch",
        "comes_whole" => peer.all().await,
        "whole" => peer.ask(ack(2, &ids)).await,
        "backlog_at_the_end" => peer.ask(stats(2)).await["backlog"].clone(),
    );
}
