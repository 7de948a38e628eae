//! Delayed delivery.

use std::time::{Duration, Instant};

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{Letter, close_consumer, text};
use crate::seen;

fn in_ms<'a>(texts: &'a [&'a str; 1], delay: i64) -> Letter<'a> {
    let now = i64::try_from(seen::now()).expect("this age");
    Letter {
        deliver_at: Some(now + delay),
        ..text(texts)
    }
}

pub(super) async fn observe(lab: &Lab) {
    let kinds = [
        ("exclusive", SubType::Exclusive),
        ("failover", SubType::Failover),
        ("shared", SubType::Shared),
        ("key_shared", SubType::KeyShared),
    ];
    for (name, kind) in kinds {
        let (mut publisher, topic) = lab.scene("delays").await;
        let mut peer = lab.peer(&topic).await;
        peer.consumes(&topic, 1, kind).await;
        peer.flow(1, 100).await;
        publisher.produces(&topic, 1).await;
        let start = Instant::now();
        publisher.publish(1, in_ms(&["late"], 4_000)).await;
        publisher.publish(1, text(&["now"])).await;
        publisher.publish(1, in_ms(&["past"], -10_000)).await;
        let path = |step: &str| format!("delay/{name}/{step}");
        if kind == SubType::Failover {
            // The first delivery of Failover has a wait of its own.
            peer.next().await;
            peer.next().await;
            lab.record.note(&path("third"), peer.next().await);
            continue;
        }
        lab.record.note(&path("at_once"), peer.deliveries().await);
        if kind == SubType::Exclusive {
            continue;
        }
        let late = peer.next().await;
        let took = start.elapsed();
        lab.record.note(&path("late"), late);
        let in_time = took >= Duration::from_secs(3) && took < Duration::from_secs(9);
        lab.record.note(&path("late_in_time"), in_time);
    }

    let (mut publisher, topic) = lab.scene("short-delay").await;
    let mut peer = lab.peer(&topic).await;
    peer.consumes(&topic, 1, SubType::Shared).await;
    peer.flow(1, 100).await;
    publisher.produces(&topic, 1).await;
    let due = Letter {
        batch: true,
        texts: &["a", "b"],
        ..in_ms(&[""], 4_000)
    };
    publisher.publish(1, due).await;
    notes!(lab, "delay/batch", "at_once" => peer.deliveries().await);
    // Who leaves and comes back does not get it earlier.
    peer.ask(close_consumer(1)).await;
    peer.consumes(&topic, 2, SubType::Shared).await;
    peer.flow(2, 100).await;
    notes!(lab, "delay/batch",
        "after_coming_back" => peer.deliveries().await,
        "late" => peer.next().await,
    );
}
