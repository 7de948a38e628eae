//! Topics with partitions: the queue is the topic, not the partition.

use std::collections::BTreeSet;

use babelqueue_pulsar::pulsar_tokio::Message;
use babelqueue_pulsar::{Consumer, Envelope, SubscriptionType, dead_letter_topic, short_name};
use pulsar_testing::broker;
use serde_json::json;

use crate::support::{
    Diary, ORDER, SUB, Scene, dead_letter, offline, order, payload, poll, property, within,
};

on_every_type!(retries_of_a_partitioned_topic_come_back_to_the_same_subscription);

async fn retries_of_a_partitioned_topic_come_back_to_the_same_subscription(kind: SubscriptionType) {
    let scene = Scene::partitioned(broker!(), "partitioned", 4);
    let diary = Diary::default();
    let (notes, queue) = (diary.clone(), scene.queue().to_owned());
    let builder = Consumer::builder().handler(ORDER, move |envelope, message| {
        assert_eq!(envelope.meta().queue(), queue);
        notes.note(format!("{} {}", envelope.attempts(), envelope.meta().id()));
        notes.note(format!("topic {}", message.topic()));
        let attempts = envelope.attempts();
        async move { if attempts == 0 { Err(offline()) } else { Ok(()) } }
    });
    let consumer = scene.consumer(kind, builder).await;
    let publisher = scene.publisher().await;
    let mut ids = BTreeSet::new();
    for n in 0..12 {
        let id = publisher.publish(ORDER, &json!({"n": n})).await;
        ids.insert(id.expect("a message").to_string());
    }

    for _ in 0..24 {
        poll(&consumer).await;
    }

    assert_eq!(scene.backlog(), 0);
    for attempts in ["0 ", "1 "] {
        let lines = diary.lines();
        let seen: Vec<_> = lines
            .iter()
            .filter_map(|line| line.strip_prefix(attempts))
            .collect();
        assert_eq!(seen.len(), 12);
        assert_eq!(seen.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), ids);
    }
    let topics: BTreeSet<_> = diary
        .lines()
        .iter()
        .filter(|line| line.starts_with("topic "))
        .cloned()
        .collect();
    let expected: BTreeSet<_> = (0..4)
        .map(|index| format!("topic {}-partition-{index}", scene.topic))
        .collect();
    assert_eq!(topics, expected);
    assert_eq!(scene.written(&scene.topic).await.len(), 24);
}

#[tokio::test]
async fn a_dead_letter_names_the_topic_without_its_partition() {
    let scene = Scene::partitioned(broker!(), "partitioned-dlq", 4);
    let diary = Diary::default();
    scene.send(order().key("customer-12")).await;
    let builder = Consumer::builder().max_attempts(2).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(SubscriptionType::Shared, builder).await;

    poll(&consumer).await;
    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    let record = scene.dead_lettered().await;
    assert_eq!(dead_letter(&record)["original_queue"], scene.queue());
    let written = scene.written(&scene.topic).await;
    let topics: BTreeSet<_> = written.iter().map(|message| message.topic.clone()).collect();
    assert_eq!(topics.len(), 1, "the key keeps the retry in its partition");
}

#[tokio::test]
async fn a_subscription_of_one_partition_retries_to_that_partition() {
    let scene = Scene::partitioned(broker!(), "single", 4);
    let partition = format!("{}-partition-2", scene.topic);
    let producer = scene.producer(&partition).await;
    within("a receipt", producer.send(order()))
        .await
        .expect("a receipt");
    let diary = Diary::default();
    let builder = Consumer::builder().max_attempts(2).handler(ORDER, diary.fails());
    let subscription = scene
        .pulsar()
        .subscription(&partition, SUB)
        .initial_position(babelqueue_pulsar::InitialPosition::Earliest)
        .dead_letters();
    let consumer = within("a consumer", subscription.open(builder))
        .await
        .expect("a consumer");

    poll(&consumer).await;
    poll(&consumer).await;

    assert_eq!(scene.admin().backlog(&partition, SUB), 0);
    assert_eq!(diary.count("run "), 2);
    let written: Vec<Message> = scene.written(&scene.topic).await;
    assert!(written.iter().all(|message| *message.topic == *partition));
    assert_eq!(
        written
            .iter()
            .map(|message| property(message, "bq-attempts"))
            .collect::<Vec<_>>(),
        [None, Some("1".into())]
    );
    assert!(!scene.admin().exists(&format!("{partition}-partition-0")));
    let dlq = dead_letter_topic(&partition);
    let records = scene
        .kept(&dlq, babelqueue_pulsar::DEAD_LETTER_SUBSCRIPTION)
        .await;
    assert_eq!(records.len(), 1);
    assert_eq!(dead_letter(&records[0])["original_queue"], short_name(&partition));
}

#[tokio::test]
async fn a_publisher_uses_every_partition_and_keeps_a_key_in_one() {
    let scene = Scene::partitioned(broker!(), "spread", 4);
    let publisher = scene.publisher().await;
    for n in 0..8 {
        let id = publisher.publish(ORDER, &json!({"n": n})).await;
        id.expect("a message");
        let id = publisher
            .publish(ORDER, &json!({"n": n}))
            .key("customer-12")
            .await;
        id.expect("a message");
    }

    let written = scene.written(&scene.topic).await;
    let topics = |keyed: bool| -> BTreeSet<_> {
        let those = written.iter().filter(|message| message.key.is_some() == keyed);
        those.map(|message| message.topic.clone()).collect()
    };
    assert_eq!(topics(false).len(), 4);
    assert_eq!(topics(true).len(), 1);
    for message in &written {
        let envelope = Envelope::decode(&payload(message)).expect("an envelope");
        assert_eq!(envelope.meta().queue(), scene.queue());
    }
}
