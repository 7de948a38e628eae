//! The order of the calls is the order on the topic, also when there is no room at the time of a call.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::time::Duration;

use babelqueue_pulsar::pulsar_tokio::{Client, InitialPosition, Payload};
use babelqueue_pulsar::{Publisher, PulsarSink, Receipt};
use pulsar_testing::broker;

const MESSAGES: usize = 2_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_waits_for_room_is_not_overtaken() {
    let broker = broker!();
    let topic = broker.topic("order");
    let client = Client::new(broker.url()).unwrap();
    let producer = client.producer(&topic).max_pending(3).open().await.unwrap();
    let publisher = Publisher::new(PulsarSink::new(producer));

    // Confirming one before sending the next but ten frees room again and again while others wait.
    let mut receipts = VecDeque::new();
    for number in 0..MESSAGES {
        if receipts.len() == 10 {
            take(&mut receipts).await;
        }
        let data = serde_json::json!({ "number": number });
        receipts.push_back(publisher.publish("urn:babel:orders:created", &data).enqueue());
    }
    while !receipts.is_empty() {
        take(&mut receipts).await;
    }

    let consumer = client
        .consumer(&topic, "s")
        .initial_position(InitialPosition::Earliest);
    let consumer = consumer.open().await.unwrap();
    for number in 0..MESSAGES {
        let message = consumer.receive().await.unwrap();
        let Payload::Bytes(body) = &message.payload else {
            panic!("{} cannot be read", message.id);
        };
        let body: serde_json::Value = serde_json::from_slice(body).unwrap();
        assert_eq!(body["data"]["number"], number);
        // Makes room in the receive window; that the broker confirms it is of no interest here.
        drop(consumer.ack(message.ticket));
    }
    consumer.close(Duration::from_secs(5)).await;
}

async fn take(receipts: &mut VecDeque<Receipt>) {
    receipts.pop_front().unwrap().await.unwrap();
}
