//! UNSUBSCRIBE.

use pulsar_wire::proto::*;

use super::consumer::{shown, subscribe};
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![only_consumer, with_others, by_force, unknown, id_is_free];

async fn only_consumer(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let ids = scenario.publisher(&topic).await.publish_many(3).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        consumer.flow(3).await;
        consumer.take(3).await;
        consumer.ack(&ids).await;
        scenario.observe(&format!("{name}.answer"), consumer.unsubscribe(None).await);
        // The subscription is a new one.
        let mut next = scenario.consumer(&topic, kind).await;
        scenario.observe(&format!("{name}.begins_anew"), shown(&next.everything().await));
    }
}

async fn with_others(scenario: &Scenario) {
    for (name, kind) in KINDS.into_iter().filter(|(_, kind)| *kind != SubType::Exclusive) {
        let topic = scenario.topic();
        let mut one = scenario.named_consumer(&topic, kind, "one").await;
        let mut two = scenario.named_consumer(&topic, kind, "two").await;
        scenario.observe(&format!("{name}.answer"), one.unsubscribe(None).await);
        two.close().await;
        scenario.observe(&format!("{name}.alone"), one.unsubscribe(Some(false)).await);
    }
}

async fn by_force(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut one = scenario.consumer(&topic, SubType::Shared).await;
    let mut two = scenario.consumer(&topic, SubType::Shared).await;
    scenario.observe("answer", one.unsubscribe(Some(true)).await);
    scenario.observe("other_hears", two.peer.next().await);
    scenario.observe("one_hears", one.peer.soon().await);
}

async fn unknown(scenario: &Scenario) {
    let mut consumer = scenario.consumer(&scenario.topic(), SubType::Shared).await;
    consumer.unsubscribe(None).await;
    scenario.observe("repeated", consumer.unsubscribe(None).await);
    let ask = |request_id| CommandUnsubscribe {
        consumer_id: 77,
        request_id,
        force: None,
    };
    scenario.observe("never_there", consumer.peer.request(ask).await);
    scenario.observe("ping", consumer.peer.ping().await);
}

async fn id_is_free(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.unsubscribe(None).await;
    let again = subscribe(&topic, SubType::Shared);
    let answer = consumer
        .peer
        .request(|request_id| CommandSubscribe { request_id, ..again })
        .await;
    scenario.observe("answer", answer);
}
