//! Topics that are not kept, and figures of consumers.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{ack, batch, stats, text};

pub(super) async fn observe(lab: &Lab) {
    not_kept(lab).await;
    figures(lab).await;
}

async fn not_kept(lab: &Lab) {
    let topic = lab
        .topic("not-kept")
        .replace("persistent://", "non-persistent://");
    let (mut publisher, mut peer) = (lab.peer(&topic).await, lab.peer(&topic).await);
    publisher.produces(&topic, 1).await;
    notes!(lab, "non_persistent", "receipt_without_consumer" => publisher.publish(1, text(&["lost"])).await);
    peer.consumes(&topic, 1, SubType::Shared).await;
    notes!(lab, "non_persistent", "receipt_without_permits" => publisher.publish(1, text(&["lost too"])).await);
    notes!(lab, "non_persistent", "nothing_comes" => peer.soon().await);
    peer.flow(1, 10).await;
    notes!(lab, "non_persistent", "also_not_later" => peer.soon().await);
    notes!(lab, "non_persistent",
        "receipt_with_permits" => publisher.publish(1, text(&["now"])).await,
        "delivered" => peer.all().await,
        "batch_receipt" => publisher.publish(1, batch(&["a", "b"])).await,
        "batch_delivered" => peer.all().await,
    );
}

async fn figures(lab: &Lab) {
    let (mut peer, topic) = lab.scene("figures").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    notes!(lab, "stats", "at_first" => peer.ask(stats(1)).await);
    peer.publish_all(1, &["a", "b", "c"]).await;
    peer.flow(1, 2).await;
    let ids = peer.ids(2).await;
    notes!(lab, "stats", "two_delivered" => peer.ask(stats(1)).await);
    peer.ask(ack(1, &ids[..1])).await;
    notes!(lab, "stats",
        "one_acknowledged" => peer.ask(stats(1)).await,
        "unknown_consumer" => peer.ask(stats(99)).await,
    );
}
