//! The message part of a frame: `[0x0e01][crc32c][metadata length][metadata][payload]`, with the
//! broker's own block `[0x0e02][length][…]` before it where that is switched on.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message as _;

use crate::command::{envelope_len, put_envelope};
use crate::error::DecodeError;
use crate::frame::{LENGTH, put_length};
use crate::hidden::Hidden;
use crate::properties::{self, properties_len, put_properties};
use crate::proto::{CommandMessage, CommandSend, MessageMetadata};
use crate::{BROKER_ENTRY_MAGIC, MAGIC};

const MAGIC_LEN: usize = 2;
const CHECKSUM_LEN: usize = 4;

/// The type numbers of the two commands that carry a message.
const SEND: i32 = 6;
const MESSAGE: i32 = 9;

/// Up to this size a payload is copied behind its head.
const COPIED: usize = 4 << 10;

/// The number of the properties in the metadata.
const PROPERTIES: u8 = 4;

/// Everything before the metadata: magic, checksum, metadata length.
const HEAD: usize = MAGIC_LEN + CHECKSUM_LEN + LENGTH;

/// Whether a message is what its sender sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// The sender gave none, which the protocol allows.
    Absent,
    /// It is.
    Valid,
    /// It is not.
    Invalid,
}

/// The message part of a frame.
///
/// A damaged one is a value too: a consumer knows its id and must be able to settle it, and
/// ending the connection would only bring it again.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageFrame {
    /// The broker's own metadata of the entry, encoded.
    pub broker_entry: Option<Bytes>,
    /// Whether the checksum holds.
    pub checksum: Checksum,
    /// The lengths inside do not add up; then `metadata` and `payload` are empty.
    pub cut: bool,
    /// The metadata, encoded.
    pub metadata: Bytes,
    /// The payload: compressed, encrypted and batched as the metadata says.
    pub payload: Bytes,
    /// All from the magic on, or from the metadata's length where there is no checksum: what a
    /// broker stores and forwards unchanged.
    pub headers_and_payload: Bytes,
}

impl MessageFrame {
    /// Takes the message part of a frame apart and verifies its checksum.
    #[must_use]
    pub fn parse(bytes: Bytes) -> Self {
        let (broker_entry, headers_and_payload) = split_broker_entry(bytes);
        let mut rest = headers_and_payload.clone();
        let checksum = take_checksum(&mut rest);
        let (cut, metadata, payload) = match take_block(&mut rest) {
            Some(metadata) => (false, metadata, rest),
            None => (true, Bytes::new(), Bytes::new()),
        };
        Self {
            broker_entry,
            checksum,
            cut,
            metadata,
            payload,
            headers_and_payload,
        }
    }

    /// Decodes the metadata. Its byte fields share the frame's memory.
    ///
    /// # Errors
    /// When the message was cut short, or the metadata is not protobuf. The message can't be read;
    /// the connection can go on.
    pub fn metadata(&self) -> Result<MessageMetadata, DecodeError> {
        if self.cut {
            return Err(DecodeError::new("metadata", "the message is cut short"));
        }
        properties::decode(PROPERTIES, &self.metadata, |metadata: &mut MessageMetadata| {
            &mut metadata.properties
        })
        .map_err(|error| DecodeError::protobuf("metadata", error))
    }
}

impl fmt::Debug for MessageFrame {
    /// Lengths only: the content may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageFrame")
            .field("broker_entry", &self.broker_entry.as_deref().map(Hidden))
            .field("checksum", &self.checksum)
            .field("cut", &self.cut)
            .field("metadata", &Hidden(&self.metadata))
            .field("payload", &Hidden(&self.payload))
            .field("headers_and_payload", &Hidden(&self.headers_and_payload))
            .finish()
    }
}

/// A whole SEND frame in one allocation, checksum included.
///
/// # Panics
/// When it has 4 GiB or more; check [`message_size`] before.
#[must_use]
pub fn encode_send(send: &CommandSend, metadata: &MessageMetadata, payload: &[u8]) -> Bytes {
    let metadata_len = metadata.encoded_len();
    let mut out = send_head(send, metadata_len, payload.len(), payload.len());
    put_message(metadata, metadata_len, payload, &mut out);
    out.freeze()
}

/// A SEND frame as it goes to a socket: one piece behind the other.
#[derive(Clone, PartialEq, Eq)]
pub struct SendFrame {
    /// All of it, or all before the payload.
    pub head: Bytes,
    /// The payload, where it is large enough that copying it would cost more than a second piece; else empty.
    pub payload: Bytes,
}

impl fmt::Debug for SendFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendFrame")
            .field("head", &Hidden(&self.head))
            .field("payload", &Hidden(&self.payload))
            .finish()
    }
}

