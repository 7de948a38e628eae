//! A batch of another client is one entry of the topic: its members are settled one by one.

use babelqueue_pulsar::{Consumer, SubscriptionType};
use pulsar_testing::broker;

use crate::support::{Diary, ORDER, Scene, body, dead_letter, offline, peer_or_skip, poll, until, value_of};

#[tokio::test]
async fn one_failing_member_of_a_batch_is_dead_lettered_and_the_others_are_handled_once() {
    one_failing_member(Scene::new(broker!(), "batch"), "NONE").await;
}

#[tokio::test]
async fn the_same_in_a_batch_compressed_with_lz4() {
    one_failing_member(Scene::new(broker!(), "batch-lz4"), "LZ4").await;
}

#[tokio::test]
async fn the_same_in_a_batch_compressed_with_zstd() {
    one_failing_member(Scene::new(broker!(), "batch-zstd"), "ZSTD").await;
}

#[tokio::test]
async fn the_same_in_a_batch_compressed_with_snappy() {
    one_failing_member(Scene::new(broker!(), "batch-snappy"), "SNAPPY").await;
}

#[tokio::test]
async fn the_same_in_a_batch_compressed_with_zlib() {
    one_failing_member(Scene::new(broker!(), "batch-zlib"), "ZLib").await;
}

async fn one_failing_member(scene: Scene, compression: &str) {
    let peer = peer_or_skip!();
    let diary = Diary::default();
    let notes = diary.clone();
    let builder = Consumer::builder().handler(ORDER, move |envelope, message| {
        // The last number of an id is the place in the batch.
        let place = message.id().rsplit(':').next().unwrap_or_default().to_owned();
        let data: serde_json::Value = envelope.data().expect("data");
        let n = data["n"].as_u64().expect("a number");
        notes.note(format!("run {n} {} place {place}", envelope.attempts()));
        async move { if n == 4 { Err(offline()) } else { Ok(()) } }
    });
    let consumer = scene.consumer_with_dlq(SubscriptionType::Shared, builder).await;
    let bodies: String = (0..10)
        .map(|n| body(ORDER, 0).replace(r#""n":1"#, &format!(r#""n":{n}"#)) + "\n")
        .collect();
    let arguments = [scene.broker.url(), &scene.topic, compression];
    peer.run("batch.py", &arguments, &bodies).await;

    for _ in 0..12 {
        poll(&consumer).await;
    }

    until("all is settled", || scene.backlog() == 0).await;
    let mut lines = diary.lines();
    lines.sort();
    let mut expected: Vec<_> = (0..10).map(|n| format!("run {n} 0 place {n}")).collect();
    expected.extend([1, 2].map(|attempts| format!("run 4 {attempts} place -1")));
    expected.sort();
    assert_eq!(lines, expected);
    let record = scene.dead_lettered().await;
    assert_eq!(dead_letter(&record)["attempts"], 3);
    assert_eq!(value_of(&record)["data"]["n"], 4);
}
