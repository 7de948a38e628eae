//! The producers that a consumer makes and those that it is given.

use std::time::Duration;

use babelqueue_pulsar::pulsar_tokio::Health;
use babelqueue_pulsar::{Consumer, DEAD_LETTER_SUBSCRIPTION, GivenSubscription, SubscriptionType};
use pulsar_testing::broker;
use tokio::sync::oneshot;

use crate::support::{Diary, ORDER, Scene, body, closed_within_patience, order, poll, text, until, within};

on_every_type!(the_retry_producer_is_made_by_the_first_retry_and_closed_with_the_consumer);

async fn the_retry_producer_is_made_by_the_first_retry_and_closed_with_the_consumer(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "lazy");
    let producers = || scene.admin().stats(&scene.topic).producers.len();
    let diary = Diary::default();
    scene
        .send_all([order().property("bq-job", "urn:done"), order(), order()])
        .await;
    let builder = Consumer::builder()
        .handler("urn:done", diary.succeeds())
        .handler(ORDER, diary.fails());
    let consumer = scene.consumer(kind, builder).await;

    poll(&consumer).await;
    assert_eq!(producers(), 0);
    for _ in 0..3 {
        poll(&consumer).await;
        assert_eq!(producers(), 1);
    }
    closed_within_patience(&consumer).await;

    assert_eq!(producers(), 0);
    assert!(
        scene
            .admin()
            .stats(&scene.topic)
            .subscription("workers")
            .consumers
            .is_empty()
    );
}

#[tokio::test]
async fn closing_a_consumer_leaves_open_what_the_user_opened() {
    let scene = Scene::new(broker!(), "given");
    let diary = Diary::default();
    scene.send_all([order(), order()]).await;
    let subscription = scene.given(SubscriptionType::Exclusive).await;
    let dead_letters = scene.producer(&scene.dlq).await;
    let consumer = GivenSubscription::new(subscription.clone())
        .client(&scene.client)
        .dead_letter_producer(dead_letters.clone())
        .build(Consumer::builder().handler(ORDER, diary.fails()))
        .expect("settings");
    poll(&consumer).await;
    assert_eq!(scene.admin().stats(&scene.topic).producers.len(), 1);

    closed_within_patience(&consumer).await;

    assert_eq!(scene.admin().stats(&scene.topic).producers.len(), 0);
    assert_eq!(dead_letters.health(), Health::Open);
    within("a receipt", dead_letters.send(order()))
        .await
        .expect("a receipt");
    let next = within("the next message", subscription.receive()).await;
    let next = next.expect("the next message");
    within("a confirmation", subscription.ack(next.ticket))
        .await
        .expect("a confirmation");
}

#[tokio::test]
async fn a_given_retry_producer_takes_every_retry_and_stays_open() {
    let scene = Scene::new(broker!(), "given-retry");
    let diary = Diary::default();
    scene.send(order()).await;
    let retries = scene.producer(&scene.dlq).await;
    let consumer = GivenSubscription::new(scene.given(SubscriptionType::Exclusive).await)
        .client(&scene.client)
        .retry_producer(retries.clone())
        .build(Consumer::builder().handler(ORDER, diary.fails()))
        .expect("settings");

    poll(&consumer).await;
    closed_within_patience(&consumer).await;

    assert_eq!(text(&scene.dead_lettered().await), body(ORDER, 1));
    assert_eq!(scene.backlog(), 0);
    assert_eq!(retries.health(), Health::Open);
}

#[tokio::test]
async fn the_dead_letter_topic_keeps_records_although_nobody_reads_it() {
    let broker = broker!();
    let topic = broker.topic("kept");
    let scene = Scene::on(broker, topic);
    scene.admin().delete(&scene.dlq, true);
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = Consumer::builder().max_attempts(1).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(SubscriptionType::Shared, builder).await;
    assert_eq!(scene.admin().backlog(&scene.dlq, DEAD_LETTER_SUBSCRIPTION), 0);

    poll(&consumer).await;
    closed_within_patience(&consumer).await;

    assert_eq!(scene.admin().backlog(&scene.dlq, DEAD_LETTER_SUBSCRIPTION), 1);
}

#[tokio::test]
async fn dead_letters_may_go_to_a_topic_of_any_name() {
    let scene = Scene::new(broker!(), "elsewhere");
    let diary = Diary::default();
    scene.send(order()).await;
    let elsewhere = scene.broker.topic("graveyard");
    let builder = Consumer::builder().max_attempts(1).handler(ORDER, diary.fails());
    let subscription = scene
        .subscription(SubscriptionType::Shared)
        .dead_letters_to(&elsewhere);
    let consumer = within("a consumer", subscription.open(builder))
        .await
        .expect("a consumer");

    poll(&consumer).await;

    assert_eq!(scene.admin().backlog(&elsewhere, DEAD_LETTER_SUBSCRIPTION), 1);
    scene.nothing_written(1).await;
}

#[tokio::test]
async fn failed_writes_do_not_multiply_producers() {
    let scene = Scene::new(broker!(), "down");
    let diary = Diary::default();
    scene.send_all(std::iter::repeat_n(order(), 50)).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene
        .consumer_with_dlq(SubscriptionType::Shared, builder.max_attempts(1))
        .await;
    scene.admin().terminate(&scene.dlq);
    let producers = || scene.admin().stats(&scene.dlq).producers.len();
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(async move {
        consumer.run(async { stopped.await.unwrap_or(()) }).await;
        consumer
    });

    until("a few writes failed", || {
        assert!(producers() <= 1);
        diary.count("error Write") >= 5
    })
    .await;
    assert_eq!(scene.backlog(), 50);
    scene.admin().delete(&scene.dlq, true);
    until("all is settled", || scene.backlog() == 0).await;

    assert_eq!(producers(), 1);
    let records = scene.kept(&scene.dlq, DEAD_LETTER_SUBSCRIPTION).await;
    assert_eq!(records.len(), 50);
    stop.send(()).expect("the worker is there");
    let consumer = within("the worker's end", worker).await.expect("no panic");
    closed_within_patience(&consumer).await;
    tokio::time::timeout(
        Duration::from_secs(5),
        until("the producer is gone", || producers() == 0),
    )
    .await
    .expect("the producer is gone");
}
