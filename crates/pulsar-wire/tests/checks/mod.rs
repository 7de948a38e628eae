//! What must hold for any bytes at all that a peer sends. Used by the corpus replay and by the fuzz targets.

#![allow(clippy::unwrap_used, unreachable_pub, dead_code)]

use bytes::{Bytes, BytesMut};
use pulsar_wire::batch::{BatchBuilder, BatchReader};
use pulsar_wire::compression::{Codec, CompressionErrorKind, compress, decompress};
use pulsar_wire::{
    Checksum, Command, Frame, FrameDecoder, FrameError, MessageFrame, encode_frame,
    encode_headers_and_payload, encode_message,
};

const LIMIT: usize = 64 * 1024;
const CAP: usize = 32 * 1024;

/// The first byte says in which pieces the rest arrives: frames and errors are the same however it does.
pub fn frame(input: &[u8]) {
    let Some((pace, stream)) = input.split_first() else {
        return;
    };
    let whole = read([stream]);
    assert_eq!(
        format!("{whole:?}"),
        format!("{:?}", read(stream.chunks(usize::from(*pace).max(1))))
    );
    let (frames, error) = whole;
    assert!(error.is_none_or(|error| !error.to_string().is_empty()));
    frames.iter().for_each(comes_back);
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = FrameDecoder::new(LIMIT);
    let mut input = BytesMut::new();
    let mut frames = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut input) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

/// Compared as bytes, since a rate that is no number does not equal itself.
fn comes_back(frame: &Frame) {
    let command = &frame.command;
    let mut written = BytesMut::new();
    command.encode(&mut written);
    assert_eq!(written.len(), command.encoded_len());
    let again = Command::decode(written.clone().freeze()).unwrap();
    assert_eq!(
        (again.kind(), again.request_id()),
        (command.kind(), command.request_id())
    );
    let mut twice = BytesMut::new();
    again.encode(&mut twice);
    assert_eq!(twice, written);

    let mut framed = BytesMut::new();
    match (command, &frame.message) {
        (Command::Message(command), Some(message)) => {
            encode_message(command, &message.headers_and_payload, &mut framed);
        }
        _ => encode_frame(command, &mut framed),
    }
    // It may have grown: a field that must be there is written although it was missing.
    let read = FrameDecoder::new(16 * LIMIT)
        .decode(&mut framed)
        .unwrap()
        .unwrap();
    assert_eq!(read.command.kind(), command.kind());
    if let (Command::Message(_), Some(sent), Some(forwarded)) = (command, &frame.message, &read.message) {
        assert_eq!(forwarded.headers_and_payload, sent.headers_and_payload);
        assert_eq!(forwarded.payload, sent.payload);
    }
}

/// The first byte is how many members are announced: the reader ends, with at most one error, and what it read can
/// be written and read again.
pub fn batch(input: &[u8]) {
    let Some((count, payload)) = input.split_first() else {
        return;
    };
    let count = if *count == u8::MAX {
        u32::MAX
    } else {
        u32::from(*count)
    };
    let mut builder = BatchBuilder::new();
    let mut members = Vec::new();
    let mut reader = BatchReader::new(Bytes::copy_from_slice(payload), count);
    for member in reader.by_ref() {
        match member {
            Ok(member) => {
                builder.push(member.metadata.clone(), &member.payload);
                members.push(member);
            }
            Err(error) => {
                assert_eq!(error.index(), builder.count());
                assert!(!error.to_string().is_empty());
                break;
            }
        }
    }
    assert!(reader.next().is_none());
    assert!(builder.count() <= count);
    let size: usize = members.iter().map(|member| member.payload.len()).sum();
    assert!(size <= payload.len());

    let count = builder.count();
    let again: Result<Vec<_>, _> = BatchReader::new(builder.finish(), count).collect();
    assert_eq!(again.unwrap(), members);
}

/// A message part is taken apart without losing a byte, and its metadata can be written and read again.
pub fn metadata(input: &[u8]) {
    let message = MessageFrame::parse(Bytes::copy_from_slice(input));
    assert!(input.ends_with(&message.headers_and_payload));
    let block = input.len() - message.headers_and_payload.len();
    assert_eq!(
        block,
        message.broker_entry.as_ref().map_or(0, |entry| entry.len() + 6)
    );
    let metadata = message.metadata();
    if message.cut {
        assert!(metadata.is_err() && message.metadata.is_empty() && message.payload.is_empty());
        return;
    }
    let head = if message.checksum == Checksum::Absent {
        4
    } else {
        10
    };
    let parts = head + message.metadata.len() + message.payload.len();
    assert_eq!(message.headers_and_payload.len(), parts);
    assert!(message.headers_and_payload.ends_with(&message.payload));

    let Ok(metadata) = metadata else { return };
    let again = MessageFrame::parse(encode_headers_and_payload(&metadata, &message.payload));
    assert_eq!((again.checksum, again.cut), (Checksum::Valid, false));
    assert_eq!(again.payload, message.payload);
    assert_eq!(again.metadata().unwrap(), metadata);
}

/// The first byte is the codec, the next two are the size: the rest is refused or has that size. Read as a plain
/// payload, the rest comes back from its codec.
pub fn decompression(input: &[u8]) {
    let Some(([number, size @ ..], payload)) = input.split_first_chunk::<3>() else {
        return;
    };
    let codec = Codec::from_i32(i32::from(*number % 6));
    let size = usize::from(u16::from_be_bytes(*size));
    let payload = Bytes::copy_from_slice(payload);
    match decompress(codec, &payload, size, CAP) {
        Ok(plain) if codec == Codec::None => assert_eq!(plain, payload),
        Ok(plain) => {
            assert!(size <= CAP);
            assert_eq!(plain.len(), size);
            there_and_back(codec, &plain);
        }
        Err(error) => {
            let too_large = matches!(error.kind(), CompressionErrorKind::TooLarge { .. });
            assert_eq!(too_large, size > CAP);
            assert!(!error.to_string().is_empty());
        }
    }
    if payload.len() < CAP {
        there_and_back(codec, &payload);
    }
}

fn there_and_back(codec: Codec, plain: &Bytes) {
    let Ok(compressed) = compress(codec, plain) else {
        assert!(matches!(codec, Codec::Unknown(_)));
        return;
    };
    assert_eq!(decompress(codec, &compressed, plain.len(), CAP).unwrap(), plain);
    if codec != Codec::None {
        assert!(decompress(codec, &compressed, plain.len() + 1, CAP).is_err());
    }
}
