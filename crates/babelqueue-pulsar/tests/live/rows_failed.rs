//! Rows 8 to 16 of the decision table without 12: messages that failed, or that nobody handles.

use babelqueue_pulsar::pulsar_tokio::{Message, NewMessage};
use babelqueue_pulsar::{Consumer, ConsumerBuilder, GivenSubscription, SubscriptionType, dead_letter};
use pulsar_testing::broker;

use crate::support::{Diary, ORDER, Scene, body, dead_letter, order, payload, poll, sorted, text, within};

on_every_type!(
    row_8_a_message_nobody_handles_is_retried,
    row_10_a_message_nobody_handles_is_dead_lettered_at_the_cap,
    row_11_a_message_nobody_handles_is_dropped_at_the_cap_without_dead_letters,
    row_13_a_failed_message_is_retried_with_the_next_count,
    row_13_a_panic_is_a_failure,
    row_15_a_failed_message_is_dead_lettered_at_the_cap,
    row_16_a_failed_message_is_dropped_at_the_cap_without_dead_letters;
    only where counted:
        row_9_a_message_nobody_handles_is_given_back_without_a_producer,
        row_14_a_failed_message_is_given_back_without_a_producer,
);

const MOVED: &str = "urn:babel:orders:moved";

fn unknown(diary: &Diary) -> ConsumerBuilder {
    diary.hooks(Consumer::builder())
}

fn failing(diary: &Diary) -> ConsumerBuilder {
    diary.hooks(Consumer::builder()).handler(MOVED, diary.fails())
}

/// A message whose property routes it elsewhere than its body would.
fn moved() -> NewMessage {
    order()
        .property("bq-job", MOVED)
        .property("bq-delay", "500")
        .property("traceparent", "00-ab")
        .key("customer-12")
}

fn no_handler() -> [String; 2] {
    [
        format!("mismatch {MOVED} {ORDER}"),
        format!("error UnknownUrn envelope message: no handler for {MOVED}"),
    ]
}

fn handler_failed(attempts: i64) -> [String; 3] {
    [
        format!("mismatch {MOVED} {ORDER}"),
        format!("run {ORDER} {attempts}"),
        "error HandlerFailed envelope message: probe offline".into(),
    ]
}

/// The record of a message of [`moved`]: counted, and with what its producer left out.
fn assert_counted(record: &Message, attempts: i64) {
    let expected = [
        ("bq-job", MOVED),
        ("bq-trace-id", "t-1"),
        ("bq-message-id", "m-1"),
        ("bq-schema-version", "1"),
        ("bq-source-lang", "go"),
        ("bq-delay", "500"),
        ("traceparent", "00-ab"),
        ("bq-attempts", &attempts.to_string()),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(sorted(record), expected.into());
    assert_eq!(record.key, Some("customer-12".into()));
    assert_eq!((record.deliver_at_ms, record.event_time_ms), (None, None));
}

async fn row_8_a_message_nobody_handles_is_retried(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-8");
    let diary = Diary::default();
    scene.send(moved()).await;
    let consumer = scene.consumer_with_dlq(kind, unknown(&diary)).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), no_handler());
    assert_eq!(scene.backlog(), 1, "the original is settled, its retry is there");
    let retry = scene.retried(1).await;
    assert_eq!(text(&retry), body(ORDER, 1));
    assert_counted(&retry, 1);
}

async fn row_9_a_message_nobody_handles_is_given_back_without_a_producer(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-9");
    given_back(&scene, kind, unknown, &no_handler()).await;
}

async fn row_14_a_failed_message_is_given_back_without_a_producer(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-14");
    given_back(&scene, kind, failing, &handler_failed(0)).await;
}

