//! Producers: names, numbers, access modes.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{SUB, close_producer, producer, stats, subscribe, text};

fn named(topic: &str, producer_id: u64, name: &str) -> CommandProducer {
    CommandProducer {
        producer_name: Some(name.into()),
        user_provided_producer_name: Some(true),
        ..producer(topic, producer_id)
    }
}

fn with_mode(topic: &str, producer_id: u64, mode: ProducerAccessMode) -> CommandProducer {
    CommandProducer {
        producer_access_mode: Some(mode as i32),
        ..producer(topic, producer_id)
    }
}

pub(super) async fn observe(lab: &Lab) {
    names(lab).await;
    modes(lab).await;
    waiting(lab).await;
    initial_subscription(lab).await;
}

async fn names(lab: &Lab) {
    let (mut peer, topic) = lab.scene("names").await;
    let mut other = lab.peer(&topic).await;
    notes!(lab, "producer",
        "first" => peer.ask(producer(&topic, 1)).await,
        "same_number" => peer.ask(producer(&topic, 1)).await,
        "named" => peer.ask(named(&topic, 2, "billing")).await,
        "name_in_use" => peer.ask(named(&topic, 3, "billing")).await,
        "name_in_use_elsewhere" => other.ask(named(&topic, 4, "billing")).await,
        "name_in_use_higher_epoch" => other.ask(CommandProducer {
            epoch: Some(9),
            ..named(&topic, 5, "billing")
        }).await,
        "encrypted" => peer.ask(CommandProducer {
            encrypted: Some(true),
            ..producer(&topic, 6)
        }).await,
        "with_transactions" => peer.ask(CommandProducer {
            txn_enabled: Some(true),
            ..producer(&topic, 7)
        }).await,
        "connection_after_errors" => other.ask(CommandPing {}).await,
        "close" => peer.ask(close_producer(2)).await,
        "close_again" => peer.ask(close_producer(2)).await,
        "close_unknown" => peer.ask(close_producer(99)).await,
        "name_free_again" => other.ask(named(&topic, 8, "billing")).await,
        "unknown_namespace" => peer.ask(producer("persistent://public/nothing/x", 20)).await,
        "bad_name" => peer.ask(producer("http://public/default/x", 21)).await,
    );
    drop(peer);
    let mut peer = lab.peer(&topic).await;
    notes!(lab, "producer", "after_its_connection" => peer.ask(producer(&topic, 1)).await);
}

async fn modes(lab: &Lab) {
    let (mut peer, topic) = lab.scene("modes").await;
    use ProducerAccessMode::{Exclusive, ExclusiveWithFencing, Shared};
    notes!(lab, "access",
        "exclusive" => peer.ask(with_mode(&topic, 1, Exclusive)).await,
        "shared_after_exclusive" => peer.ask(with_mode(&topic, 2, Shared)).await,
        "second_exclusive" => peer.ask(with_mode(&topic, 3, Exclusive)).await,
        "close" => peer.ask(close_producer(1)).await,
        "shared" => peer.ask(with_mode(&topic, 4, Shared)).await,
        "exclusive_after_shared" => peer.ask(with_mode(&topic, 5, Exclusive)).await,
    );
    let (mut peer, topic) = lab.scene("fencing").await;
    let mut other = lab.peer(&topic).await;
    notes!(lab, "access",
        "to_be_fenced" => peer.ask(with_mode(&topic, 1, Exclusive)).await,
        "fencing" => other.ask(with_mode(&topic, 1, ExclusiveWithFencing)).await,
        "fenced" => peer.next().await,
    );
}

async fn waiting(lab: &Lab) {
    let (mut peer, topic) = lab.scene("waiting").await;
    let mut other = lab.peer(&topic).await;
    use ProducerAccessMode::{Exclusive, WaitForExclusive};
    notes!(lab, "access/waiting",
        "first" => peer.ask(with_mode(&topic, 1, Exclusive)).await,
        "second" => other.ask(with_mode(&topic, 1, WaitForExclusive)).await,
        "silence" => other.soon().await,
        "close" => peer.ask(close_producer(1)).await,
        "ready" => other.next().await,
        "publishes" => other.publish(1, text(&["a"])).await,
    );
}

async fn initial_subscription(lab: &Lab) {
    let (mut peer, topic) = lab.scene("initial").await;
    let first = CommandProducer {
        initial_subscription_name: Some(SUB.into()),
        ..producer(&topic, 1)
    };
    peer.ask(first).await;
    peer.publish_all(1, &["a"]).await;
    peer.ask(CommandSubscribe {
        initial_position: Some(InitialPosition::Latest as i32),
        ..subscribe(&topic, 1, SubType::Shared)
    })
    .await;
    notes!(lab, "producer/initial_subscription", "backlog" => peer.ask(stats(1)).await["backlog"].clone());
}
