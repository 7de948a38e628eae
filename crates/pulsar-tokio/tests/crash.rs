//! What comes again after a broker has crashed: confirmed is not durable. The figure is printed;
//! what is asserted is that nothing unsettled is lost and that an orderly stop brings nothing back.

use std::collections::BTreeSet;
use std::time::Duration;

use pulsar_testing::{Broker, Profile, own_broker};
use pulsar_tokio::{Client, Consumer, InitialPosition, NewMessage, Payload, SubscriptionType};

const MESSAGES: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);

async fn open(broker: &Broker, topic: &str) -> Consumer {
    let client = Client::new(broker.url()).expect("the broker's URL is one");
    let subscribing = client
        .consumer(topic, "sub")
        .subscription_type(SubscriptionType::Shared)
        .initial_position(InitialPosition::Earliest)
        .open();
    tokio::time::timeout(PATIENCE, subscribing)
        .await
        .expect("in time")
        .expect("a consumer")
}

/// Receives until nothing comes for a while; the texts in their order.
async fn drain(consumer: &Consumer, confirm: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while let Ok(message) = tokio::time::timeout(Duration::from_secs(3), consumer.receive()).await {
        let message = message.expect("a message");
        let Payload::Bytes(bytes) = &message.payload else {
            panic!("undecodable")
        };
        texts.push(String::from_utf8_lossy(bytes).into_owned());
        if texts.len() <= confirm {
            consumer.ack(message.ticket).await.expect("a confirmation");
        }
    }
    texts
}

/// Confirms all but the last ten messages, ends the broker by `stop`, and returns what comes again.
async fn again_after(stop: fn(&Broker), broker: &Broker) -> Vec<String> {
    let topic = broker.topic("durable");
    let consumer = open(broker, &topic).await;
    let client = Client::new(broker.url()).expect("the broker's URL is one");
    let producer = client.producer(&topic).open().await.expect("a producer");
    for number in 0..MESSAGES {
        producer
            .send(NewMessage::new(number.to_string()))
            .await
            .expect("a receipt");
    }
    assert_eq!(drain(&consumer, MESSAGES - 10).await.len(), MESSAGES);
    tokio::task::block_in_place(|| {
        stop(broker);
        broker.start();
    });
    // A consumer of a new process knows nothing of what the old one settled.
    drop(consumer);
    drain(&open(broker, &topic).await, 0).await
}

fn assert_unsettled_came(again: &[String]) {
    let again: BTreeSet<&str> = again.iter().map(String::as_str).collect();
    for number in MESSAGES - 10..MESSAGES {
        assert!(
            again.contains(number.to_string().as_str()),
            "message {number} is lost"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_stop_brings_back_only_what_was_not_settled() {
    let broker = own_broker!("durable-stop", Profile::default());
    let again = again_after(Broker::stop, &broker).await;
    assert_unsettled_came(&again);
    assert_eq!(again.len(), 10, "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_may_bring_back_what_was_confirmed_but_loses_nothing() {
    let broker = own_broker!("durable-crash", Profile::default());
    let again = again_after(Broker::kill, &broker).await;
    assert_unsettled_came(&again);
    println!(
        "after a crash {} of {} confirmed messages came again",
        again.len() - 10,
        MESSAGES - 10
    );
}
