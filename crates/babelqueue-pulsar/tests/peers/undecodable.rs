//! What cannot be decoded is dead-lettered as it was received. The worker goes on after each.

use babelqueue_pulsar::{Consumer, SubscriptionType};
use bytes::Bytes;
use pulsar_testing::program::run;
use pulsar_testing::{broker, program_or_skip};
use pulsar_wire::proto::{KeyValue, MessageMetadata};

use crate::java;
use crate::raw::RawProducer;
use crate::support::{
    Diary, ORDER, Scene, body, dead_letter, order, payload, poll, properties, property, until, value_of,
};

async fn worker(scene: &Scene, diary: &Diary) -> Consumer {
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    scene.consumer_with_dlq(SubscriptionType::Shared, builder).await
}

async fn goes_on(scene: &Scene, consumer: &Consumer, diary: &Diary) {
    scene.send(order()).await;
    poll(consumer).await;
    assert_eq!(diary.count(&format!("run {ORDER} 0")), 1);
}

#[tokio::test]
async fn messages_and_batches_that_java_encrypted_are_dead_lettered_as_they_were_received() {
    let scene = Scene::new(broker!(), "encrypted");
    let peer = program_or_skip!(java("Encrypted.java"));
    let diary = Diary::default();
    let consumer = worker(&scene, &diary).await;

    let received = run(peer, &[scene.broker.url(), &scene.topic], "").await;
    poll(&consumer).await;
    poll(&consumer).await;

    goes_on(&scene, &consumer, &diary).await;
    until("all is settled", || scene.backlog() == 0).await;
    let records = scene.written(&scene.dlq).await;
    let raws: Vec<_> = records
        .iter()
        .map(|record| value_of(record)["raw"].clone())
        .collect();
    assert_eq!(raws, received);
    for record in &records {
        assert_eq!(value_of(record)["raw_encoding"], "base64");
        assert_eq!(dead_letter(record)["reason"], "poison");
    }
    assert_eq!(property(&records[0], "traceparent").as_deref(), Some("00-ab"));
}

#[tokio::test]
async fn a_corrupt_message_is_dead_lettered_with_its_properties_although_they_are_no_text() {
    let scene = Scene::new(broker!(), "corrupt");
    let diary = Diary::default();
    let consumer = worker(&scene, &diary).await;
    let (key, value) = (Bytes::from_static(b"\xc3("), Bytes::from_static(b"\xff"));
    let metadata = MessageMetadata {
        compression: Some(1),
        uncompressed_size: Some(10),
        properties: vec![KeyValue {
            key: key.clone(),
            value: value.clone(),
        }],
        ..MessageMetadata::default()
    };
    let mut raw = RawProducer::open(scene.broker.url(), &scene.topic).await;

    raw.publish(metadata, b"\xff\xff\xff not compressed").await;
    poll(&consumer).await;

    goes_on(&scene, &consumer, &diary).await;
    until("all is settled", || scene.backlog() == 0).await;
    let record = scene.dead_lettered().await;
    assert_eq!(value_of(&record)["raw"], "////IG5vdCBjb21wcmVzc2Vk");
    assert_eq!(dead_letter(&record)["reason"], "poison");
    assert_eq!(properties(&record), [(key, value)]);
}

#[tokio::test]
async fn a_version_in_a_frame_that_is_no_text_is_gated() {
    let scene = Scene::new(broker!(), "gated-frame");
    let diary = Diary::default();
    let consumer = worker(&scene, &diary).await;
    let pair = (
        Bytes::from_static(b"bq-schema-version"),
        Bytes::from_static(b"1\xff"),
    );
    let metadata = MessageMetadata {
        properties: vec![KeyValue {
            key: pair.0.clone(),
            value: pair.1.clone(),
        }],
        ..MessageMetadata::default()
    };
    let mut raw = RawProducer::open(scene.broker.url(), &scene.topic).await;
    let sent = body(ORDER, 0);

    raw.publish(metadata, sent.as_bytes()).await;
    poll(&consumer).await;

    goes_on(&scene, &consumer, &diary).await;
    let record = scene.dead_lettered().await;
    assert_eq!((payload(&record), properties(&record)), (sent.into(), vec![pair]));
}
