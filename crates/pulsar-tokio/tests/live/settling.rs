//! Acknowledging, giving back, rewinding, and the permits behind all of it.

use std::sync::Arc;
use std::time::Duration;

use pulsar_testing::{Broker, broker, eventually};
use pulsar_tokio::{Consumer, ErrorKind, SubscriptionType};

use crate::support::*;

/// The broker's account of what it may still send agrees with ours.
fn the_ledgers_agree(broker: &Broker, consumer: &Consumer) {
    let topic = consumer.topic().unwrap().as_str();
    eventually("broker and client agree about the permits", || {
        let theirs = broker.admin().stats(topic).subscription(SUB).consumers[0].permits;
        theirs == consumer.stats()[0].permits
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_given_back_comes_again_and_the_count_rises() {
    let broker = broker!();
    let client = client(&broker);
    for kind in [SubscriptionType::Shared, SubscriptionType::KeyShared] {
        let topic = broker.topic("given-back");
        let opening = earliest(&client, &topic, kind).nack_delay(Duration::from_millis(50));
        let consumer = within("a consumer", opening.open()).await.unwrap();
        publish(&producer(&client, &topic).await, 1).await;
        for count in 0..4 {
            let message = receive(&consumer).await;
            assert_eq!(message.redelivery_count, count, "{kind}");
            consumer.nack(message.ticket).unwrap();
        }
        let message = receive(&consumer).await;
        ack(&consumer, message.ticket).await;
        assert_eq!(broker.admin().backlog(&topic, SUB), 0);
        the_ledgers_agree(&broker, &consumer);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewind_brings_everything_unsettled_again_in_order() {
    let broker = broker!();
    let client = client(&broker);
    for kind in [SubscriptionType::Exclusive, SubscriptionType::Failover] {
        let topic = broker.topic("rewound");
        let consumer = consumer(&client, &topic, kind).await;
        publish(&producer(&client, &topic).await, 10).await;
        let mut messages = Vec::new();
        for _ in 0..6 {
            messages.push(receive(&consumer).await);
        }
        for settled in [0, 1, 4] {
            ack(&consumer, messages[settled].ticket).await;
        }
        // 2 goes back, 3 and 5 are still being handled.
        consumer.rewind(messages[2].ticket).unwrap();
        assert_eq!(text(&receive(&consumer).await), "2", "{kind}");
        assert_eq!(drain(&consumer, 4).await, numbers(6..10), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rewinds_while_thousands_are_on_their_way_keep_the_order() {
    const COUNT: usize = 3_000;
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("rewound-often"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let producer = producer(&client, &topic).await;
    let consuming = async {
        let mut next = 0;
        let mut rewinds = 0;
        while next < COUNT {
            let message = receive(&consumer).await;
            let number: usize = text(&message).parse().unwrap();
            assert_eq!(number, next, "after {rewinds} rewinds");
            if number == rewinds * 150 {
                rewinds += 1;
                consumer.rewind(message.ticket).unwrap();
            } else {
                next += 1;
                drop(consumer.ack(message.ticket));
            }
        }
    };
    tokio::join!(publish(&producer, COUNT), consuming);
    the_ledgers_agree(&broker, &consumer);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_subscription_type_cannot_do_is_refused_by_name() {
    let broker = broker!();
    let client = client(&broker);
    for kind in ALL_TYPES {
        let topic = broker.topic("refused");
        let consumer = consumer(&client, &topic, kind).await;
        publish(&producer(&client, &topic).await, 1).await;
        let ticket = receive(&consumer).await.ticket;
        let error = if kind.redelivers_singly() {
            consumer.rewind(ticket).unwrap_err()
        } else {
            consumer.nack(ticket).unwrap_err()
        };
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(&kind.to_string()), "{error}");
        ack(&consumer, ticket).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_window_full_acknowledgements_still_go_out() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("full"));
    let opening = earliest(&client, &topic, SubscriptionType::Shared).receive_window(10);
    let consumer = within("a consumer", opening.open()).await.unwrap();
    publish(&producer(&client, &topic).await, 40).await;
    let mut held = Vec::new();
    for _ in 0..10 {
        held.push(receive(&consumer).await);
    }
    assert!(is_quiet(&consumer, Duration::from_millis(300)).await);
    for message in held {
        ack(&consumer, message.ticket).await;
    }
    drain(&consumer, 30).await;
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
    the_ledgers_agree(&broker, &consumer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_one_lets_messages_through_one_at_a_time() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("one"));
    let opening = earliest(&client, &topic, SubscriptionType::Exclusive).receive_window(1);
    let consumer = within("a consumer", opening.open()).await.unwrap();
    publish(&producer(&client, &topic).await, 20).await;
    for number in 0..20 {
        let message = receive(&consumer).await;
        assert_eq!(text(&message), number.to_string());
        assert!(consumer.try_receive().unwrap().is_none());
        ack(&consumer, message.ticket).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_are_accounted_for_as_the_broker_does() {
    let broker = broker!();
    let client = client(&broker);
    for kind in ALL_TYPES {
        let topic = broker.topic("ledger");
        let opening = earliest(&client, &topic, kind).receive_window(50);
        let consumer = within("a consumer", opening.open()).await.unwrap();
        publish(&producer(&client, &topic).await, 233).await;
        drain(&consumer, 233).await;
        the_ledgers_agree(&broker, &consumer);
        let stats = &consumer.stats()[0];
        assert_eq!(
            (stats.held, stats.queued, stats.open_entries),
            (0, 0, 0),
            "{kind}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_twice_lets_nothing_in_too_many() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("twice"));
    let opening = earliest(&client, &topic, SubscriptionType::Shared).receive_window(4);
    let consumer = within("a consumer", opening.open()).await.unwrap();
    publish(&producer(&client, &topic).await, 12).await;
    let first = receive(&consumer).await;
    let _second = receive(&consumer).await;
    for _ in 0..3 {
        ack(&consumer, first.ticket).await;
        consumer.nack(first.ticket).unwrap();
    }
    let mut held = 1;
    while let Ok(message) = tokio::time::timeout(Duration::from_millis(300), consumer.receive()).await {
        message.unwrap();
        held += 1;
    }
    assert!(held <= 4, "{held} are held with a window of 4");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_receivers_share_one_consumer() {
    const COUNT: usize = 1_000;
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("receivers"));
    let consumer = Arc::new(consumer(&client, &topic, SubscriptionType::Shared).await);
    let producer = producer(&client, &topic).await;
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let consumer = consumer.clone();
            tokio::spawn(async move { drain(&consumer, COUNT / 4).await })
        })
        .collect();
    publish(&producer, COUNT).await;
    let mut texts = Vec::new();
    for receiver in receivers {
        texts.append(&mut receiver.await.unwrap());
    }
    texts.sort_by_key(|text| text.parse::<usize>().ok());
    assert_eq!(texts, numbers(0..COUNT));
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
}
