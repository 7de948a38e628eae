//! The message part of a frame: damaged ones are values, with all that could be read.

use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;
use pulsar_wire::proto::{CommandSend, KeyValue, MessageMetadata};
use pulsar_wire::{
    Checksum, FrameDecoder, MessageFrame, encode_headers_and_payload, encode_send_within, message_size,
};

#[test]
fn a_changed_byte_shows() {
    let good = encode_headers_and_payload(&metadata(), b"payload");
    for at in 2..good.len() {
        let mut bad = good.to_vec();
        bad[at] ^= 0x40;
        assert_eq!(
            MessageFrame::parse(bad.into()).checksum,
            Checksum::Invalid,
            "byte {at}"
        );
    }
}

#[test]
fn a_send_whose_payload_is_a_piece_of_its_own_is_the_same_frame_as_one_in_a_piece() {
    for size in [0, 1, 300, 4_095, 4_096, 4_097, 100_000] {
        let payload = Bytes::from(vec![b'x'; size]);
        let send = CommandSend {
            producer_id: 1,
            sequence_id: 7,
            ..CommandSend::default()
        };
        let bytes = message_size(&metadata(), size);
        let frame = encode_send_within(&send, metadata(), &payload, bytes).unwrap();
        assert_eq!(
            encode_send_within(&send, metadata(), &payload, bytes - 1),
            Err(bytes)
        );
        // Nothing is moved that is large.
        assert!(frame.payload.is_empty() || frame.payload.as_ptr() == payload.as_ptr());
        let mut input = BytesMut::from(&[&frame.head[..], &frame.payload[..]].concat()[..]);
        let read = FrameDecoder::default().decode(&mut input).unwrap().unwrap();
        assert!(input.is_empty());
        let message = read.message.unwrap();
        assert_eq!((read.command, message.checksum), (send.into(), Checksum::Valid));
        assert_eq!(message.metadata().unwrap(), metadata());
        assert_eq!(message.payload, payload);
    }
}

#[test]
fn a_message_with_a_wrong_checksum_keeps_its_parts() {
    let mut bytes = encode_headers_and_payload(&metadata(), b"payload").to_vec();
    bytes[3] ^= 1;
    let message = MessageFrame::parse(bytes.into());
    assert_eq!(message.checksum, Checksum::Invalid);
    assert_eq!(message.payload, &b"payload"[..]);
    assert_eq!(message.metadata().unwrap(), metadata());
}

#[test]
fn a_message_without_a_checksum_is_read() {
    let with = encode_headers_and_payload(&metadata(), b"payload");
    let without = with.slice(6..);
    let message = MessageFrame::parse(without.clone());
    assert_eq!(message.checksum, Checksum::Absent);
    assert_eq!(message.metadata().unwrap(), metadata());
    assert_eq!(message.payload, &b"payload"[..]);
    assert_eq!(message.headers_and_payload, without);
}

#[test]
fn a_message_cut_anywhere_before_its_payload_says_so() {
    let whole = encode_headers_and_payload(&metadata(), b"");
    for length in 0..whole.len() {
        let message = MessageFrame::parse(whole.slice(..length));
        assert!(message.cut, "{length} bytes");
        assert!(message.metadata().is_err());
        assert_eq!(message.headers_and_payload, whole[..length]);
        if length >= 2 {
            assert_eq!(message.checksum, Checksum::Invalid);
        }
    }
}

#[test]
fn the_brokers_block_is_taken_off_and_not_forwarded() {
    let stored = encode_headers_and_payload(&metadata(), b"payload");
    let mut bytes = BytesMut::new();
    bytes.put_u16(0x0e02);
    bytes.put_u32(2);
    bytes.put_slice(&[0x10, 0x05]);
    bytes.put_slice(&stored);
    let message = MessageFrame::parse(bytes.freeze());
    assert_eq!(message.broker_entry.as_deref(), Some(&[0x10, 0x05][..]));
    assert_eq!(message.headers_and_payload, stored);
    assert_eq!(message.checksum, Checksum::Valid);
    assert_eq!(message.payload, &b"payload"[..]);
}

#[test]
fn a_brokers_block_without_end_leaves_a_cut_message() {
    for bytes in [&[0x0e, 0x02][..], &[0x0e, 0x02, 0xff, 0xff, 0xff, 0xff, 1]] {
        let message = MessageFrame::parse(Bytes::copy_from_slice(bytes));
        assert_eq!((message.broker_entry.as_ref(), message.cut), (None, true));
        assert_eq!(message.headers_and_payload, bytes);
    }
}

#[test]
fn texts_that_are_not_utf_8_survive() {
    let odd = Bytes::from_static(b"\xff\xfe");
    let metadata = MessageMetadata {
        producer_name: odd.clone(),
        partition_key: Some(odd.clone()),
        uuid: Some(odd.clone()),
        properties: vec![KeyValue {
            key: odd.clone(),
            value: odd.clone(),
        }],
        ..Default::default()
    };
    let message = MessageFrame::parse(encode_headers_and_payload(&metadata, b""));
    assert_eq!(message.metadata().unwrap(), metadata);
}

#[test]
fn metadata_that_is_not_protobuf_is_an_error_of_the_message() {
    let message = MessageFrame::parse(Bytes::from_static(&[0, 0, 0, 2, 0xff, 0xff, b'x']));
    assert!(!message.cut);
    assert_eq!(message.metadata().unwrap_err().subject(), "metadata");
}

#[test]
fn the_size_held_against_the_limit_is_metadata_and_payload() {
    let bytes = encode_headers_and_payload(&metadata(), b"payload");
    assert_eq!(message_size(&metadata(), b"payload".len()), bytes.len() - 10);
}

fn metadata() -> MessageMetadata {
    MessageMetadata {
        producer_name: "orders".into(),
        sequence_id: 7,
        publish_time: 5,
        ..Default::default()
    }
}

proptest! {
    #[test]
    fn any_bytes_parse(bytes in prop::collection::vec(any::<u8>(), 0..100), magic in 0_u16..4) {
        let mut input = BytesMut::new();
        if magic > 0 {
            input.put_u16(0x0e00 + magic);
        }
        input.extend_from_slice(&bytes);
        let _ = MessageFrame::parse(input.freeze()).metadata();
    }
}
