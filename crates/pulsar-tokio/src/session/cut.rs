//! An entry on its way to becoming messages: checked, decompressed, cut.
//!
//! This happens when its turn comes, in the receiver's task, so that a reader of the socket never
//! decompresses and a queue holds what the broker sent and no more.

use bytes::Bytes;
use pulsar_wire::batch::{BatchMember, BatchReader};
use pulsar_wire::compression::{self, Codec};
use pulsar_wire::proto::{KeyValue, MessageMetadata};
use pulsar_wire::{AckSet, Checksum, MessageFrame};

use super::consumer::GREATEST_BATCH;
use crate::message::{EntryKey, Key, Payload, Undecodable};

/// The greatest size to which a payload may be decompressed, or put together from chunks.
pub(crate) const DECOMPRESSED_CAP: usize = 128 << 20;

/// An entry as it arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) key: EntryKey,
    pub(crate) partition: i32,
    pub(crate) redelivery_count: u32,
    /// The members that are still open, when the broker says so.
    pub(crate) ack_set: Option<AckSet>,
    pub(crate) metadata: Option<MessageMetadata>,
    pub(crate) frame: MessageFrame,
    /// How many messages it holds by its metadata.
    pub(crate) of: u32,
    /// Permits charged for it and not yet passed on to its messages.
    pub(crate) permits: u32,
    pub(crate) session: u32,
    /// The queue it belongs to; what is of an older one has been given back.
    pub(crate) generation: u32,
}

/// One message of an entry.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) index: u32,
    pub(crate) rest: bool,
    pub(crate) in_batch: bool,
    pub(crate) payload: Payload,
    pub(crate) properties: Vec<KeyValue>,
    pub(crate) key: Option<Key>,
    pub(crate) ordering_key: Option<Bytes>,
    pub(crate) event_time_ms: Option<u64>,
}

/// What the next place of an entry holds.
#[derive(Debug)]
pub(crate) enum Next {
    Member(Box<Member>),
    /// A place whose message is gone: acknowledged before, or compacted away.
    Gone(u32),
    End,
}

/// An entry being cut.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) arrived: Arrived,
    body: Body,
    next: u32,
}

#[derive(Debug)]
enum Body {
    Whole(Payload),
    Batch(BatchReader),
    Done,
}

impl Cut {
    pub(crate) fn new(arrived: Arrived) -> Self {
        let body = match decode(&arrived) {
            Ok(payload)
                if arrived
                    .metadata
                    .as_ref()
                    .is_some_and(|metadata| metadata.num_messages_in_batch.is_some()) =>
            {
                Body::Batch(BatchReader::new(payload, arrived.of))
            }
            Ok(payload) => Body::Whole(Payload::Bytes(payload)),
            Err(cause) => Body::Whole(undecodable(&arrived.frame, cause)),
        };
        Self {
            arrived,
            body,
            next: 0,
        }
    }

    /// The next place. Nothing is copied: payloads and properties are slices of what arrived.
    pub(crate) fn next(&mut self) -> Next {
        let index = self.next;
        match &mut self.body {
            Body::Done => Next::End,
            Body::Whole(_) => {
                let Body::Whole(payload) = std::mem::replace(&mut self.body, Body::Done) else {
                    return Next::End;
                };
                Next::Member(Box::new(self.whole(payload)))
            }
            Body::Batch(_) if index >= self.arrived.of => {
                self.body = Body::Done;
                Next::End
            }
            Body::Batch(reader) => {
                self.next += 1;
                let is_open = self
                    .arrived
                    .ack_set
                    .as_ref()
                    .is_none_or(|open| open.is_set(index));
                match reader.next() {
                    Some(Ok(member)) if !is_open || member.metadata.compacted_out == Some(true) => {
                        Next::Gone(index)
                    }
                    Some(Ok(member)) => Next::Member(Box::new(from_batch(index, member))),
                    Some(Err(error)) => self.broken(index, error.to_string()),
                    None => self.broken(
                        index,
                        format!("it ends after {index} of {} messages", self.arrived.of),
                    ),
                }
            }
        }
    }

