//! Failover: who is active.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{Peer, close_consumer, subscribe};

pub(super) async fn observe(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("failover").await;
    let (mut one, mut other) = (lab.peer(&topic).await, lab.peer(&topic).await);
    one.tell(subscribe(&topic, 1, SubType::Failover)).await;
    let alone = settled(&mut one).await;
    one.flow(1, 100).await;
    publisher.produces(&topic, 1).await;
    publisher.publish_all(1, &["a"]).await;
    notes!(lab, "failover",
        "first" => alone.answers,
        "first_is_active" => alone.active,
        "first_delivery" => one.next().await,
    );

    // Which of the two is active follows from the topic's name, and how often they are told may differ: only that
    // one is active, that both know, and that it gets everything.
    other.tell(subscribe(&topic, 2, SubType::Failover)).await;
    let (first, second) = tokio::join!(settled(&mut one), settled(&mut other));
    let moved = second.active == Some(true);
    other.flow(2, 100).await;
    let taken = settled(&mut other).await.texts;
    notes!(lab, "failover",
        "who_joins_is_told" => second.active.is_some(),
        "who_was_active_knows" => first.active.unwrap_or(true) != moved,
        "who_takes_over_gets_what_is_open" => !moved || taken == ["a"],
    );
    publisher.publish_all(1, &["b"]).await;
    let (first, second) = tokio::join!(settled(&mut one), settled(&mut other));
    let (active, passive) = if moved { (second, first) } else { (first, second) };
    notes!(lab, "failover",
        "active_gets_all" => active.texts,
        "the_other_nothing" => passive.texts,
    );

    let (mut leaving, mut staying, id) = if moved { (other, one, 2) } else { (one, other, 1) };
    leaving.tell(close_consumer(id)).await;
    let next = settled(&mut staying).await;
    notes!(lab, "failover",
        "next_is_active" => next.active,
        "next_gets_what_is_open" => next.texts,
    );

    let (mut peer, topic) = lab.scene("not-failover").await;
    for (name, kind) in [
        ("exclusive", SubType::Exclusive),
        ("shared", SubType::Shared),
        ("key_shared", SubType::KeyShared),
    ] {
        let opened = peer.all_of(subscribe(&topic, 1, kind)).await;
        lab.record.note(&format!("failover/not_told/{name}"), opened);
        peer.ask(close_consumer(1)).await;
    }
}

/// What a consumer knows and has when nothing changes any more.
struct Settled {
    active: Option<bool>,
    answers: Vec<String>,
    /// With their redelivery counts.
    texts: Vec<String>,
}

async fn settled(peer: &mut Peer) -> Settled {
    let mut settled = Settled {
        active: None,
        answers: Vec::new(),
        texts: Vec::new(),
    };
    // A takeover waits for a second.
    for _ in 0..4 {
        let all = peer.all().await;
        for one in all.as_array().expect("a list") {
            let is = one["is"].as_str().expect("a name");
            match one["text"].as_str() {
                _ if is == "ACTIVE_CONSUMER_CHANGE" => settled.active = one["active"].as_bool(),
                None => settled.answers.push(is.to_owned()),
                Some(text) => {
                    let count = one
                        .get("redelivery_count")
                        .map_or(String::new(), |count| format!(" #{count}"));
                    settled.texts.push(format!("{text}{count}"));
                }
            }
        }
    }
    settled
}
