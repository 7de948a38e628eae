//! What is published beside the body, and what of it survives.

use std::collections::BTreeMap;

use babelqueue_pulsar::pulsar_tokio::{Key, NewMessage};
use babelqueue_pulsar::{Consumer, Envelope, SubscriptionType};
use bytes::Bytes;
use pulsar_testing::broker;
use serde_json::{Value, json};

use crate::support::{
    Diary, ORDER, Scene, dead_letter, offline, order, payload, poll, properties, property, sorted, text,
    value_of,
};

on_every_type!(
    foreign_properties_survive_a_retry_and_the_dead_letters_byte_for_byte,
    a_schema_version_that_is_no_text_is_gated,
);

fn foreign() -> Vec<(Bytes, Bytes)> {
    let pairs: [(&[u8], &[u8]); 5] = [
        (b"x", b""),
        (b"\xff\xfe", b"\x80"),
        ("ключ".as_bytes(), "☂ \u{1F600}".as_bytes()),
        (b"bq-future", b"1"),
        (b"tracestate", b"a=\xf0"),
    ];
    let owned = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    pairs
        .iter()
        .map(|(key, value)| (owned(key), owned(value)))
        .collect()
}

async fn foreign_properties_survive_a_retry_and_the_dead_letters_byte_for_byte(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "foreign");
    let diary = Diary::default();
    scene.send(order().properties(foreign())).await;
    let builder = Consumer::builder().max_attempts(2).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;
    poll(&consumer).await;

    for record in [scene.retried(1).await, scene.dead_lettered().await] {
        assert_eq!(properties(&record)[..5], foreign());
        assert_eq!(properties(&record).len(), 5 + 6);
    }
}

async fn a_schema_version_that_is_no_text_is_gated(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "gated-bytes");
    let diary = Diary::default();
    scene
        .send(order().property("bq-schema-version", b"1\xff".as_slice()))
        .await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(diary.count("error UnsupportedSchemaVersion - message: "), 1);
    assert_eq!(diary.lines().len(), 1);
    let record = scene.dead_lettered().await;
    let sent = &scene.written(&scene.topic).await[0];
    assert_eq!(
        (payload(&record), properties(&record)),
        (payload(sent), properties(sent))
    );
}

#[tokio::test]
async fn a_route_that_is_no_text_counts_as_absent() {
    let scene = Scene::new(broker!(), "route-bytes");
    let diary = Diary::default();
    scene
        .send(order().property("bq-job", b"urn:\xff".as_slice()))
        .await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), [format!("run {ORDER} 0")]);
}

#[tokio::test]
async fn a_published_message_has_the_contracts_properties_and_no_others() {
    let scene = Scene::new(broker!(), "published");
    let publisher = scene.publisher().await;
    let request = publisher.publish(ORDER, &json!({"n": 1})).trace_id("t-7");
    let request = request.header("traceparent", "00-ab").header("bq-job", "other");

    let id = request.await.expect("a message").to_string();

    let message = &scene.written(&scene.topic).await[0];
    let expected: BTreeMap<_, _> = [
        ("bq-job", ORDER),
        ("bq-trace-id", "t-7"),
        ("bq-message-id", &id),
        ("bq-schema-version", "1"),
        ("bq-source-lang", "rust"),
        ("bq-attempts", "0"),
        ("traceparent", "00-ab"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    assert_eq!(sorted(message), expected);
    let envelope = Envelope::decode(&payload(message)).expect("an envelope");
    assert_eq!(envelope.accepts(), Ok(()));
    assert_eq!(
        (envelope.meta().id(), envelope.meta().queue()),
        (id.as_str(), scene.queue())
    );
    assert_eq!((message.key.clone(), message.event_time_ms), (None, None));
    let start = format!(r#"{{"job":"{ORDER}","trace_id":"t-7","data":{{"n":1}},"meta":{{"id":"{id}","#);
    assert!(text(message).starts_with(&start), "{}", text(message));
}

#[tokio::test]
async fn any_script_passes_in_urns_data_keys_and_headers() {
    let scene = Scene::new(broker!(), "scripts");
    let urn = "urn:babel:größe:注文.作成☂";
    let data = json!({"名前": "Zoë \u{1F600}\u{2028}", "rtl": "שלום", "nul": "\u{0}\u{7f}", "a/b": ["é", "e\u{301}"]});
    let publisher = scene.publisher().await;
    let request = publisher
        .publish(urn, &data)
        .key("顧客-12")
        .header("заголовок", "значение");
    request.await.expect("a message");
    let diary = Diary::default();
    let (notes, expected) = (diary.clone(), data.clone());
    let builder = Consumer::builder()
        .max_attempts(2)
        .handler(urn, move |envelope, message| {
            let data: Value = envelope.data().expect("data");
            assert_eq!(data, expected);
            notes.note(message.key().unwrap_or_default());
            async { Err(offline()) }
        });
    let consumer = scene
        .consumer_with_dlq(SubscriptionType::Exclusive, builder)
        .await;

    poll(&consumer).await;
    poll(&consumer).await;

    assert_eq!(diary.lines(), ["顧客-12", "顧客-12"]);
    let record = scene.dead_lettered().await;
    assert_eq!(dead_letter(&record)["error"], "probe offline");
    assert_eq!(value_of(&record)["data"], data);
    assert_eq!(property(&record, "bq-job").as_deref(), Some(urn));
    assert_eq!(property(&record, "заголовок").as_deref(), Some("значение"));
}

#[tokio::test]
async fn a_retry_on_key_shared_keeps_both_keys_as_they_travel() {
    let scene = Scene::new(broker!(), "keys");
    let diary = Diary::default();
    let bytes_key = Key {
        text: "/wA=".into(),
        base64: true,
    };
    let keyed = |key: Key| order().key(key).ordering_key(b"\x00\xff".as_slice());
    scene
        .send_all([
            keyed("customer-12".into()),
            keyed(bytes_key.clone()),
            NewMessage::default(),
        ])
        .await;
    let builder = Consumer::builder().handler(ORDER, diary.fails());
    let consumer = scene.consumer(SubscriptionType::KeyShared, builder).await;

    for _ in 0..3 {
        poll(&consumer).await;
    }

    let written = scene.written(&scene.topic).await;
    let keys: Vec<_> = written[3..]
        .iter()
        .map(|retry| (retry.key.clone(), retry.ordering_key.clone()))
        .collect();
    let ordering = || Some(Bytes::from_static(b"\x00\xff"));
    let mut expected = vec![
        (Some("customer-12".into()), ordering()),
        (Some(bytes_key), ordering()),
        (None, None),
    ];
    // Keys of one hash range come in order, different ones need not.
    expected.retain(|pair| !keys.contains(pair));
    assert!(expected.is_empty(), "{expected:?} not among {keys:?}");
}
