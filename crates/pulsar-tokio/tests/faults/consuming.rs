//! Consuming through cuts, and permits that go missing.

use std::time::Duration;

use pulsar_testing::{Broker, Profile, broker, eventually, own_broker};
use pulsar_tokio::{Consumer, NewMessage, SubscriptionType};
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::{MessageMetadata, SingleMessageMetadata};

use crate::raw::RawProducer;
use crate::scene::*;
use crate::support::*;

const CUTS: usize = 5;
const STALL_CHECK: Duration = Duration::from_millis(100);
/// What a consumer may have unacknowledged where that is limited.
const UNACKED: u32 = 10;

/// Consumes everything while the connection is cut five times: nothing is lost, and nothing is
/// handed out twice since what was settled is known over the cuts.
async fn consumes_through_cuts(scene: &Scene, kind: SubscriptionType, count: usize) {
    let consumer = consumer(&scene.client, &scene.topic, kind).await;
    let mut tally = Tally::default();
    for cut in 1..=CUTS {
        while tally.different() < count * cut / (CUTS + 1) {
            tally.one(&consumer).await;
        }
        scene.proxy.cut();
    }
    while tally.different() < count {
        tally.one(&consumer).await;
    }
    let (confirmed, lost) = tally.ends().await;
    println!(
        "{kind}: {count} consumed, {CUTS} cuts: {} duplicates, {confirmed} acknowledgements confirmed, {lost} lost",
        tally.duplicates()
    );
    assert_eq!(tally.duplicates(), 0);
    scene.is_settled(&consumer).await;
    let stats = &consumer.stats()[0];
    assert_eq!((stats.queued, stats.unanswered_acks), (0, 0));
}

