//! Futures that are dropped before they are ready leave the client usable and leak nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use pulsar_testing::{broker, eventually};
use pulsar_tokio::{NewMessage, SubscriptionType};

use crate::support::*;

/// Polls `work` at most `polls` times and drops it.
async fn poll_and_drop<T>(polls: usize, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if left <= 1 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_open_closes_what_it_had_opened() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("dropped-open"));
    broker.admin().create_topic(&topic);
    for polls in 1..6 {
        let kind = SubscriptionType::Exclusive;
        drop(poll_and_drop(polls, earliest(&client, &topic, kind).open()).await);
        drop(poll_and_drop(polls, client.producer(&topic).name("one").open()).await);
    }
    eventually("nothing is left open", || {
        let stats = broker.admin().stats(&topic);
        let consumers = stats.subscriptions.get(SUB).map_or(0, |sub| sub.consumers.len());
        consumers == 0 && stats.producers.is_empty()
    });
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    publish(&producer(&client, &topic).await, 3).await;
    assert_eq!(drain(&consumer, 3).await, numbers(0..3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_receive_loses_nothing() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("dropped-receive"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let producer = producer(&client, &topic).await;
    let consuming = async {
        let mut texts = Vec::new();
        while texts.len() < 500 {
            // One receiver gives up all the time, the other one must be told of what it left.
            let short = tokio::time::timeout(Duration::from_micros(50), consumer.receive());
            if let Ok(message) = short.await {
                let message = message.unwrap();
                texts.push(text(&message));
                drop(consumer.ack(message.ticket));
            }
        }
        texts
    };
    let (texts, ()) = tokio::join!(consuming, publish(&producer, 500));
    assert_eq!(texts, numbers(0..500));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_send_gives_its_room_back() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("dropped-send"));
    let opening = client
        .producer(&topic)
        .max_pending(2)
        .max_pending_bytes(100)
        .open();
    let producer = within("a producer", opening).await.unwrap();
    for round in 0..50 {
        let _ = poll_and_drop(1 + round % 3, producer.send(NewMessage::new(vec![0; 60]))).await;
    }
    for _ in 0..10 {
        within("a receipt", producer.send(NewMessage::new(vec![0; 60])))
            .await
            .unwrap();
    }
    assert_eq!(producer.pending(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_confirmation_undoes_nothing() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("dropped-ack"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    publish(&producer(&client, &topic).await, 20).await;
    for _ in 0..20 {
        let message = receive(&consumer).await;
        drop(consumer.ack(message.ticket));
    }
    eventually("all is acknowledged", || broker.admin().backlog(&topic, SUB) == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_close_still_closes() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("dropped-close"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    // A quick broker may have answered meanwhile.
    let _ = poll_and_drop(1, consumer.close(PATIENCE)).await;
    eventually("the consumer is closed", || {
        broker
            .admin()
            .stats(&topic)
            .subscription(SUB)
            .consumers
            .is_empty()
    });
}
