//! Dead letters of one side, read by the other.

use std::collections::BTreeMap;

use babelqueue_pulsar::pulsar_tokio::NewMessage;
use babelqueue_pulsar::{Consumer, Envelope, SubscriptionType, dead_letter};
use pulsar_testing::broker;
use serde_json::Value;

use crate::support::{Diary, ORDER, Scene, WITNESS, body, order, payload, peer_or_skip, poll, property};

const MOVED: &str = "urn:babel:orders:moved";

/// Poison in each of the forms that a record can take: spliced, wrapped as text, wrapped in Base64.
const POISON: [&[u8]; 3] = [
    b"{\"trace_id\":\"t\", \"n\" : 1e400}",
    "[\"Größe\", \"\\u0001\"]".as_bytes(),
    b"{\"job\":\"urn:babel:lab:\xfe\"}",
];

/// A failing message, one that nobody handles, and poison.
fn messages() -> Vec<NewMessage> {
    let mut messages = vec![
        order().property("bq-attempts", "2"),
        NewMessage::new(body(MOVED, 2)),
    ];
    messages.extend(POISON.map(NewMessage::new));
    messages
}

#[tokio::test]
async fn python_reads_the_dead_letters_of_rust() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "dead-in-rust");
    let diary = Diary::default();
    scene.send_all(messages()).await;
    let builder = Consumer::builder().handler(ORDER, diary.fails());
    let consumer = scene
        .consumer_with_dlq(SubscriptionType::Exclusive, builder)
        .await;
    for _ in 0..5 {
        poll(&consumer).await;
    }

    let arguments = [scene.broker.url(), &scene.dlq, WITNESS, "5"];
    let lines = peer.run("read.py", &arguments, "").await;
    let records: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();

    for (record, (reason, error, exception)) in records.iter().zip([
        ("failed", "probe offline", Value::Null),
        (
            "unknown_urn",
            "no handler for urn:babel:orders:moved",
            "UnknownUrnError".into(),
        ),
    ]) {
        let decoded = &record["decoded"];
        assert_eq!(decoded["data"]["n"], 1);
        assert_eq!(decoded["attempts"], 3);
        assert_eq!(record["properties"]["bq-attempts"], "3");
        assert_eq!(record["poison"], Value::Null);
        let block = &decoded["dead_letter"];
        assert_eq!(
            (&block["reason"], &block["error"], &block["exception"]),
            (&reason.into(), &error.into(), &exception)
        );
        assert_eq!(
            (&block["attempts"], &block["original_queue"]),
            (&3.into(), &scene.queue().into())
        );
    }
    for (record, poison) in records[2..].iter().zip(POISON) {
        assert!(record["poison"].is_string(), "poison stays poison: {record}");
        assert_eq!(record["decoded"], Value::Null);
        assert_eq!(record["properties"], serde_json::json!({}));
        let payload = written_in_base64(record["payload"].as_str().expect("a text"));
        let restored = dead_letter::restore(&payload).expect("a record");
        assert_eq!(restored.into_body(), poison);
    }
}

/// The bytes of a Base64 text, by the reader that the records themselves need.
fn written_in_base64(text: &str) -> bytes::Bytes {
    let record = format!(r#"{{"raw":"{text}","raw_encoding":"base64","dead_letter":{{}}}}"#);
    dead_letter::restore(record.as_bytes())
        .expect("a record")
        .into_body()
}

#[tokio::test]
async fn rust_reads_the_dead_letters_of_python() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "dead-in-python");
    scene.send_all(messages()).await;
    let arguments = [scene.broker.url(), &scene.topic, ORDER, "5", "fail"];
    peer.run("consume.py", &arguments, "").await;
    assert_eq!(scene.backlog(), 0);

    let records = scene.written(&scene.dlq).await;

    assert_eq!(records.len(), 5);
    let mut reasons = BTreeMap::new();
    for record in &records {
        let body = payload(record);
        let restored = dead_letter::restore(&body).expect("a record").into_body();
        let block = match Envelope::decode(&body) {
            Ok(envelope) => {
                assert_eq!(restored, self::body(envelope.urn(), 3));
                assert_eq!(property(record, "bq-attempts").as_deref(), Some("3"));
                envelope.dead_letter().expect("a block")
            }
            Err(_) => {
                assert!(POISON.contains(&&*restored), "{restored:?}");
                *reasons.entry("poison".to_owned()).or_insert(0) += 1;
                continue;
            }
        };
        // Python prefers `meta.queue` to the queue that it read from.
        assert_eq!(
            (block.attempts, &*block.original_queue, &*block.lang),
            (3, "orders", "python")
        );
        assert!(block.error.is_some() && block.failed_at > 1_700_000_000_000);
        *reasons.entry(block.reason.into_owned()).or_insert(0) += 1;
    }
    let expected = [("failed", 1), ("poison", 3), ("unknown_urn", 1)];
    assert_eq!(
        reasons,
        expected.map(|(reason, count)| (reason.to_owned(), count)).into()
    );
}
