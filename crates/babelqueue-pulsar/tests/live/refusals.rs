//! What cannot be opened is said in one sentence that names the thing, and within a bounded time.

use std::error::Error;
use std::time::{Duration, Instant};

use babelqueue_pulsar::pulsar_tokio::Health;
use babelqueue_pulsar::{
    BuildErrorKind, Consumer, OpenError, OpenErrorKind, Publisher, Pulsar, PulsarSink, SubscriptionType,
};
use pulsar_testing::{Schema, broker};
use serde_json::json;

use crate::support::{Diary, ORDER, SUB, Scene, closed_within_patience, order, poll, until, within};

const JSON_SCHEMA: Schema<'_> = Schema {
    kind: "JSON",
    definition: r#"{"type":"record","name":"Order","fields":[{"name":"n","type":"int"}]}"#,
};

/// The error of something that must not open.
async fn refused<T: std::fmt::Debug>(opening: impl IntoFuture<Output = Result<T, OpenError>>) -> OpenError {
    let begin = Instant::now();
    let error = within("a refusal", opening.into_future())
        .await
        .expect_err("a refusal");
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "took {:?}",
        begin.elapsed()
    );
    error
}

/// One sentence that names `thing`, and a cause in one sentence of its own.
#[track_caller]
fn assert_says(error: &OpenError, kind: OpenErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error:?}");
    let mut text = error.to_string();
    assert!(
        text.starts_with("cannot "),
        "{text:?} does not say what was tried"
    );
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        assert!(
            !text.contains(&words),
            "the cause {words:?} is said twice: {text}"
        );
        text = format!("{text}: {words}");
        cause = error.source();
    }
    assert!(!text.contains('\n'), "{text:?} is more than a line");
    for word in words {
        assert!(text.contains(word), "{text:?} does not name {word:?}");
    }
}

#[tokio::test]
async fn a_second_exclusive_consumer_is_told_that_the_subscription_is_busy() {
    let scene = Scene::new(broker!(), "busy");
    let first = scene
        .consumer(SubscriptionType::Exclusive, Consumer::builder())
        .await;
    let second = || {
        scene
            .subscription(SubscriptionType::Exclusive)
            .open(Consumer::builder())
    };

    let error = refused(second()).await;

    let words = [scene.topic.as_str(), SUB, "another consumer", "Shared"];
    assert_says(&error, OpenErrorKind::Refused, &words);
    assert!(error.is_transient());
    closed_within_patience(&first).await;
    within("a consumer", second())
        .await
        .expect("a consumer after the first one left");
}

#[tokio::test]
async fn urls_that_cannot_be_used_are_named() {
    for url in ["pulsar//host", "http://localhost:6650", "", "pulsar://:6650"] {
        let error = Pulsar::new(url).expect_err(url);
        assert_says(&error, OpenErrorKind::Settings, &[&format!("{url:?}")]);
    }
}

