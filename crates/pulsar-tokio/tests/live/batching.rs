//! Batches and codecs of our own producer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pulsar_testing::broker;
use pulsar_tokio::{Batching, Compression, NewMessage, Payload, SubscriptionType};

use crate::support::*;

const KEYS: usize = 7;
const COUNT: usize = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn keyed_messages_share_entries_with_their_key_only_and_keep_their_order_on_every_subscription_type() {
    let broker = broker!();
    let client = client(&broker);
    for kind in ALL_TYPES {
        let topic = broker.topic("keyed-batches");
        let consumer = consumer(&client, &topic, kind).await;
        let producer = client
            .producer(&topic)
            .max_pending(1_000)
            .batching(Batching::new());
        let producer = within("a producer", producer.open()).await.unwrap();
        let (_, received) = tokio::join!(publish(&producer, COUNT), async {
            let mut received = Vec::new();
            for _ in 0..COUNT {
                let message = receive(&consumer).await;
                ack(&consumer, message.ticket).await;
                received.push(message);
            }
            received
        });
        let mut keys_of_entry: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut newest: BTreeMap<_, usize> = BTreeMap::new();
        for message in &received {
            let key = message.key.as_ref().unwrap().text.clone();
            let entry = (message.id.ledger, message.id.entry);
            keys_of_entry.entry(entry).or_default().insert(key.clone());
            let number = text(message).parse().unwrap();
            let before = newest.insert(key, number);
            assert!(before < Some(number), "{kind}: {number} came behind {before:?}");
        }
        assert!(
            keys_of_entry.len() < COUNT / 2,
            "{kind}: {} entries",
            keys_of_entry.len()
        );
        assert!(keys_of_entry.values().all(|keys| keys.len() == 1), "{kind}");
        assert_eq!(newest.len(), KEYS);
        assert_eq!(broker.admin().backlog(&topic, SUB), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_codec_arrives_alone_and_in_batches() {
    let broker = broker!();
    let client = client(&broker);
    let codecs = [
        Compression::None,
        Compression::Lz4,
        Compression::Zlib,
        Compression::Zstd,
        Compression::Snappy,
    ];
    for compression in codecs {
        for batching in [None, Some(Batching::new())] {
            let topic = broker.topic("codecs");
            let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
            let mut builder = client.producer(&topic).compression(compression);
            if let Some(batching) = batching {
                builder = builder.batching(batching);
            }
            let producer = within("a producer", builder.open()).await.unwrap();
            let body = |number: usize| format!("{number} {}", "words, words, words ".repeat(50));
            let mut receipts = Vec::new();
            for number in 0..20 {
                let message = NewMessage::new(body(number)).property("n", number.to_string());
                receipts.push(producer.enqueue(message).await.unwrap());
            }
            for (number, receipt) in receipts.into_iter().enumerate() {
                let stored = within("a receipt", receipt).await.unwrap();
                let message = receive(&consumer).await;
                assert_eq!(text(&message), body(number), "{compression:?}");
                assert_eq!(Some(message.id), stored.id, "{compression:?}");
                assert_eq!(message.properties, [("n".into(), number.to_string().into())]);
                ack(&consumer, message.ticket).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_message_is_not_held_up_by_others_nor_they_by_it() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("delayed-among-batches"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let producer = client.producer(&topic).batching(Batching::new());
    let producer = within("a producer", producer.open()).await.unwrap();
    let now = std::time::SystemTime::now();
    let due = now + Duration::from_secs(3);
    let due_ms = due.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let mut receipts = Vec::new();
    for number in 0..10 {
        let mut message = NewMessage::new(number.to_string());
        if number == 5 {
            message = message.deliver_at_ms(i64::try_from(due_ms).unwrap());
        }
        receipts.push(producer.enqueue(message).await.unwrap());
    }
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    let mut texts = drain(&consumer, 10).await;
    assert!(now.elapsed().unwrap() >= Duration::from_secs(2));
    assert_eq!(texts.pop().as_deref(), Some("5"));
    assert_eq!(texts, ["0", "1", "2", "3", "4", "6", "7", "8", "9"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_waits_for_batches_that_are_not_full() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("closed-batches"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let batching = Batching::new().max_delay(Duration::from_secs(600));
    let producer = client.producer(&topic).batching(batching);
    let producer = within("a producer", producer.open()).await.unwrap();
    let mut receipts = Vec::new();
    for number in 0..100 {
        receipts.push(
            producer
                .enqueue(NewMessage::new(number.to_string()))
                .await
                .unwrap(),
        );
    }
    producer.close(PATIENCE).await;
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    assert_eq!(drain(&consumer, 100).await, numbers(0..100));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_for_a_batch_is_sent_alone_and_in_its_place() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("large-among-batches"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let producer = client
        .producer(&topic)
        .batching(Batching::new().max_bytes(10_000));
    let producer = within("a producer", producer.open()).await.unwrap();
    let sizes: Vec<usize> = (0..30)
        .map(|number| if number % 7 == 6 { 50_000 } else { 100 })
        .collect();
    let mut receipts = Vec::new();
    for size in &sizes {
        receipts.push(
            producer
                .enqueue(NewMessage::new(vec![b'x'; *size]))
                .await
                .unwrap(),
        );
    }
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    for size in sizes {
        let message = receive(&consumer).await;
        assert!(matches!(&message.payload, Payload::Bytes(bytes) if bytes.len() == size));
        ack(&consumer, message.ticket).await;
    }
}
