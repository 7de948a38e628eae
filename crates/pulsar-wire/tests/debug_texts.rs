//! What `Debug` shows: names, numbers and lengths, never what a message holds.

use std::fmt;

use bytes::{Bytes, BytesMut};
use pulsar_wire::batch::{BatchBuilder, BatchReader};
use pulsar_wire::proto::{
    CommandMessage, CommandProducer, CommandSend, CommandSubscribe, EncryptionKeys, KeyValue,
    MessageMetadata, Schema, SingleMessageMetadata,
};
use pulsar_wire::{Command, FrameDecoder, MessageFrame, encode_headers_and_payload, encode_send};

const MARKER: &str = "s3cret";

fn marker() -> Bytes {
    Bytes::from_static(MARKER.as_bytes())
}

fn assert_hides(value: &impl fmt::Debug) {
    let numbers = format!("{:?}", MARKER.as_bytes()).replace(['[', ']', ' '], "");
    for text in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!text.contains(MARKER), "{text}");
        let packed: String = text.split_whitespace().collect();
        assert!(!packed.contains(&numbers), "{text}");
    }
}

fn property() -> KeyValue {
    KeyValue {
        key: "note".into(),
        value: marker(),
    }
}

fn metadata() -> MessageMetadata {
    MessageMetadata {
        properties: vec![property()],
        partition_key: Some(marker()),
        ordering_key: Some(marker()),
        encryption_param: Some(marker()),
        encryption_keys: vec![EncryptionKeys {
            key: "k-1".into(),
            value: marker(),
            metadata: vec![property()],
        }],
        ..Default::default()
    }
}

fn member() -> SingleMessageMetadata {
    SingleMessageMetadata {
        properties: vec![property()],
        partition_key: Some(marker()),
        ordering_key: Some(marker()),
        ..Default::default()
    }
}

#[test]
fn metadata_names_its_properties_and_hides_values_and_keys() {
    assert_hides(&metadata());
    assert_hides(&member());
    let text = format!("{:?}", metadata());
    assert!(
        text.contains(r#"KeyValue { key: b"note", value: <6 bytes> }"#),
        "{text}"
    );
    assert!(text.contains("partition_key: Some(<6 bytes>)"), "{text}");
}

#[test]
fn a_frame_hides_its_payload_and_its_metadata() {
    let sent = encode_send(&CommandSend::default(), &metadata(), MARKER.as_bytes());
    let frame = FrameDecoder::default().decode(&mut BytesMut::from(sent)).unwrap();
    assert_hides(&frame.unwrap());
    assert_hides(&MessageFrame::parse(encode_headers_and_payload(
        &metadata(),
        MARKER.as_bytes(),
    )));
    // Neither magic nor lengths: the whole of it is content.
    assert_hides(&MessageFrame::parse(marker()));
}

#[test]
fn a_batch_hides_its_members() {
    let mut builder = BatchBuilder::new();
    builder.push(member(), MARKER.as_bytes());
    assert_hides(&builder);
    let mut reader = BatchReader::new(builder.finish(), 1);
    assert_hides(&reader);
    assert_hides(&reader.next().unwrap().unwrap());
}

#[test]
fn commands_hide_values_of_properties_and_bodies_that_nobody_knows() {
    assert_hides(&Command::from(CommandProducer {
        metadata: vec![property()],
        schema: Some(Schema {
            properties: vec![property()],
            ..Default::default()
        }),
        ..Default::default()
    }));
    assert_hides(&Command::from(CommandSubscribe {
        metadata: vec![property()],
        subscription_properties: vec![property()],
        ..Default::default()
    }));
    assert_hides(&Command::from(CommandMessage::default()));
    assert_hides(&Command::Unknown {
        kind: 99,
        body: marker(),
    });
}
