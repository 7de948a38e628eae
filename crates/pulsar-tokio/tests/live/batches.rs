//! Batches as another client makes them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pulsar_testing::{Broker, broker, eventually, python_or_skip};
use pulsar_tokio::{Health, Message, SubscriptionType};

use crate::support::*;

async fn publish_batch(python: PathBuf, broker: &Broker, topic: &str, compression: &str, size: usize) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/batches.py");
    let mut command = Command::new(python);
    command
        .arg(script)
        .args([broker.url(), topic, compression, &size.to_string()]);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .expect("the Python peer runs");
    assert!(
        output.status.success(),
        "the Python peer failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn number(message: &Message) -> usize {
    let text = text(message);
    let number = text.split(' ').next().unwrap();
    assert_eq!(message.properties[0].1, number.as_bytes());
    assert!(message.key.is_some());
    number.parse().unwrap()
}

/// Receives the ten, gives one back, settles the others; only that one comes again.
async fn members_are_settled_one_by_one(compression: &str) {
    let broker = broker!();
    let python = python_or_skip!();
    let (client, topic) = (client(&broker), broker.topic("batches"));
    let opening = earliest(&client, &topic, SubscriptionType::Shared).nack_delay(Duration::from_millis(100));
    let consumer = within("a consumer", opening.open()).await.unwrap();
    publish_batch(python, &broker, &topic, compression, 10).await;

    let mut held = None;
    for expected in 0..10 {
        let message = receive(&consumer).await;
        assert_eq!(number(&message), expected);
        assert_eq!(message.id.batch_index, i32::try_from(expected).unwrap());
        match expected {
            3 => consumer.nack(message.ticket).unwrap(),
            7 => held = Some(message),
            _ => ack(&consumer, message.ticket).await,
        }
    }
    let again = receive(&consumer).await;
    assert_eq!((number(&again), again.redelivery_count), (3, 1));
    assert!(is_quiet(&consumer, Duration::from_millis(200)).await);
    ack(&consumer, again.ticket).await;
    assert_eq!(broker.admin().backlog(&topic, SUB), 1);
    ack(&consumer, held.unwrap().ticket).await;
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
    eventually("broker and client agree about the permits", || {
        let theirs = broker.admin().stats(&topic).subscription(SUB).consumers[0].permits;
        theirs == consumer.stats()[0].permits
    });
    assert_eq!(consumer.stats()[0].held, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_plain_batch_are_settled_one_by_one() {
    members_are_settled_one_by_one("NONE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_an_lz4_batch_are_settled_one_by_one() {
    members_are_settled_one_by_one("LZ4").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_zlib_batch_are_settled_one_by_one() {
    members_are_settled_one_by_one("ZLib").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_zstd_batch_are_settled_one_by_one() {
    members_are_settled_one_by_one("ZSTD").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_snappy_batch_are_settled_one_by_one() {
    members_are_settled_one_by_one("SNAPPY").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_one_is_a_batch() {
    let broker = broker!();
    let python = python_or_skip!();
    let (client, topic) = (client(&broker), broker.topic("batch-of-one"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    publish_batch(python, &broker, &topic, "LZ4", 1).await;
    let message = receive(&consumer).await;
    assert_eq!(number(&message), 0);
    ack(&consumer, message.ticket).await;
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_settled_before_the_session_ended_is_not_handed_out_again() {
    let broker = broker!();
    let python = python_or_skip!();
    let (client, topic) = (client(&broker), broker.topic("batch-unloaded"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    publish_batch(python, &broker, &topic, "ZSTD", 10).await;
    let mut held = Vec::new();
    for expected in 0..10 {
        let message = receive(&consumer).await;
        assert_eq!(number(&message), expected);
        if expected < 5 {
            ack(&consumer, message.ticket).await;
        } else {
            held.push(message.ticket);
        }
    }
    tokio::task::block_in_place(|| {
        broker.admin().unload(&topic);
        eventually("the consumer is back", || {
            let stats = broker.admin().stats(&topic);
            consumer.stats()[0].health == Health::Open && stats.subscription(SUB).consumers.len() == 1
        });
    });
    assert!(is_quiet(&consumer, Duration::from_secs(1)).await);
    for ticket in held {
        ack(&consumer, ticket).await;
    }
    eventually("the entry is acknowledged", || {
        broker.admin().backlog(&topic, SUB) == 0
    });
}
