//! Batches of every client, size and codec: each is one entry of the topic, and its members are settled one by one.

use std::sync::Arc;

use babelqueue_pulsar::{Consumer, GivenSubscription, SubscriptionType, pulsar_tokio};
use pulsar_testing::program::run;
use pulsar_testing::{Broker, broker, program_or_skip};
use tokio::process::Command;

use crate::support::{Diary, ORDER, Scene, WITNESS, body, dead_letter, offline, until, value_of, within};
use crate::{go, java, python};

const CODECS: &[&str] = &["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"];
const SIZES: [usize; 3] = [1, 2, 100];
const CAP: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn one_failing_member_of_each_batch_from_python_is_dead_lettered_and_the_others_are_handled_once() {
    let broker = broker!();
    let peer = program_or_skip!(python("batches.py"));
    every_codec("python", CODECS, &broker, peer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failing_member_of_each_batch_from_java_is_dead_lettered_and_the_others_are_handled_once() {
    let broker = broker!();
    let peer = program_or_skip!(java("Batches.java"));
    every_codec("java", CODECS, &broker, peer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failing_member_of_each_batch_from_go_is_dead_lettered_and_the_others_are_handled_once() {
    let broker = broker!();
    let peer = program_or_skip!(go("batches.go").await);
    // Its client knows no Snappy.
    every_codec("go", &CODECS[..4], &broker, peer).await;
}

/// One program publishes everything, since starting it takes longest.
async fn every_codec(client: &str, codecs: &[&str], broker: &Broker, peer: Command) {
    let scene = |codec: &str| Scene::new(broker.clone(), &format!("{client}-{codec}"));
    let scenes: Vec<_> = codecs.iter().copied().map(scene).collect();
    let mut input = String::new();
    for (codec, scene) in codecs.iter().zip(&scenes) {
        for size in SIZES {
            let bodies: Vec<_> = (0..size).map(|n| numbered(size, n)).collect();
            input += &format!("{}\t{codec}\t{}\n", scene.topic, bodies.join("\t"));
        }
    }
    run(peer, &[broker.url()], &input).await;

    for (codec, scene) in codecs.iter().zip(scenes) {
        println!("{client} {codec}");
        one_failing_member_each(scene).await;
    }
}

fn numbered(size: usize, n: usize) -> String {
    body(ORDER, 0).replace(r#""n":1"#, &format!(r#""size":{size},"n":{n}"#))
}

async fn one_failing_member_each(scene: Scene) {
    let entries = SIZES.len() as u64;
    assert_eq!(scene.admin().backlog(&scene.topic, WITNESS), entries);
    let subscription = scene.given(SubscriptionType::Shared).await;
    let diary = Diary::default();
    let consumer = worker(&scene, subscription.clone(), &diary).await;
    let settled = until("all is settled", || {
        diary.lines().len() >= expected().len() && scene.backlog() == 0
    });
    within("the end of the worker", consumer.run(settled)).await;

    let mut lines = diary.lines();
    lines.sort();
    assert_eq!(lines, expected());
    let mut dead: Vec<_> = scene.written(&scene.dlq).await;
    dead.sort_by_key(|record| value_of(record)["data"]["size"].as_u64());
    assert_eq!(dead.len(), SIZES.len());
    for (record, size) in dead.iter().zip(SIZES) {
        let data = &value_of(record)["data"];
        assert_eq!((&data["size"], &data["n"]), (&size.into(), &(size / 2).into()));
        assert_eq!(dead_letter(record)["attempts"], CAP);
    }
    assert_eq!(scene.backlog(), 0);
    permits_agree(&subscription).await;
}

async fn worker(scene: &Scene, subscription: Arc<pulsar_tokio::Consumer>, diary: &Diary) -> Consumer {
    let notes = diary.clone();
    let builder = Consumer::builder()
        .max_attempts(CAP as u32)
        .handler(ORDER, move |envelope, message| {
            let data: serde_json::Value = envelope.data().expect("data");
            let (size, n) = (data["size"].as_u64(), data["n"].as_u64());
            let (size, n) = (size.expect("a size"), n.expect("a number"));
            let attempts = envelope.attempts();
            // The last number of an id is the place in the batch. A client may send a batch of one as a single message.
            let place = message.id().rsplit(':').next().unwrap_or_default();
            let place = if size > 1 && attempts == 0 { place } else { "-" };
            notes.note(format!("{n} of {size} run {attempts} place {place}"));
            std::future::ready(if n == size / 2 { Err(offline()) } else { Ok(()) })
        });
    GivenSubscription::new(subscription)
        .client(&scene.client)
        .dead_letter_producer(scene.producer(&scene.dlq).await)
        .build(builder)
        .expect("a consumer")
}

fn expected() -> Vec<String> {
    let mut lines = Vec::new();
    for size in SIZES {
        for n in 0..size {
            let place = if size > 1 { n.to_string() } else { "-".to_owned() };
            lines.push(format!("{n} of {size} run 0 place {place}"));
        }
        lines.extend((1..CAP).map(|attempts| format!("{} of {size} run {attempts} place -", size / 2)));
    }
    lines.sort();
    lines
}

/// What is on its way arrives, and then the broker's account and ours are the same.
async fn permits_agree(subscription: &pulsar_tokio::Consumer) {
    within("equal accounts of the permits", async {
        loop {
            let stats = subscription.broker_stats().await.expect("the broker's account");
            if stats
                .iter()
                .all(|part| part.permits == part.our_permits && part.unacked == 0)
            {
                break;
            }
        }
    })
    .await;
}
