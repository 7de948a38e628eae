//! Entries that cannot be decoded are deliveries like any other: with an id, settled, and followed
//! by the next.

use bytes::Bytes;
use pulsar_testing::{Broker, broker, eventually};
use pulsar_tokio::{Client, Consumer, Message, NewMessage, Payload, Producer, SubscriptionType, Undecodable};
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::{EncryptionKeys, KeyValue, MessageMetadata, SingleMessageMetadata};

use crate::raw::RawProducer;
use crate::support::*;

struct Scene {
    broker: Broker,
    topic: String,
    _client: Client,
    consumer: Consumer,
    raw: RawProducer,
    producer: Producer,
}

impl Scene {
    async fn new(broker: Broker) -> Self {
        Self::on(SubscriptionType::Shared, broker).await
    }

    async fn on(kind: SubscriptionType, broker: Broker) -> Self {
        let (client, topic) = (client(&broker), broker.topic("undecodable"));
        Self {
            consumer: consumer(&client, &topic, kind).await,
            raw: RawProducer::open(broker.url(), &topic).await,
            producer: producer(&client, &topic).await,
            _client: client,
            topic,
            broker,
        }
    }

    /// Publishes the entry; what arrives of it.
    async fn arrives(&mut self, metadata: MessageMetadata, payload: &[u8]) -> Message {
        let (ledger, entry) = self.raw.publish(metadata, payload).await;
        let message = receive(&self.consumer).await;
        assert_eq!((message.id.ledger, message.id.entry), (ledger, entry));
        message
    }

    /// The consumer goes on, everything is acknowledged and no permit is missing.
    async fn goes_on(&self) {
        within("a receipt", self.producer.send(NewMessage::new("next")))
            .await
            .unwrap();
        let message = receive(&self.consumer).await;
        assert_eq!(text(&message), "next");
        ack(&self.consumer, message.ticket).await;
        self.is_balanced();
    }

    fn is_balanced(&self) {
        eventually("broker and client agree about the permits", || {
            let stats = self.broker.admin().stats(&self.topic);
            stats.subscription(SUB).consumers[0].permits == self.consumer.stats()[0].permits
        });
        assert_eq!(self.consumer.stats()[0].held, 0);
    }

    /// As [`Scene::arrives`], for an entry that cannot be decoded; it is acknowledged.
    async fn is_undecodable(&mut self, metadata: MessageMetadata, payload: &[u8]) -> Undecodable {
        let message = self.arrives(metadata, payload).await;
        let Payload::Undecodable { received, cause } = message.payload else {
            panic!("{} was decoded", message.id);
        };
        assert_eq!(received, payload, "{cause}");
        ack(&self.consumer, message.ticket).await;
        self.goes_on().await;
        assert_eq!(self.broker.admin().backlog(&self.topic, SUB), 0);
        cause
    }
}

