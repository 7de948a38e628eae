//! Key_Shared: keys and their owners.

use std::collections::BTreeMap;

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{Letter, Peer, ack, close_consumer, redeliver, subscribe, text};

fn keyed<'a>(texts: &'a [&'a str; 1], key: &'a str) -> Letter<'a> {
    Letter {
        key: Some(key),
        ..text(texts)
    }
}

fn sticky(topic: &str, consumer_id: u64, ranges: &[(i32, i32)]) -> CommandSubscribe {
    CommandSubscribe {
        key_shared_meta: Some(KeySharedMeta {
            key_shared_mode: KeySharedMode::Sticky as i32,
            hash_ranges: ranges
                .iter()
                .map(|&(start, end)| IntRange { start, end })
                .collect(),
            allow_out_of_order_delivery: None,
        }),
        ..subscribe(topic, consumer_id, SubType::KeyShared)
    }
}

const KEYS: usize = 20;

pub(super) async fn observe(lab: &Lab) {
    tokio::join!(owners(lab), joining(lab), nacks(lab), ranges(lab));
}

/// Publishes `rounds` messages for each key: `KEY-ROUND`.
async fn publish(publisher: &mut Peer, rounds: std::ops::Range<usize>) {
    for round in rounds {
        for key in 0..KEYS {
            let (key, name) = (format!("k{key}"), format!("k{key}-{round}"));
            publisher.publish(1, keyed(&[&name], &key)).await;
        }
    }
}

/// The rounds by key, in the order in which they came.
fn by_key(texts: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut keys = BTreeMap::<_, Vec<_>>::new();
    for text in texts {
        let (key, round) = text.split_once('-').expect("a key and a round");
        keys.entry(key.to_owned()).or_default().push(round.to_owned());
    }
    keys
}

async fn owners(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("keys").await;
    let (mut one, mut other) = (lab.peer(&topic).await, lab.peer(&topic).await);
    one.consumes(&topic, 1, SubType::KeyShared).await;
    other.consumes(&topic, 2, SubType::KeyShared).await;
    one.flow(1, 1000).await;
    other.flow(2, 1000).await;
    publisher.produces(&topic, 1).await;
    publish(&mut publisher, 0..3).await;
    let (first, second) = (by_key(&one.deliveries().await), by_key(&other.deliveries().await));
    let in_order =
        |keys: &BTreeMap<String, Vec<String>>| keys.values().all(|rounds| rounds == &["0", "1", "2"]);
    notes!(lab, "key_shared/owners",
        "each_key_has_one" => first.len() + second.len() == KEYS && first.keys().all(|key| !second.contains_key(key)),
        "in_order" => in_order(&first) && in_order(&second),
        "both_own_some" => !first.is_empty() && !second.is_empty(),
    );
    // The one leaves: its open messages go to the other, in order, with the count they had.
    one.ask(close_consumer(1)).await;
    let taken = other.deliveries().await;
    notes!(lab, "key_shared/owners",
        "leaving_hands_over_all" => by_key(&taken) == first,
        "counts_are_unchanged" => taken.iter().all(|text| !text.contains('#')),
    );

    let (mut publisher, topic) = lab.scene("ordering").await;
    let (mut one, mut other) = (lab.peer(&topic).await, lab.peer(&topic).await);
    one.consumes(&topic, 1, SubType::KeyShared).await;
    other.consumes(&topic, 2, SubType::KeyShared).await;
    one.flow(1, 1000).await;
    other.flow(2, 1000).await;
    publisher.produces(&topic, 1).await;
    for n in 0..10 {
        let (name, key) = (n.to_string(), format!("k{n}"));
        let texts = [name.as_str()];
        let letter = Letter {
            ordering_key: Some("same"),
            ..keyed(&texts, &key)
        };
        publisher.publish(1, letter).await;
    }
    let (first, second) = (one.deliveries().await, other.deliveries().await);
    notes!(lab, "key_shared", "ordering_key_counts_first" => first.is_empty() || second.is_empty());
    for n in 0..40 {
        publisher.publish(1, text(&[&n.to_string()])).await;
    }
    let (first, second) = (one.deliveries().await, other.deliveries().await);
    notes!(lab, "key_shared", "without_keys_they_spread" => !first.is_empty() && !second.is_empty());
}

