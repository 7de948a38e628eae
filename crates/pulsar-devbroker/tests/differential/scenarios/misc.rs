//! What has no group of its own: transactions, unknown commands, topics that are given away or deleted.

use bytes::Bytes;
use pulsar_wire::Command;
use pulsar_wire::proto::*;

use super::scenario::{Scenario, scenarios};

scenarios![
    ping,
    transactions,
    unsupported,
    unknown_without_request,
    unload,
    delete_with_force
];

async fn ping(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    scenario.observe("one", peer.ping().await);
    peer.tell(CommandPing {}).await;
    peer.tell(CommandPing {}).await;
    scenario.observe("two.first", peer.next().await);
    scenario.observe("two.second", peer.next().await);
}

async fn transactions(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let connect = |request_id| CommandTcClientConnectRequest { request_id, tc_id: 0 };
    scenario.observe("connect", peer.request(connect).await);
    scenario.observe(
        "new",
        peer.request(|request_id| CommandNewTxn {
            request_id,
            txn_ttl_seconds: Some(1),
            tc_id: Some(0),
        })
        .await,
    );
    scenario.observe("ping", peer.ping().await);
}

/// Pulsar closes the connection, after which a client would only ask again.
async fn unsupported(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let end = |request_id| CommandEndTxn {
        request_id,
        txnid_least_bits: Some(1),
        txnid_most_bits: Some(0),
        ..Default::default()
    };
    scenario.observe("end_of_transaction", peer.request(end).await);
    // Type 90, field 90 with a request id in its field 1.
    let body = Bytes::from_static(&[0x08, 90, 0xd2, 0x05, 2, 0x08, 9]);
    let mut peer = scenario.connect().await;
    peer.tell(Command::Unknown { kind: 90, body }).await;
    scenario.observe("unknown_command", peer.next().await);
}

async fn unknown_without_request(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    peer.bytes(&[0, 0, 0, 6, 0, 0, 0, 2, 0x08, 90]).await;
    scenario.observe("answer", peer.next().await);
}

async fn unload(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("order").await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    consumer.flow(1).await;
    consumer.take(1).await;
    scenario.unload(&topic).await;
    scenario.observe("publisher_hears", publisher.peer.next().await);
    scenario.observe("consumer_hears", consumer.peer.next().await);
    let mut publisher = scenario.publisher(&topic).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    let frame = pulsar_wire::encode_send(&send, &metadata, b"order");
    scenario.observe("next_receipt", publisher.raw(&frame).await);
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    scenario.observe("deliveries", super::consumer::texts(&consumer.everything().await));
}

async fn delete_with_force(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let mut consumer = scenario.consumer(&topic, SubType::Shared).await;
    scenario.delete(&topic).await;
    scenario.observe("publisher_hears", publisher.peer.next().await);
    scenario.observe("consumer_hears", consumer.peer.next().await);
}
