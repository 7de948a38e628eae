//! Rows 1 to 6 of the decision table: what no handler may see.

use babelqueue_pulsar::pulsar_tokio::NewMessage;
use babelqueue_pulsar::{Consumer, GivenSubscription, SubscriptionType, dead_letter};
use pulsar_testing::broker;

use crate::support::{
    Diary, ORDER, SUB, Scene, body, closed_within_patience, dead_letter, order, payload, poll, properties,
    sorted, text, within,
};

on_every_type!(
    row_1_a_gated_message_goes_to_the_dead_letters_as_it_came,
    row_2_a_gated_message_without_dead_letters_is_dropped,
    row_3_poison_goes_to_the_dead_letters_at_once,
    row_3_the_hook_gets_the_envelope_of_poison_that_can_be_read,
    row_4_poison_without_dead_letters_is_retried_byte_for_byte,
    row_6_poison_without_dead_letters_is_dropped_at_the_cap;
    only where counted: row_5_poison_without_a_producer_is_given_back,
);

const POISON: &[u8] = b" {\"trace_id\":\"t\" , \"n\":1e400}\xff";
const GATED: &str =
    "error UnsupportedSchemaVersion - message: unsupported schema version \"2\", supported is 1";

fn gated() -> NewMessage {
    NewMessage::new(body(ORDER, 0))
        .property("bq-schema-version", "2")
        .property("bq-attempts", "7")
        .property("x", "1")
}

async fn row_1_a_gated_message_goes_to_the_dead_letters_as_it_came(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-1");
    let diary = Diary::default();
    scene.send(gated().key("k")).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.lines(), [GATED]);
    let record = scene.dead_lettered().await;
    let sent = &scene.written(&scene.topic).await[0];
    assert_eq!(payload(&record), payload(sent));
    assert_eq!(properties(&record), properties(sent));
    assert_eq!(record.key, sent.key);
}

async fn row_2_a_gated_message_without_dead_letters_is_dropped(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-2");
    let diary = Diary::default();
    scene.send(gated()).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.lines(), [GATED]);
    scene.nothing_written(1).await;
}

async fn row_3_poison_goes_to_the_dead_letters_at_once(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-3");
    let diary = Diary::default();
    let message = NewMessage::new(POISON)
        .property("bq-job", ORDER)
        .property("x", "1");
    scene.send(message).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.count("error Poison - message: "), 1);
    assert_eq!(diary.lines().len(), 1);
    let record = scene.dead_lettered().await;
    let block = dead_letter(&record);
    assert_eq!(
        (&block["reason"], &block["attempts"]),
        (&"poison".into(), &1.into())
    );
    assert_eq!(block["original_queue"], scene.queue());
    let restored = dead_letter::restore(&payload(&record)).expect("a record");
    assert_eq!(restored.into_body(), POISON);
    let sent = &scene.written(&scene.topic).await[0];
    assert_eq!(properties(&record), properties(sent));
}

async fn row_3_the_hook_gets_the_envelope_of_poison_that_can_be_read(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-3-read");
    let diary = Diary::default();
    let newer = body(ORDER, 0).replace("\"schema_version\":1", "\"schema_version\":2");
    scene.send(NewMessage::new(newer)).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(diary.count("error Poison envelope message: "), 1);
    assert_eq!(dead_letter(&scene.dead_lettered().await)["reason"], "poison");
}

async fn row_4_poison_without_dead_letters_is_retried_byte_for_byte(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-4");
    let diary = Diary::default();
    scene
        .send(NewMessage::new(POISON).property("x", "1").key("k"))
        .await;
    let consumer = scene.consumer(kind, diary.hooks(Consumer::builder())).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 1, "the original is settled, its retry is there");
    assert_eq!(diary.count("error Poison - message: "), 1);
    let retry = scene.retried(1).await;
    assert_eq!(payload(&retry), POISON);
    assert_eq!(
        sorted(&retry),
        [("bq-attempts".into(), "1".into()), ("x".into(), "1".into())].into()
    );
    assert_eq!(retry.key, Some("k".into()));
}

async fn row_5_poison_without_a_producer_is_given_back(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-5");
    let diary = Diary::default();
    scene.send(NewMessage::new(POISON)).await;
    let subscription = scene.given(kind).await;
    let builder = diary.hooks(Consumer::builder());
    let consumer = GivenSubscription::new(subscription)
        .build(builder)
        .expect("settings");

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 1);
    assert_eq!(diary.count("error Poison - message: "), 1);
    scene.nothing_written(1).await;
    let again = within("the message", consumer.transport().subscription().receive()).await;
    assert_eq!(again.expect("the message").redelivery_count, 1);
}

async fn row_6_poison_without_dead_letters_is_dropped_at_the_cap(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-6");
    let diary = Diary::default();
    scene
        .send(NewMessage::new(POISON).property("bq-attempts", "2"))
        .await;
    let consumer = scene.consumer(kind, diary.hooks(Consumer::builder())).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.count("error Poison - message: "), 1);
    scene.nothing_written(1).await;
}

#[tokio::test]
async fn a_message_of_another_sdk_is_seen_as_it_was_sent() {
    let scene = Scene::new(broker!(), "witness");
    scene.send(order().property("x", "1")).await;
    let written = scene.written(&scene.topic).await;
    assert_eq!(text(&written[0]), body(ORDER, 0));
    assert!(!scene.admin().stats(&scene.topic).subscriptions.contains_key(SUB));
    let consumer = scene
        .consumer(SubscriptionType::Shared, Consumer::builder())
        .await;
    closed_within_patience(&consumer).await;
}
