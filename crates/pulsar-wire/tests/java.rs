//! Bytes made by the Java client 4.0.7: read as it meant them, and written the same.

use bytes::{Bytes, BytesMut};
use pulsar_wire::batch::{BatchBuilder, BatchReader};
use pulsar_wire::compression::{Codec, decompress};
use pulsar_wire::proto::*;
use pulsar_wire::{Checksum, Command, FrameDecoder, MessageFrame, encode_frame, encode_send};

const SEND: &str = "0000003a0000000808063204080310070e012110e650000000220a017010071880d095ffbc\
                    3122110a0662712d6a6f62120775726e3a613a6232016b7b7d";
const ENTRY: &str = "0e02000000000e012110e650000000220a017010071880d095ffbc3122110a0662712d6a6f\
                     62120775726e3a613a6232016b7b7d";
const ACK: &str = "0000001600000012080a520e080910001a06080510062805400b";
const BATCH: &str = "0000000812026b31180340046f6e650000000218057468726565";

#[test]
fn a_send_frame_is_read_and_written_as_java_does() {
    let bytes = hex(SEND);
    let frame = FrameDecoder::new(1024)
        .decode(&mut BytesMut::from(&bytes[..]))
        .unwrap()
        .unwrap();
    let message = frame.message.unwrap();
    assert_eq!(message.checksum, Checksum::Valid);
    assert_eq!(message.payload, &b"{}"[..]);
    assert_eq!(message.metadata().unwrap(), metadata());

    let Command::Send(send) = frame.command else {
        panic!()
    };
    assert_eq!(
        send,
        CommandSend {
            producer_id: 3,
            sequence_id: 7,
            ..Default::default()
        }
    );
    assert_eq!(encode_send(&send, &metadata(), b"{}"), bytes);
}

#[test]
fn an_entry_with_a_brokers_block_is_read() {
    let message = MessageFrame::parse(hex(ENTRY));
    assert_eq!(message.broker_entry, Some(Bytes::new()));
    assert_eq!(message.checksum, Checksum::Valid);
    assert_eq!(message.metadata().unwrap(), metadata());
}

#[test]
fn an_ack_frame_is_written_as_java_does() {
    let id = MessageIdData {
        ledger_id: 5,
        entry_id: 6,
        ack_set: vec![5],
        ..Default::default()
    };
    let ack = CommandAck {
        consumer_id: 9,
        message_id: vec![id],
        request_id: Some(11),
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_frame(&ack.into(), &mut out);
    assert_eq!(out, hex(ACK));
}

#[test]
fn a_batch_is_read_and_written_as_java_does() {
    let members: Vec<_> = BatchReader::new(hex(BATCH), 2).map(Result::unwrap).collect();
    assert_eq!(members[0].metadata.partition_key.as_deref(), Some(&b"k1"[..]));
    assert_eq!(members[0].metadata.sequence_id, Some(4));
    assert_eq!(members[1].payload, &b"three"[..]);

    let mut builder = BatchBuilder::new();
    for member in members {
        builder.push(member.metadata, &member.payload);
    }
    assert_eq!(builder.finish(), hex(BATCH));
}

#[test]
fn payloads_compressed_by_java_are_read() {
    let payload: String = (0..20).map(|at| format!("order {} paid; ", at % 3)).collect();
    for (codec, compressed) in [
        (
            Codec::Lz4,
            "e26f72646572203020706169643b200e0019310e0019320e000f2a00d0506169643b20",
        ),
        // Flushed, not ended: no last block, no checksum.
        (
            Codec::Zlib,
            "789cca2f4a492d5230502848cc4cb156c807f30c51784628bc91a212000000ffff",
        ),
        (
            Codec::Zstd,
            "28b52ffd64180095020084026f72646572203020706169643b203132303132303132303132303132\
             303132303120706169643b201300e010701c381838041c070e060e01c781838143c071e060e01070\
             1c381838041c070e1bc354024fcd1dab",
        ),
        (
            Codec::Snappy,
            "9802346f72646572203020706169643b20090e0031320e000032320e00fe2a00fe2a00fe2a009e2a00",
        ),
    ] {
        let read = decompress(codec, &hex(compressed), payload.len(), 1024).unwrap();
        assert_eq!(read, payload, "{codec}");
    }
}

#[test]
fn empty_payloads_compressed_by_java_are_read() {
    for (codec, compressed) in [
        (Codec::Lz4, "00"),
        (Codec::Zlib, ""),
        (Codec::Zstd, "28b52ffd240001000099e9d851"),
        (Codec::Snappy, "00"),
    ] {
        assert_eq!(
            decompress(codec, &hex(compressed), 0, 1024).unwrap(),
            Bytes::new(),
            "{codec}"
        );
    }
}

fn metadata() -> MessageMetadata {
    MessageMetadata {
        producer_name: "p".into(),
        sequence_id: 7,
        publish_time: 1_700_000_000_000,
        partition_key: Some("k".into()),
        properties: vec![KeyValue {
            key: "bq-job".into(),
            value: "urn:a:b".into(),
        }],
        ..Default::default()
    }
}

fn hex(text: &str) -> Bytes {
    let digit = |character: u8| char::from(character).to_digit(16).expect("a hex digit") as u8;
    text.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}
