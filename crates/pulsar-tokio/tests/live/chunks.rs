//! Messages that come in several entries.

use std::time::Duration;

use bytes::Bytes;
use pulsar_testing::{Broker, broker, eventually};
use pulsar_tokio::{Client, Consumer, Health, MessageId, SubscriptionType};
use pulsar_wire::compression::{Codec, compress};
use pulsar_wire::proto::{KeyValue, MessageMetadata};

use crate::raw::RawProducer;
use crate::support::*;

/// A message to be cut.
struct Large {
    uuid: &'static str,
    payload: Bytes,
    chunks: usize,
    metadata: MessageMetadata,
}

impl Large {
    fn new(uuid: &'static str, text: &str, chunks: usize) -> Self {
        Self {
            uuid,
            payload: text.to_owned().into(),
            chunks,
            metadata: MessageMetadata::default(),
        }
    }

    fn chunk(&self, at: usize) -> (MessageMetadata, &[u8]) {
        let size = self.payload.len().div_ceil(self.chunks);
        let end = self.payload.len().min((at + 1) * size);
        let number = |number: usize| i32::try_from(number).ok();
        let metadata = MessageMetadata {
            uuid: Some(self.uuid.into()),
            num_chunks_from_msg: number(self.chunks),
            total_chunk_msg_size: number(self.payload.len()),
            chunk_id: number(at),
            partition_key: Some("k".into()),
            ..self.metadata.clone()
        };
        (metadata, &self.payload[at * size..end])
    }

    /// Publishes these chunks; the id of the last of them.
    async fn publish(&self, raw: &mut RawProducer, chunks: std::ops::Range<usize>) -> (u64, u64) {
        let mut last = (0, 0);
        for at in chunks {
            let (metadata, payload) = self.chunk(at);
            last = raw.publish(metadata, payload).await;
        }
        last
    }
}

fn place(id: MessageId) -> (u64, u64) {
    assert_eq!(id.batch_index, -1);
    (id.ledger, id.entry)
}

/// Everything is acknowledged, and no permit is missing.
fn is_settled(broker: &Broker, topic: &str, consumer: &Consumer) {
    eventually("everything is acknowledged", || {
        broker.admin().backlog(topic, SUB) == 0
    });
    eventually("broker and client agree about the permits", || {
        let theirs = broker.admin().stats(topic).subscription(SUB).consumers[0].permits;
        theirs == consumer.stats()[0].permits
    });
    assert_eq!(
        (consumer.stats()[0].held, consumer.stats()[0].open_entries),
        (0, 0)
    );
}

struct Scene {
    broker: Broker,
    topic: String,
    _client: Client,
    consumer: Consumer,
    raw: RawProducer,
}

impl Scene {
    async fn new(broker: Broker, kind: SubscriptionType, window: u32) -> Self {
        let (client, topic) = (client(&broker), broker.topic("chunks"));
        let opening = earliest(&client, &topic, kind)
            .receive_window(window)
            .nack_delay(Duration::from_millis(100));
        Self {
            consumer: within("a consumer", opening.open()).await.unwrap(),
            raw: RawProducer::open(broker.url(), &topic).await,
            _client: client,
            topic,
            broker,
        }
    }

    fn is_settled(&self) {
        is_settled(&self.broker, &self.topic, &self.consumer);
    }

