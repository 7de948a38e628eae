//! How often a message is delivered before it is given up.

use babelqueue_pulsar::{Consumer, GivenSubscription, SubscriptionType};
use pulsar_testing::broker;

use crate::support::{Diary, ORDER, Scene, body, dead_letter, order, poll, property, text};

on_every_type!(
    a_cap_of_1_means_no_retry,
    a_cap_of_3_means_three_deliveries,
    a_cap_of_10_means_ten_deliveries;
    only where counted: the_brokers_count_alone_reaches_the_cap_where_messages_are_given_back,
);

async fn a_cap_of_1_means_no_retry(kind: SubscriptionType) {
    dead_lettered_after(1, Scene::new(broker!(), "cap-1"), kind).await;
}

async fn a_cap_of_3_means_three_deliveries(kind: SubscriptionType) {
    dead_lettered_after(3, Scene::new(broker!(), "cap-3"), kind).await;
}

async fn a_cap_of_10_means_ten_deliveries(kind: SubscriptionType) {
    dead_lettered_after(10, Scene::new(broker!(), "cap-10"), kind).await;
}

async fn dead_lettered_after(cap: u32, scene: Scene, kind: SubscriptionType) {
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = Consumer::builder()
        .max_attempts(cap)
        .handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    for _ in 0..cap {
        poll(&consumer).await;
    }

    let expected: Vec<_> = (0..cap)
        .map(|attempts| format!("run {ORDER} {attempts}"))
        .collect();
    assert_eq!(diary.lines(), expected);
    assert_eq!(scene.backlog(), 0);
    let written = scene.written(&scene.topic).await;
    let counts: Vec<_> = written
        .iter()
        .map(|message| property(message, "bq-attempts"))
        .collect();
    let expected: Vec<_> = (0..cap)
        .map(|count| (count > 0).then(|| count.to_string()))
        .collect();
    assert_eq!(counts, expected);
    let record = scene.dead_lettered().await;
    assert_eq!(dead_letter(&record)["attempts"], cap);
    assert_eq!(property(&record, "bq-attempts"), Some(cap.to_string()));
}

async fn the_brokers_count_alone_reaches_the_cap_where_messages_are_given_back(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "cap-nacked");
    let diary = Diary::default();
    scene.send(order()).await;
    let dead_letters = scene.producer(&scene.dlq).await;
    let builder = Consumer::builder().handler(ORDER, diary.fails());
    let consumer = GivenSubscription::new(scene.given(kind).await)
        .dead_letter_producer(dead_letters)
        .build(builder)
        .expect("settings");

    for _ in 0..3 {
        poll(&consumer).await;
    }

    let expected: Vec<_> = (0..3).map(|attempts| format!("run {ORDER} {attempts}")).collect();
    assert_eq!(diary.lines(), expected);
    assert_eq!(scene.backlog(), 0);
    let written = scene.written(&scene.topic).await;
    assert_eq!(written.iter().map(text).collect::<Vec<_>>(), [body(ORDER, 0)]);
    let record = scene.dead_lettered().await;
    assert_eq!(dead_letter(&record)["attempts"], 3);
    assert_eq!(property(&record, "bq-attempts"), Some("3".into()));
}
