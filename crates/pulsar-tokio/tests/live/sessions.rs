//! The beginning and the end of producers and consumers.

use std::time::{Duration, Instant};

use pulsar_testing::{Broker, broker, eventually};
use pulsar_tokio::{ErrorKind, Health, NewMessage, ServerError, SubscriptionType};

use crate::support::*;

fn has_consumers(broker: &Broker, topic: &str, count: usize) -> bool {
    broker.admin().stats(topic).subscription(SUB).consumers.len() == count
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_exclusive_consumer_is_refused_at_once_and_welcome_after_the_first() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("exclusive"));
    let first = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let start = Instant::now();
    let error = earliest(&client, &topic, SubscriptionType::Exclusive)
        .open()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::ConsumerBusy));
    assert!(start.elapsed() < Duration::from_secs(3));

    first.close(PATIENCE).await;
    let second = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    assert_eq!(second.stats()[0].health, Health::Open);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_hands_back_what_is_unsettled_without_raising_its_count() {
    let broker = broker!();
    let client = client(&broker);
    for kind in ALL_TYPES {
        let topic = broker.topic("handed-back");
        let first = consumer(&client, &topic, kind).await;
        publish(&producer(&client, &topic).await, 30).await;
        let settled = receive(&first).await;
        for _ in 0..5 {
            receive(&first).await;
        }
        let confirmation = first.ack(settled.ticket);
        let start = Instant::now();
        first.close(PATIENCE).await;
        assert!(
            start.elapsed() < PATIENCE / 4,
            "closing waits for nothing that has come"
        );
        confirmation.await.unwrap();
        // Once more, and whatever is asked of it afterwards.
        first.close(PATIENCE).await;
        assert_eq!(first.receive().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(
            first.ack(settled.ticket).await.unwrap_err().kind(),
            ErrorKind::Closed
        );
        assert_eq!(first.stats()[0].health, Health::Ended);
        assert!(has_consumers(&broker, &topic, 0), "{kind}");

        let second = consumer(&client, &topic, kind).await;
        for _ in 0..29 {
            let message = receive(&second).await;
            assert_ne!(message.id, settled.id);
            assert_eq!(message.redelivery_count, 0, "{kind}");
            ack(&second, message.ticket).await;
        }
        assert_eq!(broker.admin().backlog(&topic, SUB), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_producer_waits_for_the_receipts() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("closed"));
    let producer = producer(&client, &topic).await;
    let mut receipts = Vec::new();
    for _ in 0..300 {
        receipts.push(producer.enqueue(NewMessage::new("x")).await.unwrap());
    }
    producer.close(PATIENCE).await;
    producer.close(PATIENCE).await;
    for receipt in receipts {
        receipt.await.unwrap();
    }
    let error = producer.send(NewMessage::new("late")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(producer.health(), Health::Ended);
    assert_eq!(broker.admin().stats(&topic).producers.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_is_closed_in_the_background() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("dropped"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let producer = producer(&client, &topic).await;
    assert!(has_consumers(&broker, &topic, 1));
    assert_eq!(broker.admin().stats(&topic).producers.len(), 1);
    drop((consumer, producer));
    eventually("producer and consumer are closed", || {
        has_consumers(&broker, &topic, 0) && broker.admin().stats(&topic).producers.is_empty()
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_topic_fails_every_send_for_good() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("terminated"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let producer = producer(&client, &topic).await;
    publish(&producer, 5).await;
    broker.admin().terminate(&topic);
    for _ in 0..3 {
        let error = within("an answer", producer.send(NewMessage::new("x")))
            .await
            .unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::Refused(ServerError::TopicTerminatedError)
        );
        assert!(error.is_terminal());
    }
    // What is there can still be read.
    drain(&consumer, 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_reordered_when_the_topic_is_unloaded_under_load() {
    const COUNT: usize = 4_000;
    let broker = broker!();
    let client = client(&broker);
    for kind in [SubscriptionType::Exclusive, SubscriptionType::Shared] {
        let topic = broker.topic("unloaded");
        let consumer = consumer(&client, &topic, kind).await;
        let producer = producer(&client, &topic).await;
        let consuming = async {
            let mut first_seen = Vec::new();
            let mut seen = vec![false; COUNT];
            while first_seen.len() < COUNT {
                let message = receive(&consumer).await;
                let number: usize = text(&message).parse().unwrap();
                if !std::mem::replace(&mut seen[number], true) {
                    first_seen.push(number);
                }
                drop(consumer.ack(message.ticket));
            }
            first_seen
        };
        let unloading = async {
            for _ in 0..3 {
                while producer.pending() == 0 {
                    tokio::task::yield_now().await;
                }
                tokio::task::block_in_place(|| broker.admin().unload(&topic));
            }
        };
        let publishing = async {
            for chunk in 0..COUNT / 100 {
                let mut receipts = Vec::new();
                for number in chunk * 100..(chunk + 1) * 100 {
                    let message = NewMessage::new(number.to_string());
                    receipts.push(producer.enqueue(message).await.unwrap());
                }
                for receipt in receipts {
                    within("a receipt", receipt).await.unwrap();
                }
            }
        };
        let (first_seen, (), ()) = tokio::join!(consuming, unloading, publishing);
        if kind == SubscriptionType::Exclusive {
            assert!(first_seen.is_sorted());
        }
        eventually("nothing is left", || broker.admin().backlog(&topic, SUB) == 0);
    }
}
