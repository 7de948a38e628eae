//! Frames: what was encoded comes back whole, however the bytes arrive; what can't be right is
//! refused before anything is allocated for it.

use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;
use pulsar_wire::proto::*;
use pulsar_wire::{
    Checksum, Command, Frame, FrameDecoder, FrameError, FrameErrorKind, encode_frame,
    encode_headers_and_payload, encode_message, encode_send,
};

const LIMIT: usize = 64 * 1024;

#[test]
fn a_frame_that_is_not_all_there_waits_at_every_byte() {
    let bytes = encode_send(&send(), &metadata(), b"payload");
    for length in 0..bytes.len() {
        let mut input = BytesMut::from(&bytes[..length]);
        assert_eq!(FrameDecoder::new(LIMIT).decode(&mut input), Ok(None));
        assert_eq!(input, bytes[..length]);
        if length >= 4 {
            assert!(input.capacity() >= bytes.len(), "there is room for the rest");
        }
    }
}

#[test]
fn frames_follow_one_another() {
    let mut input = BytesMut::new();
    encode_frame(&CommandPing {}.into(), &mut input);
    input.extend_from_slice(&encode_send(&send(), &metadata(), b"payload"));
    encode_frame(&CommandPong {}.into(), &mut input);

    let mut decoder = FrameDecoder::new(LIMIT);
    let mut names = Vec::new();
    while let Some(frame) = decoder.decode(&mut input).unwrap() {
        names.push((frame.command.name(), frame.message.is_some()));
    }
    assert_eq!(names, [("PING", false), ("SEND", true), ("PONG", false)]);
    assert!(input.is_empty());
}

#[test]
fn a_sent_message_comes_back_with_its_parts() {
    let frame = decode(&encode_send(&send(), &metadata(), b"payload")).unwrap();
    assert_eq!(frame.command, send().into());
    let message = frame.message.unwrap();
    assert_eq!(message.checksum, Checksum::Valid);
    assert_eq!(message.metadata().unwrap(), metadata());
    assert_eq!(message.payload, &b"payload"[..]);
    assert_eq!(message.broker_entry, None);
}

#[test]
fn a_stored_message_is_forwarded_byte_for_byte() {
    let stored = decode(&encode_send(&send(), &metadata(), b"payload"))
        .unwrap()
        .message
        .unwrap();
    let command = CommandMessage {
        consumer_id: 4,
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_message(&command, &stored.headers_and_payload, &mut out);
    let frame = decode(&out).unwrap();
    assert_eq!(frame.command, command.into());
    assert_eq!(frame.message, Some(stored));
}

#[test]
fn a_message_from_its_parts_is_the_one_that_was_sent() {
    let sent = decode(&encode_send(&send(), &metadata(), b"payload"))
        .unwrap()
        .message
        .unwrap();
    assert_eq!(
        sent.headers_and_payload,
        encode_headers_and_payload(&metadata(), b"payload")
    );
}

#[test]
fn a_frame_without_a_message_has_none() {
    let mut out = BytesMut::new();
    encode_frame(&send().into(), &mut out);
    assert_eq!(decode(&out).unwrap().message, None);
}

#[test]
fn bytes_behind_a_command_that_carries_no_message_are_ignored() {
    let mut command = BytesMut::new();
    Command::from(CommandPing {}).encode(&mut command);
    let mut out = BytesMut::new();
    out.put_u32(4 + command.len() as u32 + 3);
    out.put_u32(command.len() as u32);
    out.put_slice(&command);
    out.put_slice(b"xyz");
    let frame = decode(&out).unwrap();
    assert_eq!((frame.command.name(), frame.message), ("PING", None));
}

#[test]
fn a_frame_of_four_gigabytes_is_refused_without_room_for_it() {
    let mut input = BytesMut::from(&[0xff; 4][..]);
    let before = input.capacity();
    let error = FrameDecoder::new(LIMIT).decode(&mut input).unwrap_err();
    assert_eq!(
        *error.kind(),
        FrameErrorKind::TooLarge {
            length: u32::MAX as usize,
            limit: LIMIT
        }
    );
    assert_eq!(input.capacity(), before);
}

#[test]
fn a_frame_too_short_for_a_command_is_refused() {
    for length in [0, 3] {
        let error = decode(&[0, 0, 0, length, 1, 2, 3]).unwrap_err();
        assert_eq!(
            *error.kind(),
            FrameErrorKind::TooShort {
                length: length.into()
            }
        );
    }
}

#[test]
fn the_limit_includes_the_length_field() {
    let mut bytes = BytesMut::new();
    encode_frame(&CommandPing {}.into(), &mut bytes);
    assert!(
        FrameDecoder::new(bytes.len())
            .decode(&mut bytes.clone())
            .unwrap()
            .is_some()
    );
    let mut decoder = FrameDecoder::new(bytes.len() - 1);
    let error = decoder.decode(&mut bytes.clone()).unwrap_err();
    assert!(matches!(error.kind(), FrameErrorKind::TooLarge { .. }));
    decoder.set_limit(bytes.len());
    assert!(decoder.decode(&mut bytes).unwrap().is_some());
}

#[test]
fn a_command_longer_than_its_frame_is_refused() {
    for command in [1, 5, u32::MAX] {
        let mut bytes = BytesMut::new();
        bytes.put_u32(4);
        bytes.put_u32(command);
        let error = decode(&bytes).unwrap_err();
        assert_eq!(
            *error.kind(),
            FrameErrorKind::CommandLength {
                command: command as usize,
                left: 0
            }
        );
    }
}

#[test]
fn a_web_server_is_recognized() {
    let error = decode(b"HTTP/1.1 400 Bad Request\r\n").unwrap_err();
    assert_eq!(*error.kind(), FrameErrorKind::Http);
    assert!(error.to_string().contains("web service's port"));
    assert_eq!(
        *decode(b"GET /admin/v2 HTTP/1.1\r\n").unwrap_err().kind(),
        FrameErrorKind::Http
    );
}

#[test]
fn tls_is_recognized() {
    let alert = [0x15, 3, 3, 0, 2, 2, 40];
    assert_eq!(*decode(&alert).unwrap_err().kind(), FrameErrorKind::Tls);
}

#[test]
fn a_command_that_is_not_protobuf_is_refused_with_its_reason() {
    let error = decode(&[0, 0, 0, 6, 0, 0, 0, 2, 0xff, 0xff]).unwrap_err();
    assert!(matches!(error.kind(), FrameErrorKind::Command(_)));
    assert!(std::error::Error::source(&error).is_some());
}

fn decode(bytes: &[u8]) -> Result<Frame, FrameError> {
    let frame = FrameDecoder::new(LIMIT).decode(&mut BytesMut::from(bytes))?;
    Ok(frame.expect("a whole frame"))
}

fn send() -> CommandSend {
    CommandSend {
        producer_id: 3,
        sequence_id: 7,
        num_messages: Some(1),
        ..Default::default()
    }
}

fn metadata() -> MessageMetadata {
    MessageMetadata {
        producer_name: "orders".into(),
        sequence_id: 7,
        publish_time: 1_700_000_000_000,
        properties: vec![KeyValue {
            key: "bq-job".into(),
            value: "urn:shop:paid".into(),
        }],
        ..Default::default()
    }
}

fn any_bytes(most: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..most).prop_map(Bytes::from)
}

