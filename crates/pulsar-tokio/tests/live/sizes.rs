//! Large messages, late messages, and topics with partitions.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pulsar_testing::{broker, eventually};
use pulsar_tokio::{ErrorKind, NewMessage, Payload, SubscriptionType};

use crate::support::*;

/// What a broker takes unless it is configured otherwise.
const GREATEST: usize = 5 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn the_greatest_message_is_stored_and_read_and_one_byte_more_is_refused_unsent() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("greatest"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let producer = producer(&client, &topic).await;
    // The metadata counts too; its size depends on the producer's name and the time.
    let mut fits = 0;
    let mut too_large = GREATEST + 1;
    while fits + 1 < too_large {
        let size = if fits == 0 {
            GREATEST - 100
        } else {
            (fits + too_large) / 2
        };
        match within("an answer", producer.send(NewMessage::new(vec![7; size]))).await {
            Ok(_) => {
                fits = size;
                let message = receive(&consumer).await;
                assert!(matches!(&message.payload, Payload::Bytes(bytes) if bytes.len() == size));
                ack(&consumer, message.ticket).await;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
                assert!(!error.is_ambiguous());
                too_large = size;
            }
        }
    }
    assert!(fits > GREATEST - 100, "{fits} bytes were the most");
}

#[tokio::test(flavor = "multi_thread")]
async fn four_mebibytes_arrive_unchanged() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("large"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let producer = producer(&client, &topic).await;
    let payload: Vec<u8> = (0..4 << 20).map(|at: u32| (at % 251) as u8).collect();
    within("a receipt", producer.send(NewMessage::new(payload.clone())))
        .await
        .unwrap();
    let message = receive(&consumer).await;
    assert!(matches!(&message.payload, Payload::Bytes(bytes) if *bytes == payload));
    ack(&consumer, message.ticket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_message_arrives_after_its_delay_and_not_long_after() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("delayed"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let producer = producer(&client, &topic).await;
    let start = Instant::now();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let due = i64::try_from(now.as_millis()).unwrap() + 3_000;
    let message = NewMessage::new("later").deliver_at_ms(due);
    within("a receipt", producer.send(message)).await.unwrap();

    let message = receive(&consumer).await;
    let waited = start.elapsed();
    assert_eq!(message.deliver_at_ms, Some(due));
    // Brokers of 4.0.1 deliver what is due within the next tick of their clock, a second, at once.
    assert!(
        waited >= Duration::from_millis(1_900) && waited < Duration::from_secs(10),
        "it came after {waited:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_initial_subscription_keeps_what_is_sent_before_anybody_consumes() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("kept"));
    let opening = client.producer(&topic).initial_subscription(SUB).open();
    let producer = within("a producer", opening).await.unwrap();
    publish(&producer, 3).await;
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    assert_eq!(drain(&consumer, 3).await, numbers(0..3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_topic_is_sent_to_and_read_as_a_whole() {
    const COUNT: usize = 400;
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("partitioned"));
    broker.admin().create_partitioned(&topic, 4);
    assert_eq!(client.partitions(&topic).await.unwrap(), 4);
    let consumer = consumer(&client, &topic, SubscriptionType::Failover).await;
    let producer = producer(&client, &topic).await;
    assert!(consumer.is_partitioned());
    assert_eq!(producer.partitions(), 4);

    publish(&producer, COUNT).await;
    let mut texts = Vec::new();
    let mut topics = BTreeSet::new();
    let mut of_a_key = std::collections::BTreeMap::<_, Vec<usize>>::new();
    for _ in 0..COUNT {
        let message = receive(&consumer).await;
        let number = text(&message).parse().unwrap();
        texts.push(number);
        topics.insert(message.topic.to_string());
        of_a_key
            .entry(message.key.clone().unwrap().text)
            .or_default()
            .push(number);
        assert!(
            message
                .topic
                .ends_with(&format!("-partition-{}", message.id.partition))
        );
        ack(&consumer, message.ticket).await;
    }
    texts.sort_unstable();
    assert_eq!(texts, (0..COUNT).collect::<Vec<_>>());
    assert!(topics.len() > 1, "all of it went through {topics:?}");
    for (key, numbers) in of_a_key {
        assert!(numbers.is_sorted(), "key {key:?} came out of order");
    }
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_without_a_key_go_round_the_partitions() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("round"));
    broker.admin().create_partitioned(&topic, 4);
    let producer = producer(&client, &topic).await;
    let mut partitions = Vec::new();
    for _ in 0..4 {
        let stored = within("a receipt", producer.send(NewMessage::new("x"))).await;
        partitions.push(stored.unwrap().id.unwrap().partition);
    }
    partitions.sort_unstable();
    assert_eq!(partitions, [0, 1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_partition_is_a_topic_of_its_own() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("one-of"));
    broker.admin().create_partitioned(&topic, 4);
    let part = format!("{topic}-partition-2");
    let consumer = consumer(&client, &part, SubscriptionType::Exclusive).await;
    let producer = producer(&client, &part).await;
    publish(&producer, 20).await;
    assert!(!consumer.is_partitioned());
    assert_eq!(drain(&consumer, 20).await, numbers(0..20));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_large_messages_are_received_ahead_than_fit_the_window() {
    const SIZE: usize = 3 << 20;
    const COUNT: usize = 20;
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("window-in-bytes"));
    let opening = earliest(&client, &topic, SubscriptionType::Exclusive).receive_window_bytes(16 << 20);
    let consumer = within("a consumer", opening.open()).await.unwrap();
    let producer = producer(&client, &topic).await;
    for _ in 0..COUNT {
        let message = NewMessage::new(vec![7; SIZE]);
        within("a receipt", producer.send(message)).await.unwrap();
    }
    // Three could be had when nothing was known of their size; five fit.
    eventually("the window is full", || consumer.stats()[0].held >= 3);
    for _ in 0..COUNT {
        let held = consumer.stats()[0].held;
        assert!(held <= 5, "{held} messages of {SIZE} bytes");
        let message = receive(&consumer).await;
        ack(&consumer, message.ticket).await;
    }
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
}
