//! What travels with a message and names it. Every text of these is [`Bytes`]: a message
//! with a key or property that is not UTF-8 stays readable.

use std::fmt;

use bytes::Bytes;

use crate::hidden::Hidden;

/// Names an entry and, with a batch index, a member of it.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct MessageIdData {
    #[prost(uint64, required, tag = "1")]
    pub ledger_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub entry_id: u64,
    #[prost(int32, optional, default = "-1", tag = "3")]
    pub partition: Option<i32>,
    #[prost(int32, optional, default = "-1", tag = "4")]
    pub batch_index: Option<i32>,
    #[prost(int64, repeated, packed = "false", tag = "5")]
    pub ack_set: Vec<i64>,
    #[prost(int32, optional, tag = "6")]
    pub batch_size: Option<i32>,
    #[prost(message, optional, boxed, tag = "7")]
    pub first_chunk_message_id: Option<Box<Self>>,
}

/// A property. Both sides may be any bytes.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct KeyValue {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub value: Bytes,
}

/// A key with a number.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct KeyLongValue {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub key: Bytes,
    #[prost(uint64, required, tag = "2")]
    pub value: u64,
}

/// A data key, encrypted for one reader.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct EncryptionKeys {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub value: Bytes,
    #[prost(message, repeated, tag = "3")]
    pub metadata: Vec<KeyValue>,
}

/// Describes an entry's payload: one message, a batch, or a chunk.
///
/// The presence of `num_messages_in_batch`, with 1 too, means the batch format.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct MessageMetadata {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub producer_name: Bytes,
    #[prost(uint64, required, tag = "2")]
    pub sequence_id: u64,
    #[prost(uint64, required, tag = "3")]
    pub publish_time: u64,
    #[prost(message, repeated, tag = "4")]
    pub properties: Vec<KeyValue>,
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub replicated_from: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub partition_key: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub replicate_to: Vec<Bytes>,
    #[prost(enumeration = "CompressionType", optional, default = "None", tag = "8")]
    pub compression: Option<i32>,
    #[prost(uint32, optional, tag = "9")]
    pub uncompressed_size: Option<u32>,
    #[prost(int32, optional, default = "1", tag = "11")]
    pub num_messages_in_batch: Option<i32>,
    #[prost(uint64, optional, tag = "12")]
    pub event_time: Option<u64>,
    #[prost(message, repeated, tag = "13")]
    pub encryption_keys: Vec<EncryptionKeys>,
    #[prost(bytes = "bytes", optional, tag = "14")]
    pub encryption_algo: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "15")]
    pub encryption_param: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "16")]
    pub schema_version: Option<Bytes>,
    #[prost(bool, optional, tag = "17")]
    pub partition_key_b64_encoded: Option<bool>,
    #[prost(bytes = "bytes", optional, tag = "18")]
    pub ordering_key: Option<Bytes>,
    #[prost(int64, optional, tag = "19")]
    pub deliver_at_time: Option<i64>,
    #[prost(int32, optional, tag = "20")]
    pub marker_type: Option<i32>,
    #[prost(uint64, optional, tag = "22")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "23")]
    pub txnid_most_bits: Option<u64>,
    #[prost(uint64, optional, tag = "24")]
    pub highest_sequence_id: Option<u64>,
    #[prost(bool, optional, tag = "25")]
    pub null_value: Option<bool>,
    #[prost(bytes = "bytes", optional, tag = "26")]
    pub uuid: Option<Bytes>,
    #[prost(int32, optional, tag = "27")]
    pub num_chunks_from_msg: Option<i32>,
    #[prost(int32, optional, tag = "28")]
    pub total_chunk_msg_size: Option<i32>,
    #[prost(int32, optional, tag = "29")]
    pub chunk_id: Option<i32>,
    #[prost(bool, optional, tag = "30")]
    pub null_partition_key: Option<bool>,
}