    fn unload(&self) {
        tokio::task::block_in_place(|| {
            self.broker.admin().unload(&self.topic);
            eventually("the consumer is back", || {
                let stats = self.broker.admin().stats(&self.topic);
                self.consumer.stats()[0].health == Health::Open
                    && stats.subscription(SUB).consumers.len() == 1
            });
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_of_mixed_messages_become_messages_with_the_ids_of_their_last_chunks_on_every_type() {
    let broker = broker!();
    for kind in ALL_TYPES {
        let mut scene = Scene::new(broker.clone(), kind, 1_000).await;
        let (first, second) = (
            Large::new("first", "hello, world", 3),
            Large::new("second", "good bye", 2),
        );
        first.publish(&mut scene.raw, 0..1).await;
        second.publish(&mut scene.raw, 0..1).await;
        first.publish(&mut scene.raw, 1..2).await;
        let id_of_second = second.publish(&mut scene.raw, 1..2).await;
        let id_of_first = first.publish(&mut scene.raw, 2..3).await;
        for (expected, id) in [("good bye", id_of_second), ("hello, world", id_of_first)] {
            let message = receive(&scene.consumer).await;
            assert_eq!(
                (text(&message).as_str(), place(message.id)),
                (expected, id),
                "{kind}"
            );
            ack(&scene.consumer, message.ticket).await;
        }
        scene.is_settled();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_more_chunks_than_the_window_holds_arrives() {
    let mut scene = Scene::new(broker!(), SubscriptionType::Shared, 3).await;
    let large = Large::new("long", &"0123456789".repeat(20), 50);
    large.publish(&mut scene.raw, 0..50).await;
    let message = receive(&scene.consumer).await;
    assert_eq!(text(&message).as_bytes(), large.payload);
    ack(&scene.consumer, message.ticket).await;
    scene.is_settled();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_chunks_is_compressed_as_a_whole_and_has_its_properties_and_key() {
    let mut scene = Scene::new(broker!(), SubscriptionType::Exclusive, 1_000).await;
    let whole = "words, words, words ".repeat(100);
    let mut large = Large::new("compressed", "", 3);
    large.payload = compress(Codec::Zstd, whole.as_bytes()).unwrap();
    large.metadata = MessageMetadata {
        compression: Some(Codec::Zstd.number()),
        uncompressed_size: u32::try_from(whole.len()).ok(),
        properties: vec![KeyValue {
            key: "name".into(),
            value: "value".into(),
        }],
        ..MessageMetadata::default()
    };
    large.publish(&mut scene.raw, 0..3).await;
    let message = receive(&scene.consumer).await;
    assert_eq!(text(&message), whole);
    assert_eq!(message.properties, [("name".into(), "value".into())]);
    assert_eq!(message.key, Some("k".into()));
    ack(&scene.consumer, message.ticket).await;
    scene.is_settled();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_chunks_that_is_given_back_comes_again_as_a_whole() {
    let mut scene = Scene::new(broker!(), SubscriptionType::Shared, 1_000).await;
    let large = Large::new("again", "hello, world", 4);
    large.publish(&mut scene.raw, 0..4).await;
    for count in 0..3 {
        let message = receive(&scene.consumer).await;
        assert_eq!(
            (text(&message).as_str(), message.redelivery_count),
            ("hello, world", count)
        );
        if count < 2 {
            scene.consumer.nack(message.ticket).unwrap();
        } else {
            ack(&scene.consumer, message.ticket).await;
        }
    }
    scene.is_settled();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_chunks_that_was_in_hand_when_its_topic_moved_is_settled_once() {
    let broker = broker!();
    for kind in ALL_TYPES {
        let mut scene = Scene::new(broker.clone(), kind, 1_000).await;
        let large = Large::new("in-hand", "hello, world", 4);
        large.publish(&mut scene.raw, 0..4).await;
        let message = receive(&scene.consumer).await;
        scene.unload();
        // It comes again, and is not handed out a second time.
        assert!(
            is_quiet(&scene.consumer, Duration::from_millis(1_500)).await,
            "{kind}"
        );
        ack(&scene.consumer, message.ticket).await;
        scene.is_settled();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_topic_moved_between_its_chunks_arrives() {
    let mut scene = Scene::new(broker!(), SubscriptionType::Shared, 1_000).await;
    let large = Large::new("moved", "hello, world", 4);
    large.publish(&mut scene.raw, 0..2).await;
    scene.unload();
    let mut raw = RawProducer::open(scene.broker.url(), &scene.topic).await;
    large.publish(&mut raw, 2..4).await;
    let message = receive(&scene.consumer).await;
    assert_eq!(text(&message), "hello, world");
    ack(&scene.consumer, message.ticket).await;
    scene.is_settled();
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_without_the_first_ones_are_left_where_they_are_and_hold_nobody_up() {
    // On Shared the broker itself would wait for the first chunk, to know who gets the others.
    let mut scene = Scene::new(broker!(), SubscriptionType::Exclusive, 1_000).await;
    Large::new("headless", "hello, world", 3)
        .publish(&mut scene.raw, 1..3)
        .await;
    let whole = Large::new("whole", "good bye", 2);
    whole.publish(&mut scene.raw, 0..2).await;
    let message = receive(&scene.consumer).await;
    assert_eq!(text(&message), "good bye");
    ack(&scene.consumer, message.ticket).await;
    // Nothing is lost: another client can still look at it.
    assert_eq!(scene.broker.admin().backlog(&scene.topic, SUB), 2);
    assert_eq!(scene.consumer.stats()[0].held, 0);
}
