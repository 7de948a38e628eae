//! Sends through cuts, limits and rivals.

use std::time::Duration;

use pulsar_testing::{Broker, broker, eventually};
use pulsar_tokio::{Batching, ErrorKind, Health, NewMessage, ServerError, SubscriptionType};
use pulsar_wire::proto::{MessageMetadata, ProducerAccessMode};

use crate::raw::RawProducer;
use crate::scene::*;
use crate::support::*;

const SENDS: usize = 500;
const CUTS: usize = 4;
const BATCH: u32 = 30;

fn batches() -> Batching {
    // So long that only full ones leave while the sends go on.
    Batching::new()
        .max_messages(BATCH)
        .max_delay(Duration::from_millis(500))
}

/// Every one of the sends is stored in each of five sessions and receipted in none but the last.
/// The number of copies that are too many.
async fn sends_through_cuts(broker: Broker, batching: Option<Batching>, deduplicates: bool) -> usize {
    let namespace = broker.namespace("cuts");
    broker.admin().set_deduplication(&namespace, deduplicates);
    let topic = broker.topic_in(&namespace, "cuts");
    let scene = Scene::on(broker, topic);
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let mut opening = scene.client.producer(&scene.topic).send_timeout(Duration::ZERO);
    if let Some(batching) = batching {
        opening = opening.batching(batching);
    }
    let producer = within("a producer", opening.open()).await.unwrap();
    scene.proxy.withhold("SEND_RECEIPT");
    let mut receipts = Vec::new();
    for number in 0..SENDS {
        let message = NewMessage::new(number.to_string());
        receipts.push(producer.enqueue(message).await.unwrap());
    }
    // The first leaves alone, having found nothing on its way.
    let entries = batching.map_or(SENDS, |_| 1 + (SENDS - 1).div_ceil(BATCH as usize));
    for session in 1..=CUTS + 1 {
        eventually("all are stored once more", || {
            scene.proxy.kept_back("SEND_RECEIPT") >= session * entries
        });
        assert_eq!(producer.pending(), SENDS);
        if session <= CUTS {
            scene.proxy.cut();
        }
    }
    scene.proxy.pass("SEND_RECEIPT");
    for receipt in receipts {
        within("a receipt", receipt)
            .await
            .expect("what is stored is no failure");
    }
    let mut tally = Tally::default();
    while tally.different() < SENDS || scene.broker.admin().backlog(&scene.topic, SUB) > 0 {
        match consumer.try_receive().unwrap() {
            None => tokio::time::sleep(Duration::from_millis(20)).await,
            Some(message) => tally.note(&consumer, &message),
        }
    }
    tally.ends().await;
    assert_eq!(tally.different(), SENDS);
    scene.is_settled(&consumer).await;
    tally.duplicates()
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_without_receipts_survive_four_cuts_and_come_at_most_once_more_for_each() {
    let duplicates = sends_through_cuts(broker!(), None, false).await;
    println!("{SENDS} sends, {CUTS} cuts: {duplicates} duplicates");
    assert!(duplicates <= CUTS * SENDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_without_receipts_survive_four_cuts_once_where_the_broker_deduplicates() {
    assert_eq!(sends_through_cuts(broker!(), None, true).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_without_receipts_survive_four_cuts_and_come_at_most_once_more_for_each() {
    let duplicates = sends_through_cuts(broker!(), Some(batches()), false).await;
    println!("{SENDS} sends in batches, {CUTS} cuts: {duplicates} duplicates");
    assert!(duplicates <= CUTS * SENDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_without_receipts_survive_four_cuts_once_where_the_broker_deduplicates() {
    assert_eq!(sends_through_cuts(broker!(), Some(batches()), true).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_is_shut_out_says_so_and_goes_on_afterwards() {
    let scene = Scene::new(broker!(), "fenced");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    within("a receipt", producer.send(NewMessage::new("before")))
        .await
        .unwrap();

    let mode = ProducerAccessMode::ExclusiveWithFencing;
    let mut rival = RawProducer::open_with(scene.broker.url(), &scene.topic, mode).await;
    rival.publish(MessageMetadata::default(), b"rival").await;
    let receipt = producer.enqueue(NewMessage::new("meanwhile")).await.unwrap();
    eventually("the producer says why it is away", || {
        let kind = producer.last_error().map(|error| error.kind());
        kind == Some(ErrorKind::Refused(ServerError::ProducerBusy))
    });
    assert_eq!(producer.health(), Health::Reconnecting);

    drop(rival);
    scene.resumes(&producer, &consumer).await;
    within("a receipt", receipt).await.unwrap();
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publish_limit_does_not_slow_the_consumer_of_the_same_client() {
    const COUNT: usize = 400;
    let broker = broker!();
    let namespace = broker.namespace("limited");
    broker.admin().limit_publishing(&namespace, Some(20));
    let limited = broker.topic_in(&namespace, "limited");
    let scene = Scene::new(broker, "unlimited");
    publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let opening = scene
        .client
        .producer(&limited)
        .send_timeout(Duration::ZERO)
        .open();
    let producer = within("a producer", opening).await.unwrap();
    let mut receipts = Vec::new();
    for _ in 0..100 {
        receipts.push(producer.enqueue(NewMessage::new("x")).await.unwrap());
    }
    let start = std::time::Instant::now();
    drain(&consumer, COUNT).await;
    let took = start.elapsed();
    assert!(producer.pending() > 0, "the limit holds");
    assert!(took < Duration::from_secs(2), "consuming took {took:?}");
    scene.is_settled(&consumer).await;
    scene.broker.admin().limit_publishing(&namespace, None);
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
}
