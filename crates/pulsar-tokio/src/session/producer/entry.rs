//! Messages as the frame of one entry: a single one, or a batch.

use bytes::Bytes;
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::compression::{self, Codec};
use pulsar_wire::proto::{CommandSend, MessageMetadata, SingleMessageMetadata};
use pulsar_wire::{SendFrame, encode_send_within};

use super::batches::Member;
use crate::message::{Key, NewMessage};

/// Who sends, and as what.
#[derive(Debug)]
pub(super) struct Sender<'a> {
    pub(super) producer: u64,
    pub(super) name: &'a Bytes,
    pub(super) codec: Codec,
    pub(super) first_sequence: u64,
    /// The broker's greatest size.
    pub(super) most: usize,
}

/// Metadata and payload have more bytes together than the broker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) usize);

impl Sender<'_> {
    /// An entry with one message, not in batch format: it is smaller, and every client reads it.
    pub(super) fn single(&self, now_ms: u64, message: NewMessage) -> Result<SendFrame, TooLarge> {
        let send = CommandSend {
            producer_id: self.producer,
            sequence_id: self.first_sequence,
            ..CommandSend::default()
        };
        let (partition_key, partition_key_b64_encoded) = wire_key(message.key);
        let metadata = MessageMetadata {
            properties: message.properties,
            partition_key,
            partition_key_b64_encoded,
            ordering_key: message.ordering_key,
            deliver_at_time: message.deliver_at_ms,
            event_time: message.event_time_ms,
            ..self.metadata(now_ms)
        };
        self.entry(&send, metadata, message.payload)
    }

    /// An entry with several messages of one key, which take `bytes` at most. It bears the key too: brokers look only there.
    pub(super) fn batch<R>(&self, members: &mut [Member<R>], bytes: usize) -> Result<SendFrame, TooLarge> {
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let last = self.first_sequence + u64::from(count) - 1;
        let send = CommandSend {
            producer_id: self.producer,
            sequence_id: self.first_sequence,
            num_messages: Some(count.cast_signed()),
            highest_sequence_id: Some(last),
            ..CommandSend::default()
        };
        let mut metadata = MessageMetadata {
            highest_sequence_id: Some(last),
            num_messages_in_batch: Some(count.cast_signed()),
            ..self.metadata(members.first().map_or(0, |first| first.at_ms))
        };
        if let Some(first) = members.first() {
            (metadata.partition_key, metadata.partition_key_b64_encoded) =
                wire_key(first.message.key.clone());
            metadata.ordering_key.clone_from(&first.message.ordering_key);
        }
        let mut batch = BatchBuilder::with_capacity(bytes);
        for (sequence, member) in (self.first_sequence..).zip(members) {
            let message = std::mem::take(&mut member.message);
            let (partition_key, partition_key_b64_encoded) = wire_key(message.key);
            let metadata = SingleMessageMetadata {
                properties: message.properties,
                partition_key,
                partition_key_b64_encoded,
                ordering_key: message.ordering_key,
                event_time: message.event_time_ms,
                sequence_id: Some(sequence),
                ..SingleMessageMetadata::default()
            };
            batch.push(metadata, &message.payload);
        }
        self.entry(&send, metadata, batch.finish())
    }

    fn metadata(&self, now_ms: u64) -> MessageMetadata {
        MessageMetadata {
            producer_name: self.name.clone(),
            sequence_id: self.first_sequence,
            publish_time: now_ms,
            ..MessageMetadata::default()
        }
    }

    fn entry(
        &self,
        send: &CommandSend,
        mut metadata: MessageMetadata,
        payload: Bytes,
    ) -> Result<SendFrame, TooLarge> {
        let payload = match self.compressed(&payload) {
            Some(compressed) => {
                metadata.compression = Some(self.codec.number());
                metadata.uncompressed_size = u32::try_from(payload.len()).ok();
                compressed
            }
            None => payload,
        };
        encode_send_within(send, metadata, &payload, self.most).map_err(TooLarge)
    }

    /// The payload in the codec, where that makes it smaller.
    fn compressed(&self, payload: &Bytes) -> Option<Bytes> {
        if self.codec == Codec::None {
            return None;
        }
        let compressed = compression::compress(self.codec, payload).ok()?;
        (compressed.len() < payload.len()).then_some(compressed)
    }
}

/// A key and its mark as they stand in metadata.
fn wire_key(key: Option<Key>) -> (Option<Bytes>, Option<bool>) {
    key.map_or((None, None), |key| (Some(key.text), key.base64.then_some(true)))
}