    /// True when the last place has been given out.
    pub(crate) fn is_over(&self) -> bool {
        match &self.body {
            Body::Done => true,
            Body::Whole(_) => false,
            Body::Batch(_) => self.next >= self.arrived.of,
        }
    }

    fn broken(&mut self, index: u32, why: String) -> Next {
        self.body = Body::Done;
        let cause = Undecodable::Batch(why);
        let payload = undecodable(&self.arrived.frame, cause);
        let mut member = self.whole(payload);
        (member.index, member.rest, member.in_batch) = (index, true, true);
        Next::Member(Box::new(member))
    }

    /// A message that takes its properties and keys from the metadata of the entry.
    fn whole(&mut self, payload: Payload) -> Member {
        let metadata = self.arrived.metadata.as_mut();
        let is_batch = metadata
            .as_ref()
            .is_some_and(|metadata| metadata.num_messages_in_batch.is_some());
        let (properties, key, ordering_key, event_time_ms) = match metadata {
            // An entry has one such message, or one for the rest of it.
            Some(metadata) => (
                std::mem::take(&mut metadata.properties),
                key(metadata.partition_key.take(), metadata.partition_key_b64_encoded),
                metadata.ordering_key.take(),
                metadata.event_time,
            ),
            None => (Vec::new(), None, None, None),
        };
        Member {
            index: 0,
            rest: is_batch,
            in_batch: false,
            payload,
            properties,
            key,
            ordering_key,
            event_time_ms: event_time_ms.filter(|at| *at > 0),
        }
    }
}

fn from_batch(index: u32, member: BatchMember) -> Member {
    let metadata = member.metadata;
    Member {
        index,
        rest: false,
        in_batch: true,
        payload: Payload::Bytes(if metadata.null_value == Some(true) {
            Bytes::new()
        } else {
            member.payload
        }),
        properties: metadata.properties,
        key: key(metadata.partition_key, metadata.partition_key_b64_encoded),
        ordering_key: metadata.ordering_key,
        event_time_ms: metadata.event_time.filter(|at| *at > 0),
    }
}

fn key(text: Option<Bytes>, base64: Option<bool>) -> Option<Key> {
    text.map(|text| Key {
        text,
        base64: base64 == Some(true),
    })
}

/// The payload as it was received, or all of the entry where not even the payload can be found.
fn undecodable(frame: &MessageFrame, cause: Undecodable) -> Payload {
    let received = if frame.cut {
        frame.headers_and_payload.clone()
    } else {
        frame.payload.clone()
    };
    Payload::Undecodable { received, cause }
}

/// The payload of an entry, checked and decompressed.
fn decode(arrived: &Arrived) -> Result<Bytes, Undecodable> {
    if arrived.frame.checksum == Checksum::Invalid {
        return Err(Undecodable::Checksum);
    }
    let metadata = arrived
        .metadata
        .as_ref()
        .filter(|_| !arrived.frame.cut)
        .ok_or(Undecodable::Metadata)?;
    if !metadata.encryption_keys.is_empty() {
        return Err(Undecodable::Encrypted);
    }
    if let Some(count) = metadata.num_messages_in_batch
        && count > GREATEST_BATCH.cast_signed()
    {
        return Err(Undecodable::Batch(format!("it claims {count} messages")));
    }
    if metadata.null_value == Some(true) && metadata.num_messages_in_batch.is_none() {
        return Ok(Bytes::new());
    }
    let codec = Codec::from_i32(metadata.compression.unwrap_or_default());
    if codec == Codec::None {
        return Ok(arrived.frame.payload.clone());
    }
    let size = metadata.uncompressed_size.unwrap_or_default() as usize;
    compression::decompress(codec, &arrived.frame.payload, size, DECOMPRESSED_CAP)
        .map_err(|error| Undecodable::Compression(error.to_string()))
}
