//! ACK.

use pulsar_wire::proto::*;

use super::consumer::{Consumer, ack, shown, texts};
use super::scenario::{KINDS, Scenario, scenarios};

scenarios![
    answers,
    unknown_consumer,
    unknown_kind,
    individual,
    hole,
    cumulative,
    cumulative_of_two,
    transactions,
    of_another,
    before_delivery,
    by_another_subscription,
];

/// Five messages, all delivered.
async fn five(scenario: &Scenario, topic: &str, kind: SubType) -> (Consumer, Vec<MessageIdData>) {
    let ids = scenario.publisher(topic).await.publish_many(5).await;
    let mut consumer = scenario.consumer(topic, kind).await;
    consumer.flow(5).await;
    consumer.take(5).await;
    (consumer, ids)
}

/// What comes to a consumer that attaches when the first has left.
async fn left(scenario: &Scenario, mut consumer: Consumer, topic: &str, kind: SubType) -> Vec<String> {
    consumer.close().await;
    let mut next = scenario.consumer(topic, kind).await;
    shown(&next.everything().await)
}

async fn answers(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let (mut consumer, ids) = five(scenario, &topic, kind).await;
        scenario.observe(&format!("{name}.one"), consumer.ack(&ids[..1]).await);
        scenario.observe(&format!("{name}.repeated"), consumer.ack(&ids[..1]).await);
        scenario.observe(&format!("{name}.two"), consumer.ack(&ids[1..3]).await);
        scenario.observe(&format!("{name}.none"), consumer.ack(&[]).await);
        let foreign = MessageIdData {
            ledger_id: 1 << 40,
            entry_id: 3,
            ..Default::default()
        };
        scenario.observe(&format!("{name}.foreign"), consumer.ack(&[foreign]).await);
        let beyond = MessageIdData {
            entry_id: 1000,
            ..ids[0].clone()
        };
        scenario.observe(&format!("{name}.beyond_the_end"), consumer.ack(&[beyond]).await);
        consumer.peer.clear();
        consumer
            .peer
            .tell(ack(AckType::Individual, &ids[3..4], None))
            .await;
        scenario.observe(&format!("{name}.without_request"), consumer.peer.soon().await);
        scenario.observe(
            &format!("{name}.left"),
            left(scenario, consumer, &topic, kind).await,
        );
    }
}

async fn unknown_consumer(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let id = MessageIdData {
        ledger_id: 1,
        entry_id: 1,
        ..Default::default()
    };
    peer.tell(CommandAck {
        consumer_id: 77,
        ..ack(AckType::Individual, &[id], Some(5))
    })
    .await;
    scenario.observe("answer", peer.soon().await);
    scenario.observe("ping", peer.ping().await);
}

async fn unknown_kind(scenario: &Scenario) {
    let (mut consumer, ids) = five(scenario, &scenario.topic(), SubType::Shared).await;
    let command = |request_id| CommandAck {
        ack_type: 9,
        ..ack(AckType::Individual, &ids[..1], Some(request_id))
    };
    scenario.observe("answer", consumer.peer.request(command).await);
}

async fn individual(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let (mut consumer, ids) = five(scenario, &topic, kind).await;
        consumer.ack(&[ids[1].clone(), ids[3].clone()]).await;
        consumer.redeliver(&[]).await;
        scenario.observe(&format!("{name}.again"), shown(&consumer.everything().await));
        scenario.observe(
            &format!("{name}.left"),
            left(scenario, consumer, &topic, kind).await,
        );
    }
}

/// The mark stays before the first that is open, and jumps when it is closed.
async fn hole(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut consumer, ids) = five(scenario, &topic, SubType::Exclusive).await;
    scenario.observe("at_first", consumer.last_id().await);
    consumer.ack(&ids[1..2]).await;
    scenario.observe("second_acked", consumer.last_id().await);
    consumer.ack(&ids[..1]).await;
    scenario.observe("first_acked", consumer.last_id().await);
    consumer.ack(&ids[2..]).await;
    scenario.observe("all_acked", consumer.last_id().await);
}

async fn cumulative(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let (mut consumer, ids) = five(scenario, &topic, kind).await;
        scenario.observe(
            &format!("{name}.answer"),
            consumer.ack_as(AckType::Cumulative, &ids[2..3]).await,
        );
        scenario.observe(
            &format!("{name}.backwards"),
            consumer.ack_as(AckType::Cumulative, &ids[..1]).await,
        );
        scenario.observe(
            &format!("{name}.left"),
            left(scenario, consumer, &topic, kind).await,
        );
    }
}

async fn cumulative_of_two(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut consumer, ids) = five(scenario, &topic, SubType::Exclusive).await;
    scenario.observe("answer", consumer.ack_as(AckType::Cumulative, &ids[1..3]).await);
    scenario.observe("left", left(scenario, consumer, &topic, SubType::Exclusive).await);
}

async fn transactions(scenario: &Scenario) {
    for (name, kind) in KINDS {
        let topic = scenario.topic();
        let (mut consumer, ids) = five(scenario, &topic, kind).await;
        let command = |request_id| CommandAck {
            txnid_least_bits: Some(1),
            txnid_most_bits: Some(0),
            ..ack(AckType::Individual, &ids[..1], Some(request_id))
        };
        scenario.observe(&format!("{name}.answer"), consumer.peer.request(command).await);
        scenario.observe(
            &format!("{name}.left"),
            left(scenario, consumer, &topic, kind).await,
        );
    }
}

/// A message that another consumer of the subscription holds.
async fn of_another(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut consumer, ids) = five(scenario, &topic, SubType::Shared).await;
    let mut other = scenario.consumer(&topic, SubType::Shared).await;
    scenario.observe("answer", other.ack(&ids[..2]).await);
    consumer.redeliver(&[]).await;
    consumer.flow(10).await;
    scenario.observe("holder_gets_again", shown(&consumer.rest().await));
    other.close().await;
    scenario.observe("left", left(scenario, consumer, &topic, SubType::Shared).await);
}

/// Messages that were not sent to anybody yet.
async fn before_delivery(scenario: &Scenario) {
    for (name, kind) in [("exclusive", SubType::Exclusive), ("shared", SubType::Shared)] {
        let topic = scenario.topic();
        let ids = scenario.publisher(&topic).await.publish_many(4).await;
        let mut consumer = scenario.consumer(&topic, kind).await;
        scenario.observe(&format!("{name}.answer"), consumer.ack(&ids[1..3]).await);
        scenario.observe(&format!("{name}.deliveries"), texts(&consumer.everything().await));
    }
}

async fn by_another_subscription(scenario: &Scenario) {
    let topic = scenario.topic();
    let (mut consumer, ids) = five(scenario, &topic, SubType::Shared).await;
    let other = CommandSubscribe {
        subscription: "other".into(),
        ..super::consumer::subscribe(&topic, SubType::Shared)
    };
    let mut other = Consumer::attach(scenario.connect().await, other).await;
    consumer.ack(&ids).await;
    scenario.observe("other", texts(&other.everything().await));
}