/// The same, for metadata and a payload that nobody needs any more, if they have no more bytes together than `most`. The
/// properties stand behind the other fields, where they are quickly written; a large payload is not copied.
///
/// # Errors
/// Otherwise: how many bytes they have.
pub fn encode_send_within(
    send: &CommandSend,
    mut metadata: MessageMetadata,
    payload: &Bytes,
    most: usize,
) -> Result<SendFrame, usize> {
    let properties = std::mem::take(&mut metadata.properties);
    let metadata_len = metadata.encoded_len() + properties_len(&properties);
    let size = metadata_len + payload.len();
    if size > most {
        return Err(size);
    }
    let copied = if payload.len() < COPIED { payload.len() } else { 0 };
    let mut head = send_head(send, metadata_len, payload.len(), copied);
    put_checked(&mut head, &payload[copied..], |head| {
        put_length(metadata_len, head);
        metadata.encode_raw(head);
        put_properties(PROPERTIES, &properties, head);
        head.put_slice(&payload[..copied]);
    });
    Ok(SendFrame {
        head: head.freeze(),
        payload: payload.slice(copied..),
    })
}

/// The beginning of a SEND frame up to its message part, with room for that much of the payload.
fn send_head(send: &CommandSend, metadata_len: usize, payload_len: usize, room: usize) -> BytesMut {
    let nested = send.encoded_len();
    let command = envelope_len(SEND, nested);
    let total = LENGTH + command + HEAD + metadata_len + payload_len;

    let mut out = BytesMut::with_capacity(LENGTH + total - payload_len + room);
    put_length(total, &mut out);
    put_length(command, &mut out);
    put_envelope(SEND, nested, &mut out);
    send.encode_raw(&mut out);
    out
}

/// Appends a whole MESSAGE frame whose message part is taken over as it is.
///
/// # Panics
/// When it has 4 GiB or more.
pub fn encode_message(command: &CommandMessage, headers_and_payload: &[u8], out: &mut BytesMut) {
    out.reserve(headers_and_payload.len());
    encode_message_head(command, headers_and_payload.len(), out);
    out.put_slice(headers_and_payload);
}

/// Appends a MESSAGE frame up to its message part, of which only the length is needed: a broker
/// sends the bytes that it stored without moving them.
///
/// # Panics
/// When the frame has 4 GiB or more.
pub fn encode_message_head(command: &CommandMessage, headers_and_payload_len: usize, out: &mut BytesMut) {
    let nested = command.encoded_len();
    let length = envelope_len(MESSAGE, nested);
    out.reserve(2 * LENGTH + length);
    put_length(LENGTH + length + headers_and_payload_len, out);
    put_length(length, out);
    put_envelope(MESSAGE, nested, out);
    command.encode_raw(out);
}

/// The message part of a frame from its parts, checksum included.
///
/// # Panics
/// When it has 4 GiB or more; check [`message_size`] before.
#[must_use]
pub fn encode_headers_and_payload(metadata: &MessageMetadata, payload: &[u8]) -> Bytes {
    let metadata_len = metadata.encoded_len();
    let mut out = BytesMut::with_capacity(HEAD + metadata_len + payload.len());
    put_message(metadata, metadata_len, payload, &mut out);
    out.freeze()
}

/// What is held against the broker's largest message: metadata and payload, without the heads.
#[must_use]
pub fn message_size(metadata: &MessageMetadata, payload_len: usize) -> usize {
    metadata.encoded_len() + payload_len
}

fn put_message(metadata: &MessageMetadata, metadata_len: usize, payload: &[u8], out: &mut BytesMut) {
    put_checked(out, &[], |out| {
        put_length(metadata_len, out);
        metadata.encode_raw(out);
        out.put_slice(payload);
    });
}

/// Puts the checksum in front of what `put` writes; it covers what follows elsewhere too.
fn put_checked(out: &mut BytesMut, following: &[u8], put: impl FnOnce(&mut BytesMut)) {
    out.put_u16(MAGIC);
    let checksum_at = out.len();
    out.put_u32(0);
    let covered_from = out.len();
    put(out);
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&out[covered_from..]), following);
    out[checksum_at..covered_from].copy_from_slice(&checksum.to_be_bytes());
}

/// A broker's block that is longer than the message is left in place: the message is cut.
fn split_broker_entry(bytes: Bytes) -> (Option<Bytes>, Bytes) {
    let mut rest = bytes.clone();
    if !take_magic(&mut rest, BROKER_ENTRY_MAGIC) {
        return (None, bytes);
    }
    match take_block(&mut rest) {
        Some(block) => (Some(block), rest),
        None => (None, bytes),
    }
}

fn take_checksum(rest: &mut Bytes) -> Checksum {
    if !take_magic(rest, MAGIC) {
        return Checksum::Absent;
    }
    if rest.len() < CHECKSUM_LEN {
        return Checksum::Invalid;
    }
    let expected = rest.get_u32();
    if crc32c::crc32c(rest) == expected {
        Checksum::Valid
    } else {
        Checksum::Invalid
    }
}

fn take_magic(rest: &mut Bytes, magic: u16) -> bool {
    let found = rest.starts_with(&magic.to_be_bytes());
    if found {
        rest.advance(MAGIC_LEN);
    }
    found
}

fn take_block(rest: &mut Bytes) -> Option<Bytes> {
    let length = u32::from_be_bytes(*rest.first_chunk::<LENGTH>()?) as usize;
    if length > rest.len() - LENGTH {
        return None;
    }
    rest.advance(LENGTH);
    Some(rest.split_to(length))
}