/// Keys that move to a newcomer wait until the old owner has acknowledged what it has of them.
async fn joining(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("joining").await;
    let (mut one, mut other) = (lab.peer(&topic).await, lab.peer(&topic).await);
    one.consumes(&topic, 1, SubType::KeyShared).await;
    one.flow(1, 1000).await;
    publisher.produces(&topic, 1).await;
    publish(&mut publisher, 0..1).await;
    let ids = one.ids(KEYS).await;
    other.consumes(&topic, 2, SubType::KeyShared).await;
    other.flow(2, 1000).await;
    publish(&mut publisher, 1..2).await;
    let (kept, early) = (by_key(&one.deliveries().await), other.deliveries().await);
    notes!(lab, "key_shared/joining",
        "moved_keys_wait" => early,
        "some_stay_and_flow" => !kept.is_empty() && kept.len() < KEYS,
    );
    one.ask(ack(1, &ids)).await;
    let moved = by_key(&other.deliveries().await);
    notes!(lab, "key_shared/joining",
        "moved_keys_flow_after_the_acks" => kept.len() + moved.len() == KEYS,
        "nothing_else" => one.soon().await,
    );
}

async fn nacks(lab: &Lab) {
    let (mut publisher, topic) = lab.scene("key-nacks").await;
    let mut peer = lab.peer(&topic).await;
    peer.consumes(&topic, 1, SubType::KeyShared).await;
    peer.flow(1, 100).await;
    publisher.produces(&topic, 1).await;
    for name in ["a", "b", "c"] {
        publisher.publish(1, keyed(&[name], "one")).await;
    }
    let ids = peer.ids(3).await;
    peer.tell(redeliver(1, &ids[..1])).await;
    notes!(lab, "key_shared/nack", "only_that_one" => peer.deliveries().await);
    publisher.publish(1, keyed(&["d"], "one")).await;
    notes!(lab, "key_shared/nack", "newer_ones_go_on" => peer.deliveries().await);
}

async fn ranges(lab: &Lab) {
    let (mut peer, topic) = lab.scene("ranges").await;
    notes!(lab, "key_shared/sticky",
        "first" => peer.ask(sticky(&topic, 1, &[(0, 9_999)])).await,
        "beside" => peer.ask(sticky(&topic, 2, &[(10_000, 65_535)])).await,
        "overlapping" => peer.ask(sticky(&topic, 3, &[(5_000, 6_000)])).await,
        "other_mode" => peer.ask(subscribe(&topic, 4, SubType::KeyShared)).await,
        "close" => peer.ask(close_consumer(1)).await,
        "free_again" => peer.ask(sticky(&topic, 5, &[(5_000, 6_000)])).await,
    );
    let (mut peer, topic) = lab.scene("no-ranges").await;
    notes!(lab, "key_shared/sticky", "no_ranges" => peer.ask(sticky(&topic, 1, &[])).await);
    let (mut peer, topic) = lab.scene("wrong-ranges").await;
    notes!(lab, "key_shared/sticky", "turned_around" => peer.ask(sticky(&topic, 1, &[(9, 3)])).await);
    let (mut peer, topic) = lab.scene("auto-first").await;
    peer.consumes(&topic, 1, SubType::KeyShared).await;
    notes!(lab, "key_shared/sticky", "beside_auto_split" => peer.ask(sticky(&topic, 2, &[(0, 9)])).await);

    // A message of a range that nobody has waits for its owner.
    let (mut publisher, topic) = lab.scene("unowned").await;
    let mut peer = lab.peer(&topic).await;
    peer.ask(sticky(&topic, 1, &[(0, 0)])).await;
    peer.flow(1, 100).await;
    publisher.produces(&topic, 1).await;
    publisher.publish(1, keyed(&["a"], "k")).await;
    notes!(lab, "key_shared/sticky", "nobody_s_key" => peer.soon().await);
    let mut other = lab.peer(&topic).await;
    other.ask(sticky(&topic, 2, &[(1, 65_535)])).await;
    other.flow(2, 100).await;
    notes!(lab, "key_shared/sticky", "its_owner_came" => other.deliveries().await);
}