async fn given_back(
    scene: &Scene,
    kind: SubscriptionType,
    builder: fn(&Diary) -> ConsumerBuilder,
    lines: &[String],
) {
    let diary = Diary::default();
    scene.send(moved()).await;
    let subscription = scene.given(kind).await;
    let consumer = GivenSubscription::new(subscription)
        .build(builder(&diary))
        .expect("settings");

    poll(&consumer).await;

    assert_eq!(diary.lines(), lines);
    assert_eq!(scene.backlog(), 1);
    scene.nothing_written(1).await;
    let again = within("the message", consumer.transport().subscription().receive()).await;
    assert_eq!(again.expect("the message").redelivery_count, 1);
}

async fn row_10_a_message_nobody_handles_is_dead_lettered_at_the_cap(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-10");
    let diary = Diary::default();
    scene.send(moved().property("bq-attempts", "2")).await;
    let consumer = scene.consumer_with_dlq(kind, unknown(&diary)).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), no_handler());
    let error = format!("no handler for {MOVED}");
    assert_dead_letter(&scene, "unknown_urn", &error, "UnknownUrnError").await;
}

/// The message is on the dead-letter topic and nowhere else.
async fn assert_dead_letter(
    scene: &Scene,
    reason: &str,
    error: &str,
    exception: impl Into<serde_json::Value>,
) {
    assert_eq!(scene.backlog(), 0);
    assert_eq!(scene.written(&scene.topic).await.len(), 1);
    let record = scene.dead_lettered().await;
    assert_counted(&record, 3);
    let restored = dead_letter::restore(&payload(&record)).expect("a record");
    assert_eq!(restored.into_body(), body(ORDER, 3));
    let block = dead_letter(&record);
    assert_eq!(block["reason"], reason);
    assert_eq!(block["error"], error);
    assert_eq!(block["exception"], exception.into());
    assert_eq!(block["attempts"], 3);
    assert_eq!(block["original_queue"], scene.queue());
}

async fn row_11_a_message_nobody_handles_is_dropped_at_the_cap_without_dead_letters(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-11");
    let diary = Diary::default();
    scene.send(moved().property("bq-attempts", "2")).await;
    let consumer = scene.consumer(kind, unknown(&diary)).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), no_handler());
    assert_eq!(scene.backlog(), 0);
    scene.nothing_written(1).await;
}

async fn row_13_a_failed_message_is_retried_with_the_next_count(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-13");
    let diary = Diary::default();
    scene.send(moved().property("bq-attempts", "1")).await;
    let consumer = scene.consumer_with_dlq(kind, failing(&diary)).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), handler_failed(1));
    assert_eq!(scene.backlog(), 1, "the original is settled, its retry is there");
    let retry = scene.retried(1).await;
    assert_eq!(text(&retry), body(ORDER, 2));
    assert_counted(&retry, 2);
    assert_eq!(scene.written(&scene.dlq).await.len(), 0);
}

async fn row_13_a_panic_is_a_failure(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-13-panic");
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = diary
        .hooks(Consumer::builder())
        .handler(ORDER, |_, _| async { panic!("out of paper") });
    let consumer = scene.consumer(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(
        diary.lines(),
        ["error HandlerFailed envelope message: out of paper"]
    );
    assert_eq!(text(&scene.retried(1).await), body(ORDER, 1));
}

async fn row_15_a_failed_message_is_dead_lettered_at_the_cap(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-15");
    let diary = Diary::default();
    scene.send(moved().property("bq-attempts", "2")).await;
    let consumer = scene.consumer_with_dlq(kind, failing(&diary)).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), handler_failed(2));
    assert_dead_letter(&scene, "failed", "probe offline", serde_json::Value::Null).await;
}

async fn row_16_a_failed_message_is_dropped_at_the_cap_without_dead_letters(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-16");
    let diary = Diary::default();
    scene.send(moved().property("bq-attempts", "2")).await;
    let consumer = scene.consumer(kind, failing(&diary)).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), handler_failed(2));
    assert_eq!(scene.backlog(), 0);
    scene.nothing_written(1).await;
}
