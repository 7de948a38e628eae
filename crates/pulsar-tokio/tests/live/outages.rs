//! Brokers that go away and come back: each test has one of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use pulsar_testing::{Broker, Profile, own_broker};
use pulsar_tokio::{NewMessage, SubscriptionType};

use crate::support::*;

/// Sends and receives while `outage` happens; everything with a receipt has to arrive.
async fn nothing_receipted_is_lost(broker: &Broker, outage: impl FnOnce(&Broker) + Send) {
    let (client, topic) = (client(broker), broker.topic("outage"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let opening = client.producer(&topic).send_timeout(Duration::ZERO).open();
    let producer = within("a producer", opening).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let sending = async {
        let mut stopped = stopped;
        let mut number = 0;
        let mut receipted = BTreeSet::new();
        while stopped.try_recv().is_err() {
            let sent: Vec<String> = (number..number + 50)
                .map(|number: u32| number.to_string())
                .collect();
            number += 50;
            let mut receipts = Vec::new();
            for text in &sent {
                receipts.push(producer.enqueue(NewMessage::new(text.clone())).await.unwrap());
            }
            for (text, receipt) in sent.into_iter().zip(receipts) {
                let receipt = tokio::time::timeout(Duration::from_secs(60), receipt).await;
                receipt.expect("a receipt in time").expect("a receipt");
                receipted.insert(text);
            }
        }
        receipted
    };
    let breaking = async {
        while producer.pending() == 0 {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| outage(broker));
        stop.send(()).expect("the sender goes on");
    };
    let (receipted, ()) = tokio::join!(sending, breaking);

    let mut missing = receipted;
    while !missing.is_empty() {
        let message = receive(&consumer).await;
        missing.remove(&text(&message));
        ack(&consumer, message.ticket).await;
    }
    // The same producer and consumer go on.
    within("a receipt", producer.send(NewMessage::new("after")))
        .await
        .unwrap();
    loop {
        let message = receive(&consumer).await;
        ack(&consumer, message.ticket).await;
        if text(&message) == "after" {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn producer_and_consumer_go_on_after_the_broker_restarted() {
    let broker = own_broker!("tokio-restart", Profile::default());
    nothing_receipted_is_lost(&broker, Broker::restart).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn producer_and_consumer_go_on_after_the_broker_crashed() {
    let broker = own_broker!("tokio-crash", Profile::default());
    nothing_receipted_is_lost(&broker, |broker| {
        broker.kill();
        broker.start();
    })
    .await;
}