/// Describes one member of a batch.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct SingleMessageMetadata {
    #[prost(message, repeated, tag = "1")]
    pub properties: Vec<KeyValue>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub partition_key: Option<Bytes>,
    #[prost(int32, required, tag = "3")]
    pub payload_size: i32,
    #[prost(bool, optional, tag = "4")]
    pub compacted_out: Option<bool>,
    #[prost(uint64, optional, tag = "5")]
    pub event_time: Option<u64>,
    #[prost(bool, optional, tag = "6")]
    pub partition_key_b64_encoded: Option<bool>,
    #[prost(bytes = "bytes", optional, tag = "7")]
    pub ordering_key: Option<Bytes>,
    #[prost(uint64, optional, tag = "8")]
    pub sequence_id: Option<u64>,
    #[prost(bool, optional, tag = "9")]
    pub null_value: Option<bool>,
    #[prost(bool, optional, tag = "10")]
    pub null_partition_key: Option<bool>,
}

/// What a broker adds in front of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct BrokerEntryMetadata {
    #[prost(uint64, optional, tag = "1")]
    pub broker_timestamp: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub index: Option<u64>,
}

/// How a payload is compressed, as it stands in the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CompressionType {
    None = 0,
    Lz4 = 1,
    Zlib = 2,
    Zstd = 3,
    Snappy = 4,
}

impl fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValue")
            .field("key", &self.key)
            .field("value", &Hidden(&self.value))
            .finish()
    }
}

impl fmt::Debug for EncryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptionKeys")
            .field("key", &self.key)
            .field("value", &Hidden(&self.value))
            .field("metadata", &self.metadata)
            .finish()
    }
}

impl fmt::Debug for MessageMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageMetadata")
            .field("producer_name", &self.producer_name)
            .field("sequence_id", &self.sequence_id)
            .field("publish_time", &self.publish_time)
            .field("properties", &self.properties)
            .field("replicated_from", &self.replicated_from)
            .field("partition_key", &self.partition_key.as_deref().map(Hidden))
            .field("replicate_to", &self.replicate_to)
            .field("compression", &self.compression)
            .field("uncompressed_size", &self.uncompressed_size)
            .field("num_messages_in_batch", &self.num_messages_in_batch)
            .field("event_time", &self.event_time)
            .field("encryption_keys", &self.encryption_keys)
            .field("encryption_algo", &self.encryption_algo)
            .field("encryption_param", &self.encryption_param.as_deref().map(Hidden))
            .field("schema_version", &self.schema_version)
            .field("partition_key_b64_encoded", &self.partition_key_b64_encoded)
            .field("ordering_key", &self.ordering_key.as_deref().map(Hidden))
            .field("deliver_at_time", &self.deliver_at_time)
            .field("marker_type", &self.marker_type)
            .field("txnid_least_bits", &self.txnid_least_bits)
            .field("txnid_most_bits", &self.txnid_most_bits)
            .field("highest_sequence_id", &self.highest_sequence_id)
            .field("null_value", &self.null_value)
            .field("uuid", &self.uuid)
            .field("num_chunks_from_msg", &self.num_chunks_from_msg)
            .field("total_chunk_msg_size", &self.total_chunk_msg_size)
            .field("chunk_id", &self.chunk_id)
            .field("null_partition_key", &self.null_partition_key)
            .finish()
    }
}

impl fmt::Debug for SingleMessageMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleMessageMetadata")
            .field("properties", &self.properties)
            .field("partition_key", &self.partition_key.as_deref().map(Hidden))
            .field("payload_size", &self.payload_size)
            .field("compacted_out", &self.compacted_out)
            .field("event_time", &self.event_time)
            .field("partition_key_b64_encoded", &self.partition_key_b64_encoded)
            .field("ordering_key", &self.ordering_key.as_deref().map(Hidden))
            .field("sequence_id", &self.sequence_id)
            .field("null_value", &self.null_value)
            .field("null_partition_key", &self.null_partition_key)
            .finish()
    }
}
