//! Large messages, and messages that are too large. The broker takes 5 MiB, metadata included.

use std::error::Error;

use babelqueue_pulsar::pulsar_tokio::NewMessage;
use babelqueue_pulsar::{Consumer, PublishError, PublishErrorKind, Publisher, SubscriptionType};
use pulsar_testing::broker;
use serde_json::{Value, json};

use crate::support::{
    Diary, ORDER, Scene, body, closed_within_patience, order, payload, poll, properties, property, text,
    value_of,
};

const MIB: usize = 1 << 20;
const LIMIT: usize = 5 * MIB;

on_every_type!(
    a_dead_letter_that_is_too_large_is_written_as_it_came,
    a_poison_record_that_is_too_large_is_written_as_it_came,
    a_retry_that_is_too_large_is_written_without_what_was_filled_in,
    a_retry_that_is_too_large_for_its_count_is_given_up,
    a_message_that_is_too_large_for_the_dead_letter_topic_is_held_while_others_go_on,
);

#[tokio::test]
async fn four_mebibytes_make_a_round_trip() {
    let scene = Scene::new(broker!(), "4-mib");
    let text: String = ('a'..='z').cycle().take(4 * MIB).collect();
    let diary = Diary::default();
    let (notes, expected) = (diary.clone(), text.clone());
    let builder = Consumer::builder().handler(ORDER, move |envelope, _| {
        let data: Value = envelope.data().expect("data");
        notes.note(format!("equal {}", data["text"] == expected.as_str()));
        std::future::ready(Ok(()))
    });
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;

    let id = scene
        .publisher()
        .await
        .publish(ORDER, &json!({"text": text}))
        .await;
    id.expect("a message");
    poll(&consumer).await;

    assert_eq!(diary.lines(), ["equal true"]);
    assert_eq!(scene.backlog(), 0);
}

async fn publish(publisher: &Publisher, padding: usize) -> Result<(), PublishError> {
    let data = json!({"text": "x".repeat(padding)});
    publisher.publish(ORDER, &data).await.map(|_| ())
}

#[tokio::test]
async fn a_message_one_byte_above_the_limit_is_refused_before_anything_is_sent() {
    let scene = Scene::new(broker!(), "limit");
    let publisher = scene.publisher().await;

    let error = publish(&publisher, 6 * MIB).await.expect_err("6 MiB");
    assert_eq!(error.kind(), PublishErrorKind::TooLarge);
    assert!(!error.is_transient() && !error.is_indeterminate());
    assert!(error.to_string().contains(&scene.topic), "{error}");
    let fitting = 6 * MIB - (size_of(&error) - LIMIT);
    let above = publish(&publisher, fitting + 1).await.expect_err("one byte");
    assert_eq!(above.kind(), PublishErrorKind::TooLarge);
    assert_eq!(size_of(&above), LIMIT + 1);
    assert_eq!(scene.admin().stats(&scene.topic).msg_in_counter, 0);

    publish(&publisher, fitting).await.expect("the limit itself fits");
    assert_eq!(scene.written(&scene.topic).await.len(), 1);
}

/// The size that a refused message would have had.
fn size_of(error: &PublishError) -> usize {
    let cause = error.source().expect("a cause").to_string();
    let words = cause.split(" bytes with its metadata").next().expect("a text");
    let number = words.rsplit(' ').next().expect("a word");
    number.parse().unwrap_or_else(|_| panic!("no size in {cause:?}"))
}

