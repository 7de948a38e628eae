//! Who may join a subscription.

use pulsar_wire::proto::*;
use serde_json::Value;

use super::consumer::subscribe;
use super::scenario::{KINDS, Scenario, scenarios};
use crate::peer::Peer;

scenarios![second, other_kind, kind_changes, sticky_ranges, key_shared_modes];

async fn attach(peer: &mut Peer, consumer_id: u64, command: CommandSubscribe) -> Value {
    peer.request(|request_id| CommandSubscribe {
        request_id,
        consumer_id,
        ..command
    })
    .await
}

async fn second(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let mut peer = scenario.connect().await;
        attach(&mut peer, 1, subscribe(&topic, kind)).await;
        scenario.observe(
            &format!("{name}.same_connection"),
            attach(&mut peer, 2, subscribe(&topic, kind)).await,
        );
        let mut other = scenario.connect().await;
        let answer = attach(&mut other, 1, subscribe(&topic, kind)).await;
        scenario.observe(&format!("{name}.other_connection"), answer);
    }
    let mut peer = scenario.connect().await;
    let topic = scenario.topic();
    attach(&mut peer, 1, subscribe(&topic, SubType::Exclusive)).await;
    attach(&mut peer, 2, subscribe(&topic, SubType::Exclusive)).await;
    scenario.observe("ping_after_refusal", peer.ping().await);
}

async fn other_kind(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let mut id = 0;
    for (present, first) in KINDS {
        let topic = scenario.topic();
        id += 1;
        attach(&mut peer, id, subscribe(&topic, first)).await;
        for (joining, second) in KINDS.into_iter().filter(|(_, kind)| *kind != first) {
            id += 1;
            let mut other = scenario.connect().await;
            let answer = attach(&mut other, id, subscribe(&topic, second)).await;
            scenario.observe(&format!("{joining}_on_{present}"), answer);
        }
    }
}

async fn kind_changes(scenario: &Scenario) {
    let topic = scenario.topic();
    for (name, kind) in KINDS {
        let mut consumer = scenario.consumer(&topic, kind).await;
        scenario.observe(name, consumer.close().await);
    }
}

fn sticky(topic: &str, ranges: &[(i32, i32)]) -> CommandSubscribe {
    let ranges = ranges.iter().map(|&(start, end)| IntRange { start, end });
    let meta = KeySharedMeta {
        key_shared_mode: KeySharedMode::Sticky as i32,
        hash_ranges: ranges.collect(),
        allow_out_of_order_delivery: None,
    };
    CommandSubscribe {
        key_shared_meta: Some(meta),
        ..subscribe(topic, SubType::KeyShared)
    }
}

/// What is refused leaves nothing, what is taken stays.
async fn sticky_ranges(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut peers = Vec::new();
    for (name, ranges) in [
        ("first", &[(0, 100)][..]),
        ("beside_it", &[(101, 200)]),
        ("overlapping", &[(150, 300)]),
        ("touching", &[(200, 300)]),
        ("same", &[(0, 100)]),
        ("around", &[(0, 65535)]),
        ("two_ranges", &[(300, 400), (500, 600)]),
        ("overlapping_one_of_two", &[(700, 800), (550, 560)]),
        ("none", &[]),
        ("backwards", &[(900, 800)]),
        ("beyond", &[(65000, 70000)]),
        ("overlapping_itself", &[(1000, 1100), (1050, 1200)]),
    ] {
        let mut peer = scenario.connect().await;
        scenario.observe(name, attach(&mut peer, 1, sticky(&topic, ranges)).await);
        peers.push(peer);
    }
}

async fn key_shared_modes(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut peer = scenario.connect().await;
    attach(&mut peer, 1, subscribe(&topic, SubType::KeyShared)).await;
    scenario.observe(
        "sticky_on_auto_split",
        attach(&mut peer, 2, sticky(&topic, &[(0, 100)])).await,
    );
    let loose = KeySharedMeta {
        key_shared_mode: KeySharedMode::AutoSplit as i32,
        hash_ranges: Vec::new(),
        allow_out_of_order_delivery: Some(true),
    };
    let loose = CommandSubscribe {
        key_shared_meta: Some(loose),
        ..subscribe(&topic, SubType::KeyShared)
    };
    scenario.observe("out_of_order_on_ordered", attach(&mut peer, 3, loose).await);
    let topic = scenario.topic();
    attach(&mut peer, 4, sticky(&topic, &[(0, 100)])).await;
    scenario.observe(
        "auto_split_on_sticky",
        attach(&mut peer, 5, subscribe(&topic, SubType::KeyShared)).await,
    );
}
