//! SEND and its answers.

use bytes::{BufMut, Bytes, BytesMut};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_frame, encode_headers_and_payload, encode_send};
use serde_json::json;

use super::consumer::shown;
use super::publisher::{PUBLISHED, Publisher};
use super::scenario::{Scenario, scenarios};

scenarios![
    receipts,
    sequences,
    checksums,
    no_checksum,
    contents,
    unchanged,
    unknown_producer,
    closed_producer,
    damaged,
    transactions,
    chunks,
    terminated,
];

/// A SEND whose message part is built by hand.
fn by_hand(send: CommandSend, message: &[u8]) -> Bytes {
    let mut command = BytesMut::new();
    encode_frame(&send.into(), &mut command);
    let mut frame = BytesMut::new();
    frame.put_u32((command.len() - 4 + message.len()) as u32);
    frame.put_slice(&command[4..]);
    frame.put_slice(message);
    frame.freeze()
}

async fn receipts(scenario: &Scenario) {
    let mut publisher = scenario.publisher(&scenario.topic()).await;
    for name in ["first", "second"] {
        let (send, metadata) = publisher.message(MessageMetadata::default());
        scenario.observe(
            name,
            publisher.raw(&encode_send(&send, &metadata, b"order")).await,
        );
    }
    let batch = publisher.batch(MessageMetadata::default(), &["a", "b", "c"]);
    scenario.observe("batch_of_three", publisher.raw(&batch).await);
    let batch = publisher.batch(MessageMetadata::default(), &["d"]);
    scenario.observe("batch_of_one", publisher.raw(&batch).await);
    let (send, metadata) = publisher.message(MessageMetadata::default());
    scenario.observe(
        "single_after_batch",
        publisher.raw(&encode_send(&send, &metadata, b"order")).await,
    );
}