#[tokio::test]
async fn an_absent_broker_is_named_in_a_bounded_time() {
    let pulsar = Pulsar::builder("pulsar://127.0.0.1:1")
        .operation_timeout(Duration::from_secs(2))
        .build()
        .expect("settings");
    let begin = Instant::now();

    let error = refused(pulsar.publisher("orders")).await;
    assert_says(
        &error,
        OpenErrorKind::Unreachable,
        &["cannot connect to", "127.0.0.1:1"],
    );
    assert!(error.is_transient());
    let opening = pulsar.subscription("orders", SUB).open(Consumer::builder());
    assert_says(
        &refused(opening).await,
        OpenErrorKind::Unreachable,
        &["cannot connect to", "127.0.0.1:1"],
    );
    assert!(begin.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn an_unknown_namespace_is_named() {
    let broker = broker!();
    let pulsar = Pulsar::new(broker.url()).expect("settings");
    let topic = broker.topic_in("public/nowhere", "orders");

    let error = refused(pulsar.publisher(&topic)).await;
    assert_says(&error, OpenErrorKind::Refused, &[&topic, "namespace"]);
    let opening = pulsar.subscription(&topic, SUB).open(Consumer::builder());
    assert_says(
        &refused(opening).await,
        OpenErrorKind::Refused,
        &[&topic, "namespace"],
    );
}

#[tokio::test]
async fn a_name_that_is_no_topics_is_refused_without_asking_the_broker() {
    let pulsar = Pulsar::new("pulsar://127.0.0.1:1").expect("settings");
    for topic in ["", "persistent://a/b", "a/b", "queue://a/b/c"] {
        let error = refused(pulsar.publisher(topic)).await;
        assert_says(&error, OpenErrorKind::Settings, &[topic]);
    }
}

#[tokio::test]
async fn settings_that_cannot_work_are_told_before_anything_is_opened() {
    let scene = Scene::new(broker!(), "settings");
    let builder = Consumer::builder()
        .max_attempts(0)
        .handler(" \t", Diary::default().succeeds());
    let opening = scene
        .subscription(SubscriptionType::Shared)
        .dead_letters()
        .open(builder);

    let error = refused(opening).await;

    assert_eq!(error.kind(), OpenErrorKind::Settings);
    let cause = error.source().expect("a cause").to_string();
    let expected = [BuildErrorKind::InvalidMaxAttempts(0), BuildErrorKind::BlankUrn];
    assert_eq!(cause, expected.map(|problem| problem.to_string()).join("; "));
    assert!(!scene.admin().stats(&scene.topic).subscriptions.contains_key(SUB));
}

#[tokio::test]
async fn a_topic_that_enforces_a_schema_says_so() {
    let broker = broker!();
    let namespace = broker.namespace("schema");
    broker.admin().enforce_schema(&namespace, true);
    let topic = broker.topic_in(&namespace, "orders");
    let scene = Scene::on(broker, topic);
    scene.admin().set_schema(&scene.topic, JSON_SCHEMA);

    let error = refused(scene.pulsar().publisher(&scene.topic)).await;

    assert_says(&error, OpenErrorKind::Refused, &[&scene.topic, "schema"]);
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_dead_letter_topic_that_enforces_a_schema_is_told_when_the_consumer_is_opened() {
    let broker = broker!();
    let namespace = broker.namespace("schema-dlq");
    broker.admin().enforce_schema(&namespace, true);
    let topic = broker.topic_in(&namespace, "orders");
    let scene = Scene::on(broker, topic);
    scene.admin().set_schema(&scene.dlq, JSON_SCHEMA);

    let opening = scene
        .subscription(SubscriptionType::Shared)
        .dead_letters()
        .open(Consumer::builder());
    let error = refused(opening).await;

    let words = [scene.dlq.as_str(), "dead letters", "schema"];
    assert_says(&error, OpenErrorKind::Refused, &words);
}

#[tokio::test]
async fn a_retry_that_meets_an_enforced_schema_leaves_the_message() {
    let broker = broker!();
    let namespace = broker.namespace("schema-retry");
    let topic = broker.topic_in(&namespace, "orders");
    let scene = Scene::on(broker, topic);
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;
    scene.admin().enforce_schema(&namespace, true);
    scene.admin().set_schema(&scene.topic, JSON_SCHEMA);

    poll(&consumer).await;

    assert_eq!(diary.count("error Write envelope message: retry"), 1);
    assert_eq!(scene.backlog(), 1);
    scene.nothing_written(1).await;
}

#[tokio::test]
async fn a_terminated_topic_takes_no_publisher_and_no_message() {
    let scene = Scene::new(broker!(), "terminated");
    let producer = scene.producer(&scene.topic).await;
    let publisher = Publisher::new(PulsarSink::new(producer.clone()));
    scene.admin().terminate(&scene.topic);
    until("the producer has learnt of it", || {
        producer.health() == Health::Ended
    })
    .await;

    let error = publisher
        .publish(ORDER, &json!({}))
        .await
        .expect_err("terminated");
    assert_eq!(error.kind(), babelqueue_pulsar::PublishErrorKind::Rejected);
    assert!(error.to_string().contains(&scene.topic), "{error}");
    assert!(!error.is_indeterminate());
    let error = refused(scene.pulsar().publisher(&scene.topic)).await;
    assert_says(&error, OpenErrorKind::Refused, &[&scene.topic, "terminated"]);
}
