//! Messages that other clients sent in chunks are messages like any other.

use babelqueue_pulsar::{Consumer, SubscriptionType};
use pulsar_testing::program::run;
use pulsar_testing::{broker, program_or_skip};
use tokio::process::Command;

use crate::support::{Diary, ORDER, Scene, body, offline, until, within};
use crate::{java, python};

/// More than a broker takes in one entry.
const LARGE: usize = 6_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_java_chunked_is_handled_and_retried_until_it_is_dead_lettered() {
    let broker = broker!();
    let peer = program_or_skip!(java("Chunked.java"));
    is_handled(Scene::new(broker, "chunked-java"), peer, 25_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_python_chunked_is_handled_and_settled() {
    let broker = broker!();
    let peer = program_or_skip!(python("chunked.py"));
    is_handled(Scene::new(broker, "chunked-python"), peer, LARGE).await;
}

/// One of the size is handled; a retry of what is larger than an entry cannot be written, so it is not asked for.
async fn is_handled(scene: Scene, peer: Command, size: usize) {
    let envelope = body(ORDER, 0).replace(r#""n":1"#, &format!(r#""n":"{}""#, "x".repeat(size)));
    run(
        peer,
        &[scene.broker.url(), &scene.topic],
        &format!("{envelope}\n"),
    )
    .await;
    let diary = Diary::default();
    let notes = diary.clone();
    let builder = Consumer::builder()
        .max_attempts(2)
        .handler(ORDER, move |envelope, _message| {
            let data: serde_json::Value = envelope.data().expect("data");
            let length = data["n"].as_str().map_or(0, str::len);
            notes.note(format!("{length} run {}", envelope.attempts()));
            std::future::ready(if length < LARGE { Err(offline()) } else { Ok(()) })
        });
    let consumer = scene.consumer_with_dlq(SubscriptionType::Shared, builder).await;
    let runs = if size < LARGE { 2 } else { 1 };
    let settled = until("all is settled", || {
        diary.lines().len() >= runs && scene.backlog() == 0
    });
    within("the end of the worker", consumer.run(settled)).await;
    let expected: Vec<_> = (0..runs).map(|run| format!("{size} run {run}")).collect();
    assert_eq!(diary.lines(), expected);
    assert_eq!(scene.written(&scene.dlq).await.len(), runs - 1);
}