prop_compose! {
    fn any_metadata()(
        producer_name in any_bytes(20),
        sequence_id in any::<u64>(),
        publish_time in any::<u64>(),
        properties in prop::collection::vec((any_bytes(9), any_bytes(30)), 0..5),
        partition_key in prop::option::of(any_bytes(9)),
        num_messages_in_batch in prop::option::of(any::<i32>()),
        deliver_at_time in prop::option::of(any::<i64>()),
        compression in prop::option::of(any::<i32>()),
    ) -> MessageMetadata {
        let properties = properties.into_iter().map(|(key, value)| KeyValue { key, value }).collect();
        MessageMetadata {
            producer_name, sequence_id, publish_time, properties, partition_key, num_messages_in_batch,
            deliver_at_time, compression, ..Default::default()
        }
    }
}

proptest! {
    #[test]
    fn any_message_survives_any_cuts(
        metadata in any_metadata(),
        payload in any_bytes(300),
        producer_id in any::<u64>(),
        step in 1_usize..40,
    ) {
        let send = CommandSend { producer_id, ..send() };
        let bytes = encode_send(&send, &metadata, &payload);
        let (mut decoder, mut input, mut frames) = (FrameDecoder::new(LIMIT), BytesMut::new(), Vec::new());
        for part in bytes.chunks(step) {
            input.extend_from_slice(part);
            frames.extend(decoder.decode(&mut input).unwrap());
        }
        prop_assert_eq!(frames.len(), 1);
        prop_assert_eq!(&frames[0].command, &Command::from(send));
        let message = frames[0].message.as_ref().unwrap();
        prop_assert_eq!(message.checksum, Checksum::Valid);
        prop_assert_eq!(&message.payload, &payload);
        prop_assert_eq!(message.metadata().unwrap(), metadata);
    }

    #[test]
    fn any_bytes_are_a_frame_or_an_error_but_never_a_panic(bytes in any_bytes(200), plausible in any::<bool>()) {
        let mut input = BytesMut::new();
        if plausible {
            input.put_u32(bytes.len() as u32);
        }
        input.extend_from_slice(&bytes);
        let mut decoder = FrameDecoder::new(LIMIT);
        while let Ok(Some(frame)) = decoder.decode(&mut input) {
            let _ = frame.message.map(|message| message.metadata());
        }
    }
}