/// An envelope of another SDK, without properties, that leaves `room` bytes below the limit for a body's
/// metadata and what a consumer adds.
fn large(room: usize) -> String {
    let body = body(ORDER, 0);
    let padding = "x".repeat(LIMIT - room - body.len() - r#","p":"""#.len());
    body.replace(r#""n":1"#, &format!(r#""n":1,"p":"{padding}""#))
}

async fn a_dead_letter_that_is_too_large_is_written_as_it_came(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "large-dead-letter");
    let diary = Diary::default();
    let body = large(200);
    scene.send(NewMessage::new(body.clone()).property("x", "1")).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder.max_attempts(1)).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(
        diary.lines()[1..],
        [
            "error HandlerFailed envelope message: probe offline".to_owned(),
            format!(
                "error Write envelope message: dead letter was not written to {}",
                scene.dlq
            )
        ]
    );
    assert_raw(&scene, body.as_bytes(), "failed").await;
}

/// The only dead letter is what was received, with its reason.
async fn assert_raw(scene: &Scene, body: &[u8], reason: &str) {
    let record = scene.dead_lettered().await;
    assert!(payload(&record) == body, "another body");
    let pairs = [("x", "1"), ("bq-dead-letter-reason", reason)];
    assert_eq!(
        properties(&record),
        pairs.map(|(key, value)| (key.to_owned().into(), value.to_owned().into()))
    );
}

async fn a_poison_record_that_is_too_large_is_written_as_it_came(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "large-poison");
    let diary = Diary::default();
    let body = vec![0xff; 4 * MIB];
    scene.send(NewMessage::new(body.clone()).property("x", "1")).await;
    let consumer = scene
        .consumer_with_dlq(kind, diary.hooks(Consumer::builder()))
        .await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.count("error Poison - message"), 1);
    assert_eq!(diary.count("error Write - message: poison record"), 1);
    assert_raw(&scene, &body, "poison").await;
}

async fn a_retry_that_is_too_large_is_written_without_what_was_filled_in(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "large-retry");
    let diary = Diary::default();
    scene.send(NewMessage::new(large(120))).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 1);
    assert_eq!(diary.count("error Write envelope message: retry"), 1);
    let retry = scene.retried(1).await;
    assert_eq!(properties(&retry), [("bq-attempts".into(), "1".into())]);
    assert_eq!(value_of(&retry)["attempts"], 1);
}

async fn a_retry_that_is_too_large_for_its_count_is_given_up(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "large-count");
    let diary = Diary::default();
    // Sent where the limit is, so that not even the count fits.
    let producer = scene.producer(&scene.topic).await;
    let mut room = 30;
    while producer.send(NewMessage::new(large(room))).await.is_err() {
        room += 1;
    }
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene.consumer(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.count("error Write envelope message: retry"), 2);
    scene.nothing_written(1).await;
    let sent = &scene.written(&scene.topic).await[0];
    assert_eq!(property(sent, "bq-attempts"), None);
    assert_eq!(text(sent).len(), LIMIT - room);
}

async fn a_message_that_is_too_large_for_the_dead_letter_topic_is_held_while_others_go_on(
    kind: SubscriptionType,
) {
    let scene = Scene::new(broker!(), "large-raw");
    let diary = Diary::default();
    // The producer's name counts, too. The one that a broker gives to the writer of dead letters is longer.
    let opening = scene.client.producer(&scene.topic).name("p").open();
    let producer = opening.await.expect("a producer");
    let gated = |room| NewMessage::new(vec![b'x'; LIMIT - room]).property("bq-schema-version", "2");
    let mut room = 30;
    while producer.send(gated(room)).await.is_err() {
        room += 1;
    }
    scene.send(order()).await;
    let builder = || diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder()).await;

    poll(&consumer).await;
    poll(&consumer).await;
    scene.admin().unload(&scene.topic);
    scene.send(order()).await;
    poll(&consumer).await;

    assert_eq!(diary.count("run "), 2);
    assert_eq!(diary.count("error Write - message: raw record"), 1);
    assert_eq!(scene.backlog(), 1);
    closed_within_patience(&consumer).await;
    let next = scene.consumer_with_dlq(kind, builder()).await;
    poll(&next).await;
    assert_eq!(diary.count("error Write - message: raw record"), 2);
    assert_eq!(scene.backlog(), 1);
}
