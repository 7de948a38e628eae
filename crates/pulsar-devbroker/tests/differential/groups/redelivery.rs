//! Redelivery and the count that consumers see.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{Peer, ack, close_consumer, redeliver, stats, subscribe};

const KINDS: [(&str, SubType); 4] = [
    ("exclusive", SubType::Exclusive),
    ("failover", SubType::Failover),
    ("shared", SubType::Shared),
    ("key_shared", SubType::KeyShared),
];

/// Three messages, delivered to the consumer 1, on a topic with a publisher of its own.
async fn three(lab: &Lab, kind: SubType) -> (Peer, String, Vec<MessageIdData>) {
    let (mut publisher, topic) = lab.scene("redelivery").await;
    let mut peer = lab.peer(&topic).await;
    peer.consumes(&topic, 1, kind).await;
    publisher.produces(&topic, 1).await;
    publisher.publish_all(1, &["a", "b", "c"]).await;
    peer.flow(1, 100).await;
    let ids = peer.ids(3).await;
    (peer, topic, ids)
}

pub(super) async fn observe(lab: &Lab) {
    tokio::join!(asked(lab), epochs(lab), leaving(lab), permits(lab));
}

async fn asked(lab: &Lab) {
    for (name, kind) in KINDS {
        let (mut peer, _, ids) = three(lab, kind).await;
        let path = |step: &str| format!("redelivery/{name}/{step}");
        peer.tell(redeliver(1, &ids[1..2])).await;
        lab.record.note(&path("one"), peer.deliveries().await);
        peer.tell(redeliver(1, &ids[1..2])).await;
        lab.record.note(&path("the_same_again"), peer.deliveries().await);
        peer.ask(ack(1, &ids[..1])).await;
        peer.tell(redeliver(1, &[])).await;
        lab.record
            .note(&path("all_but_the_acknowledged"), peer.deliveries().await);
        lab.record
            .note(&path("permits"), peer.ask(stats(1)).await["permits"].clone());
    }
}

/// A redelivery with an epoch: deliveries carry it from then on, where the type has one consumer.
async fn epochs(lab: &Lab) {
    for (name, kind) in KINDS {
        let (mut peer, _, _) = three(lab, kind).await;
        let with_epoch = CommandRedeliverUnacknowledgedMessages {
            consumer_epoch: Some(5),
            ..redeliver(1, &[])
        };
        peer.tell(with_epoch).await;
        lab.record
            .note(&format!("redelivery/epoch/{name}"), peer.next().await);
    }
}

async fn leaving(lab: &Lab) {
    for (name, kind) in KINDS {
        let path = |step: &str| format!("redelivery/leaving/{name}/{step}");
        let (mut peer, topic, ids) = three(lab, kind).await;
        peer.tell(redeliver(1, &ids[..1])).await;
        peer.deliveries().await;
        peer.ask(close_consumer(1)).await;
        peer.consumes(&topic, 2, kind).await;
        peer.flow(2, 100).await;
        lab.record.note(&path("the_last_closes"), peer.deliveries().await);
        drop(peer);
        let mut peer = lab.peer(&topic).await;
        // The broker may need a moment to see that the connection is gone.
        while peer.request(|_| subscribe(&topic, 3, kind)).await["is"] != "SUCCESS" {}
        peer.flow(3, 100).await;
        // Failover takes its time.
        peer.wait_for_message(3).await;
        let mut all = peer.deliveries().await;
        all.retain(|text| text != "ACTIVE_CONSUMER_CHANGE");
        lab.record.note(&path("its_connection_ends"), all);
    }
    for (name, kind) in [("shared", SubType::Shared), ("key_shared", SubType::KeyShared)] {
        let (mut peer, topic, ids) = three(lab, kind).await;
        peer.tell(redeliver(1, &ids)).await;
        peer.deliveries().await;
        let mut other = lab.peer(&topic).await;
        other.consumes(&topic, 2, kind).await;
        other.flow(2, 100).await;
        peer.ask(close_consumer(1)).await;
        let mut all = other.deliveries().await;
        all.sort();
        lab.record
            .note(&format!("redelivery/leaving/{name}/others_stay"), all);
    }
}

async fn permits(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("redelivery-permits").await;
    let mut peer = lab.peer(&topic).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    publisher.produces(&topic, 1).await;
    publisher.publish_all(1, &["a", "b"]).await;
    peer.flow(1, 2).await;
    let ids = peer.ids(2).await;
    peer.tell(redeliver(1, &ids)).await;
    notes!(lab, "redelivery/permits", "without" => peer.deliveries().await);
    peer.flow(1, 1).await;
    notes!(lab, "redelivery/permits", "one" => peer.deliveries().await);
    peer.flow(1, 5).await;
    notes!(lab, "redelivery/permits", "enough" => peer.deliveries().await);
    peer.tell(redeliver(99, &ids)).await;
    notes!(lab, "redelivery", "unknown_consumer" => peer.soon().await);
}