async fn singles_through_cuts(broker: Broker, kind: SubscriptionType) {
    const COUNT: usize = 20_000;
    let scene = Scene::new(broker, "consumed");
    publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
    consumes_through_cuts(&scene, kind, COUNT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_are_consumed_through_five_cuts_shared() {
    singles_through_cuts(broker!(), SubscriptionType::Shared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_are_consumed_through_five_cuts_exclusive() {
    singles_through_cuts(broker!(), SubscriptionType::Exclusive).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_types_consume_through_five_cuts_too() {
    for kind in [SubscriptionType::Failover, SubscriptionType::KeyShared] {
        const COUNT: usize = 3_000;
        let scene = Scene::new(broker!(), "consumed");
        publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
        consumes_through_cuts(&scene, kind, COUNT).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_consumed_through_five_cuts_and_settled_members_do_not_run_again() {
    batches_through_cuts(broker!()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_consumed_through_five_cuts_where_the_broker_knows_members() {
    batches_through_cuts(own_broker!("tokio-members", Profile::batch_index())).await;
}

async fn batches_through_cuts(broker: Broker) {
    const BATCHES: usize = 300;
    const OF: usize = 10;
    let scene = Scene::new(broker, "batches");
    let mut raw = RawProducer::open(scene.broker.url(), &scene.topic).await;
    for number in 0..BATCHES {
        let mut batch = BatchBuilder::new();
        for member in 0..OF {
            let text = (number * OF + member).to_string();
            batch.push(SingleMessageMetadata::default(), text.as_bytes());
        }
        let metadata = MessageMetadata {
            num_messages_in_batch: i32::try_from(OF).ok(),
            ..MessageMetadata::default()
        };
        raw.publish(metadata, &batch.finish()).await;
    }
    consumes_through_cuts(&scene, SubscriptionType::Shared, BATCHES * OF).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_permits_are_noticed_and_deliveries_go_on() {
    const COUNT: usize = 100;
    let scene = Scene::new(broker!(), "stalled");
    let opening = earliest(&scene.client, &scene.topic, SubscriptionType::Shared)
        .receive_window(20)
        // So that all of it is granted at once.
        .receive_window_bytes(1 << 30)
        .stall_check(Duration::from_millis(500))
        .open();
    let consumer = within("a consumer", opening).await.unwrap();
    accounts_agree(&consumer).await;
    scene.proxy.lose("FLOW");
    publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
    drain(&consumer, 20).await;
    eventually("permits are lost", || scene.proxy.kept_back("FLOW") > 0);
    scene.proxy.pass("FLOW");
    drain(&consumer, COUNT - 20).await;
    assert_eq!(consumer.stats()[0].stalls_cured, 1);
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_looks_like_a_stall_is_left_alone() {
    let scene = Scene::new(broker!(), "quiet");
    let watched = |topic: &str, kind: SubscriptionType| {
        earliest(&scene.client, topic, kind)
            .stall_check(Duration::from_millis(100))
            .open()
    };
    let failover = format!("{}-failover", scene.topic);
    let active = within("a consumer", watched(&failover, SubscriptionType::Failover))
        .await
        .unwrap();
    let standby = within("a consumer", watched(&failover, SubscriptionType::Failover))
        .await
        .unwrap();
    publish(&producer(&scene.client, &failover).await, 3).await;
    let waits = within("a consumer", watched(&scene.topic, SubscriptionType::Shared))
        .await
        .unwrap();
    let delayed = NewMessage::new("later").deliver_at_ms(i64::MAX / 2);
    let producer = producer(&scene.client, &scene.topic).await;
    within("a receipt", producer.send(delayed)).await.unwrap();

    // Ten times the interval is what is tested.
    assert!(is_quiet(&waits, Duration::from_secs(1)).await);
    for consumer in [&active, &standby, &waits] {
        assert_eq!(consumer.stats()[0].stalls_cured, 0);
        accounts_agree(consumer).await;
    }
    let had = [&active, &standby].map(|consumer| consumer.stats()[0].queued);
    assert_eq!(had.iter().sum::<usize>(), 3);
}

/// The broker says that the consumer is blocked, and so it stays for ten intervals of the stall check.
async fn is_blocked_and_left_alone(consumer: &Consumer) {
    let blocked = within("the broker's account", async {
        while !consumer.broker_stats().await.is_ok_and(|stats| stats[0].blocked) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    blocked.await;
    assert!(is_quiet(consumer, 10 * STALL_CHECK).await);
    assert_eq!(consumer.stats()[0].stalls_cured, 0);
}

async fn watched(scene: &Scene, kind: SubscriptionType) -> Consumer {
    let opening = earliest(&scene.client, &scene.topic, kind)
        .stall_check(STALL_CHECK)
        .open();
    within("a consumer", opening).await.unwrap()
}

fn with_few_unacked(broker: Broker) -> Scene {
    let namespace = broker.namespace("blocked");
    broker.admin().limit_unacked(&namespace, UNACKED);
    let topic = broker.topic_in(&namespace, "blocked");
    Scene::on(broker, topic)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_is_blocked_by_what_it_holds_is_left_alone_and_goes_on_when_that_is_settled() {
    const COUNT: usize = 100;
    for kind in [SubscriptionType::Shared, SubscriptionType::KeyShared] {
        let scene = with_few_unacked(broker!());
        let consumer = watched(&scene, kind).await;
        publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
        let mut held = vec![receive(&consumer).await];
        while let Ok(message) = tokio::time::timeout(STALL_CHECK, consumer.receive()).await {
            held.push(message.unwrap());
        }
        assert!(held.len() < COUNT, "{} came", held.len());
        is_blocked_and_left_alone(&consumer).await;
        let received = held.len();
        for message in held {
            ack(&consumer, message.ticket).await;
        }
        drain(&consumer, COUNT - received).await;
        assert_eq!(consumer.stats()[0].stalls_cured, 0);
        scene.is_settled(&consumer).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_is_blocked_by_chunks_it_cannot_settle_is_left_alone() {
    let scene = with_few_unacked(broker!());
    // One permit, since what is given back while it is blocked is not in the broker's account.
    let opening = earliest(&scene.client, &scene.topic, SubscriptionType::Shared)
        .receive_window(1)
        .stall_check(STALL_CHECK)
        .open();
    let consumer = within("a consumer", opening).await.unwrap();
    let mut raw = RawProducer::open(scene.broker.url(), &scene.topic).await;
    for chunk_id in 0..2 * UNACKED as i32 {
        let metadata = MessageMetadata {
            uuid: Some("one".into()),
            num_chunks_from_msg: Some(1_000),
            chunk_id: Some(chunk_id),
            total_chunk_msg_size: Some(1_000),
            ..MessageMetadata::default()
        };
        raw.publish(metadata, b"x").await;
    }
    is_blocked_and_left_alone(&consumer).await;
    let stats = &consumer.stats()[0];
    assert_eq!((stats.held, stats.queued), (0, 0));
    let brokers = &consumer.broker_stats().await.unwrap()[0];
    assert_eq!((brokers.permits, brokers.our_permits), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_whose_keys_are_still_with_another_is_left_alone_and_gets_them_afterwards() {
    const COUNT: usize = 50;
    let scene = Scene::new(broker!(), "draining");
    let first = watched(&scene, SubscriptionType::KeyShared).await;
    let producer = producer(&scene.outside(), &scene.topic).await;
    publish(&producer, COUNT).await;
    let mut held = Vec::new();
    for _ in 0..COUNT {
        held.push(receive(&first).await);
    }
    let second = watched(&scene, SubscriptionType::KeyShared).await;
    // The same keys: what now belongs to the second waits until the first has settled them.
    publish(&producer, COUNT).await;
    assert!(is_quiet(&second, 10 * STALL_CHECK).await);
    for message in held {
        ack(&first, message.ticket).await;
    }
    let mut of_second = 0;
    while scene.broker.admin().backlog(&scene.topic, SUB) > 0 {
        while let Some(message) = first.try_receive().unwrap() {
            ack(&first, message.ticket).await;
        }
        while let Some(message) = second.try_receive().unwrap() {
            ack(&second, message.ticket).await;
            of_second += 1;
        }
    }
    assert!(of_second > 0);
    for consumer in [&first, &second] {
        assert_eq!(consumer.stats()[0].stalls_cured, 0);
        accounts_agree(consumer).await;
    }
}
