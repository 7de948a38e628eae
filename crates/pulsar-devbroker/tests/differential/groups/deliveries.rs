//! Deliveries and permits.

use pulsar_wire::proto::*;
use serde_json::Value;

use super::{Lab, notes};
use crate::peer::{Peer, batch, stats};

pub(super) async fn observe(lab: &Lab) {
    permits(lab).await;
    debts(lab).await;
    wrong_flows(lab).await;
    spread(lab).await;
}

async fn permits(lab: &Lab) {
    for (name, kind) in [
        ("exclusive", SubType::Exclusive),
        ("shared", SubType::Shared),
        ("key_shared", SubType::KeyShared),
    ] {
        let (mut peer, topic) = lab.scene("permits").await;
        peer.produces(&topic, 1).await;
        peer.consumes(&topic, 1, kind).await;
        peer.publish_all(1, &["a", "b", "c"]).await;
        let path = |step: &str| format!("permits/{name}/{step}");
        lab.record.note(&path("none"), peer.soon().await);
        peer.flow(1, 2).await;
        lab.record.note(&path("two"), peer.all().await);
        lab.record.note(&path("stats"), stats_of(&mut peer).await);
        peer.flow(1, 1).await;
        lab.record.note(&path("one_more"), peer.deliveries().await);
        peer.flow(1, 5).await;
        lab.record.note(&path("more_than_there_is"), peer.soon().await);
        lab.record
            .note(&path("stats_at_the_end"), stats_of(&mut peer).await);
    }
}

/// The figures of the consumer 1, without its unacknowledged messages.
async fn stats_of(peer: &mut Peer) -> Value {
    let mut figures = peer.ask(stats(1)).await;
    // Exclusive subscriptions do not count them.
    figures.as_object_mut().expect("an object").remove("unacked");
    figures
}

async fn debts(lab: &Lab) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("shared", SubType::Shared)] {
        let (mut peer, topic) = lab.scene("debts").await;
        peer.produces(&topic, 1).await;
        peer.consumes(&topic, 1, kind).await;
        let path = |step: &str| format!("permits/batches_{name}/{step}");
        peer.flow(1, 2).await;
        // One by one: how many entries go out at once beyond the permits may differ.
        peer.publish(1, batch(&["a", "b", "c", "d", "e"])).await;
        peer.publish(1, batch(&["f", "g"])).await;
        let mut all = peer.deliveries().await;
        all.retain(|text| text != "SEND_RECEIPT");
        lab.record.note(&path("at_least_one"), all.first().cloned());
        let sent = if all.len() == 1 { 5 } else { 7 };
        let permits = peer.ask(stats(1)).await["permits"].as_i64().expect("permits");
        lab.record
            .note(&path("permits_are_paid_for"), permits == 2 - sent);
        peer.flow(1, u32::try_from(-permits).expect("a debt")).await;
        lab.record.note(
            &path("debt_paid"),
            all.len() == 2 || peer.soon().await["is"] == "nothing",
        );
        peer.flow(1, 1).await;
        lab.record.note(
            &path("beyond_the_debt"),
            all.len() == 2 || peer.soon().await["text"] == "f+g",
        );
    }
}

async fn wrong_flows(lab: &Lab) {
    let (mut peer, topic) = lab.scene("flows").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    peer.publish_all(1, &["a"]).await;
    peer.flow(99, 5).await;
    notes!(lab, "flow", "unknown_consumer" => peer.soon().await);
    notes!(lab, "flow", "connection_goes_on" => peer.ask(CommandPing {}).await);
    peer.flow(1, 0).await;
    notes!(lab, "flow", "zero" => peer.soon().await);
}

async fn spread(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("spread").await;
    let (mut one, mut other) = (lab.peer(&topic).await, lab.peer(&topic).await);
    one.consumes(&topic, 1, SubType::Shared).await;
    other.consumes(&topic, 2, SubType::Shared).await;
    one.flow(1, 1000).await;
    other.flow(2, 1000).await;
    publisher.produces(&topic, 1).await;
    let texts: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    for text in &texts {
        publisher.publish_all(1, &[text.as_str()]).await;
    }
    let (first, second) = (one.deliveries().await, other.deliveries().await);
    let mut all: Vec<_> = first.iter().chain(&second).cloned().collect();
    all.sort_by_key(|text| text.parse::<u32>().expect("a number"));
    notes!(lab, "distribution/shared",
        "each_once" => all == texts,
        "both_get_a_fair_part" => first.len() >= 20 && second.len() >= 20,
        "in_order_for_each" => [first, second].iter().all(|part| part.is_sorted_by_key(|text| text.parse::<u32>().expect("a number"))),
    );

    // One without permits gets nothing, and what it has not taken goes to the other.
    let (mut publisher, topic) = lab.scene("starving").await;
    let (mut one, mut other) = (lab.peer(&topic).await, lab.peer(&topic).await);
    one.consumes(&topic, 1, SubType::Shared).await;
    other.consumes(&topic, 2, SubType::Shared).await;
    other.flow(2, 10).await;
    publisher.produces(&topic, 1).await;
    publisher.publish_all(1, &["a", "b", "c"]).await;
    notes!(lab, "distribution/starving",
        "without_permits" => one.deliveries().await,
        "with_permits" => other.deliveries().await,
    );
    drop(publisher);
}