async fn sequences(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    for (name, sequence_id) in [("first", 7), ("same", 7), ("lower", 3), ("far_higher", 1 << 40)] {
        let (mut send, mut metadata) = publisher.message(MessageMetadata::default());
        (send.sequence_id, metadata.sequence_id) = (sequence_id, sequence_id);
        scenario.observe(
            name,
            publisher
                .raw(&encode_send(&send, &metadata, name.as_bytes()))
                .await,
        );
    }
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

async fn checksums(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    let mut frame = encode_send(&send, &metadata, b"order").to_vec();
    if let Some(last) = frame.last_mut() {
        *last ^= 1;
    }
    scenario.observe("wrong", publisher.raw(&frame).await);
    let (send, metadata) = publisher.message(MessageMetadata::default());
    scenario.observe(
        "right_after_wrong",
        publisher.raw(&encode_send(&send, &metadata, b"order")).await,
    );
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

async fn no_checksum(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    // Without magic and checksum.
    let message = encode_headers_and_payload(&metadata, b"plain").slice(6..);
    scenario.observe("receipt", publisher.raw(&by_hand(send, &message)).await);
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

async fn contents(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let null = MessageMetadata {
        null_value: Some(true),
        ..Default::default()
    };
    let encrypted = MessageMetadata {
        encryption_algo: Some("AES".into()),
        ..Default::default()
    };
    let compressed = MessageMetadata {
        compression: Some(CompressionType::Zstd as i32),
        uncompressed_size: Some(1000),
        ..Default::default()
    };
    let replicated = MessageMetadata {
        replicated_from: Some("elsewhere".into()),
        ..Default::default()
    };
    for (name, metadata, payload) in [
        ("empty_payload", MessageMetadata::default(), ""),
        ("null_value", null, ""),
        ("encrypted", encrypted, "secret"),
        ("not_really_compressed", compressed, "opaque"),
        ("replicated_from", replicated, "from afar"),
    ] {
        let (send, metadata) = publisher.message(metadata);
        scenario.observe(
            name,
            publisher
                .raw(&encode_send(&send, &metadata, payload.as_bytes()))
                .await,
        );
    }
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

/// The broker stores and forwards the bytes as they are.
async fn unchanged(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let metadata = MessageMetadata {
        properties: vec![KeyValue {
            key: "\u{1f980}".into(),
            value: Bytes::from_static(&[0xff, 0]),
        }],
        event_time: Some(5),
        schema_version: Some(Bytes::from_static(b"12345678")),
        uuid: Some("1".into()),
        ..Default::default()
    };
    let (send, metadata) = publisher.message(metadata);
    publisher.raw(&encode_send(&send, &metadata, b"order")).await;
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    let deliveries = consumer.everything().await;
    let bytes = encode_headers_and_payload(&metadata, b"order");
    let same = deliveries
        .iter()
        .all(|delivery| delivery.message.headers_and_payload == bytes);
    scenario.observe("deliveries", shown(&deliveries));
    scenario.observe("byte_for_byte", json!(same && metadata.publish_time == PUBLISHED));
}

async fn unknown_producer(scenario: &Scenario) {
    let mut publisher = scenario.publisher(&scenario.topic()).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    let send = CommandSend {
        producer_id: 99,
        ..send
    };
    scenario.observe(
        "answer",
        publisher.raw(&encode_send(&send, &metadata, b"order")).await,
    );
}

async fn closed_producer(scenario: &Scenario) {
    let mut publisher = scenario.publisher(&scenario.topic()).await;
    publisher.publish("order").await;
    let close = |request_id| CommandCloseProducer {
        producer_id: 1,
        request_id,
        ..Default::default()
    };
    publisher.peer.request(close).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    publisher
        .peer
        .bytes(&encode_send(&send, &metadata, b"order"))
        .await;
    scenario.observe("answer", publisher.peer.soon().await);
}

async fn damaged(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut cases: Vec<(&str, Vec<u8>)> = Vec::new();
    // Metadata without its required fields, metadata that is longer than the message, and none.
    cases.push(("empty_metadata", vec![0, 0, 0, 0, b'x']));
    cases.push(("metadata_cut", vec![0, 0, 1, 0, b'x']));
    cases.push(("no_message", Vec::new()));
    for (name, covered) in cases {
        let mut publisher = scenario.publisher(&topic).await;
        let (send, _) = publisher.message(MessageMetadata::default());
        let message = if covered.is_empty() {
            Vec::new()
        } else {
            with_checksum(&covered)
        };
        publisher.peer.bytes(&by_hand(send, &message)).await;
        scenario.observe(name, publisher.peer.soon().await);
    }
}

fn with_checksum(covered: &[u8]) -> Vec<u8> {
    let mut message = vec![0x0e, 0x01];
    message.extend(crc32c(covered).to_be_bytes());
    message.extend(covered);
    message
}

/// Bit by bit, as the table is not worth it for five bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0x82f6_3b78
        } else {
            crc >> 1
        }
    };
    !bytes
        .iter()
        .fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

async fn transactions(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    let (send, metadata) = publisher.message(MessageMetadata::default());
    let send = CommandSend {
        txnid_least_bits: Some(1),
        txnid_most_bits: Some(0),
        ..send
    };
    publisher
        .peer
        .bytes(&encode_send(&send, &metadata, b"order"))
        .await;
    scenario.observe("answer", publisher.peer.soon().await);
    scenario.observe("ping", publisher.peer.ping().await);
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

async fn chunks(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher: Publisher = scenario.publisher(&topic).await;
    for chunk in 0..3 {
        let metadata = MessageMetadata {
            uuid: Some("shop-1".into()),
            num_chunks_from_msg: Some(3),
            total_chunk_msg_size: Some(6),
            chunk_id: Some(chunk),
            ..Default::default()
        };
        let (send, metadata) = publisher.message(metadata);
        let send = CommandSend {
            is_chunk: Some(true),
            ..send
        };
        let receipt = publisher.raw(&encode_send(&send, &metadata, b"ab")).await;
        scenario.observe(&format!("chunk_{chunk}"), receipt);
    }
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.observe("deliveries", shown(&consumer.everything().await));
}

async fn terminated(scenario: &Scenario) {
    let topic = scenario.topic();
    let mut publisher = scenario.publisher(&topic).await;
    publisher.publish("last").await;
    let mut consumer = scenario.consumer(&topic, SubType::Exclusive).await;
    scenario.terminate(&topic).await;
    scenario.observe("publisher_hears", publisher.peer.soon().await);
    let (send, metadata) = publisher.message(MessageMetadata::default());
    publisher
        .peer
        .bytes(&encode_send(&send, &metadata, b"too late"))
        .await;
    scenario.observe("send", publisher.peer.soon().await);
    let deliveries = consumer.everything().await;
    scenario.observe("deliveries", shown(&deliveries));
    consumer.ack(&super::consumer::ids(&deliveries)).await;
    scenario.observe("consumer_hears", consumer.peer.next().await);
    let mut peer = scenario.connect().await;
    let producer = |request_id| super::publisher::producer(&topic, request_id);
    scenario.observe(
        "new_producer",
        peer.request::<Command>(|id| producer(id).into()).await,
    );
}