fn batch(count: u8) -> Bytes {
    let mut batch = BatchBuilder::new();
    for member in 0..count {
        batch.push(SingleMessageMetadata::default(), &[b'0' + member; 20]);
    }
    batch.finish()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_codec() {
    let mut scene = Scene::new(broker!()).await;
    let metadata = MessageMetadata {
        compression: Some(9),
        uncompressed_size: Some(100),
        ..MessageMetadata::default()
    };
    let cause = scene.is_undecodable(metadata, b"whatever").await;
    assert!(matches!(cause, Undecodable::Compression(_)), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_uncompressed_size_and_bytes_that_are_not_compressed() {
    let mut scene = Scene::new(broker!()).await;
    let compressed = lz4_block(b"0123456789");
    for size in [9, 11, 1 << 30, u32::MAX] {
        let metadata = MessageMetadata {
            compression: Some(1),
            uncompressed_size: Some(size),
            ..MessageMetadata::default()
        };
        let cause = scene.is_undecodable(metadata, &compressed).await;
        assert!(matches!(cause, Undecodable::Compression(_)), "{size}: {cause}");
    }
    for codec in 1..=4 {
        let metadata = MessageMetadata {
            compression: Some(codec),
            uncompressed_size: Some(10),
            num_messages_in_batch: Some(3),
            ..MessageMetadata::default()
        };
        let cause = scene
            .is_undecodable(metadata, b"\xff\xff\xff not compressed")
            .await;
        assert!(matches!(cause, Undecodable::Compression(_)), "{codec}: {cause}");
    }
}

/// The block format of LZ4 for a short text without repetitions.
fn lz4_block(text: &[u8]) -> Vec<u8> {
    let mut block = vec![u8::try_from(text.len()).unwrap() << 4];
    block.extend_from_slice(text);
    block
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_payload() {
    let mut scene = Scene::new(broker!()).await;
    let metadata = MessageMetadata {
        encryption_keys: vec![EncryptionKeys {
            key: "theirs".into(),
            value: "sealed".into(),
            metadata: Vec::new(),
        }],
        encryption_algo: Some("AES".into()),
        num_messages_in_batch: Some(7),
        ..MessageMetadata::default()
    };
    let cause = scene.is_undecodable(metadata, b"\x00\x01\x02").await;
    assert_eq!(cause, Undecodable::Encrypted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_cut_midway_is_its_readable_members_and_one_for_the_rest() {
    let mut scene = Scene::new(broker!()).await;
    let whole = batch(5);
    let cut = &whole[..whole.len() - 30];
    let metadata = MessageMetadata {
        num_messages_in_batch: Some(5),
        ..MessageMetadata::default()
    };
    let mut tickets = Vec::new();
    let first = scene.arrives(metadata, cut).await;
    assert_eq!((first.id.batch_index, text(&first)), (0, "0".repeat(20)));
    tickets.push(first.ticket);
    for member in 1..3 {
        let message = receive(&scene.consumer).await;
        assert_eq!(message.id.batch_index, member);
        tickets.push(message.ticket);
    }
    let rest = receive(&scene.consumer).await;
    assert_eq!(rest.id.batch_index, 3);
    assert!(
        matches!(&rest.payload, Payload::Undecodable { received, cause: Undecodable::Batch(_) } if received == cut)
    );
    ack(&scene.consumer, rest.ticket).await;
    assert_eq!(scene.broker.admin().backlog(&scene.topic, SUB), 1);
    for ticket in tickets {
        ack(&scene.consumer, ticket).await;
    }
    scene.goes_on().await;
    assert_eq!(scene.broker.admin().backlog(&scene.topic, SUB), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_claims_absurdly_many_members_is_one_delivery() {
    // Not Shared: there a broker of 4.0.1 blocks a consumer that holds more than 50,000 messages, and still does when
    // they are acknowledged.
    let mut scene = Scene::on(SubscriptionType::Exclusive, broker!()).await;
    for count in [i32::MAX, 1 << 21] {
        let metadata = MessageMetadata {
            num_messages_in_batch: Some(count),
            ..MessageMetadata::default()
        };
        let message = scene.arrives(metadata, &batch(1)).await;
        assert!(matches!(&message.payload, Payload::Undecodable { .. }));
        ack(&scene.consumer, message.ticket).await;
    }
    scene.goes_on().await;
    assert_eq!(scene.broker.admin().backlog(&scene.topic, SUB), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_property_that_is_not_utf_8_is_no_defect() {
    let mut scene = Scene::new(broker!()).await;
    let metadata = MessageMetadata {
        properties: vec![KeyValue {
            key: Bytes::from_static(b"\xc3("),
            value: Bytes::from_static(b"\xff"),
        }],
        partition_key: Some(Bytes::from_static(b"\xfe")),
        ..MessageMetadata::default()
    };
    let message = scene.arrives(metadata, b"fine").await;
    assert_eq!(text(&message), "fine");
    assert_eq!(message.properties[0].1, b"\xff"[..]);
    assert_eq!(message.key.unwrap().text, b"\xfe"[..]);
    ack(&scene.consumer, message.ticket).await;
    scene.goes_on().await;
}
