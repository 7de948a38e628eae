//! Subscribing, flow, deliveries, acknowledgements, and all else said about a consumer.

use super::message::{KeyLongValue, KeyValue, MessageIdData};
use super::schema::Schema;

/// Attaches a consumer to a subscription.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandSubscribe {
    #[prost(string, required, tag = "1")]
    pub topic: String,
    #[prost(string, required, tag = "2")]
    pub subscription: String,
    #[prost(enumeration = "SubType", required, tag = "3")]
    pub sub_type: i32,
    #[prost(uint64, required, tag = "4")]
    pub consumer_id: u64,
    #[prost(uint64, required, tag = "5")]
    pub request_id: u64,
    #[prost(string, optional, tag = "6")]
    pub consumer_name: Option<String>,
    #[prost(int32, optional, tag = "7")]
    pub priority_level: Option<i32>,
    #[prost(bool, optional, default = "true", tag = "8")]
    pub durable: Option<bool>,
    #[prost(message, optional, tag = "9")]
    pub start_message_id: Option<MessageIdData>,
    #[prost(message, repeated, tag = "10")]
    pub metadata: Vec<KeyValue>,
    #[prost(bool, optional, tag = "11")]
    pub read_compacted: Option<bool>,
    #[prost(message, optional, tag = "12")]
    pub schema: Option<Schema>,
    #[prost(enumeration = "InitialPosition", optional, default = "Latest", tag = "13")]
    pub initial_position: Option<i32>,
    #[prost(bool, optional, tag = "14")]
    pub replicate_subscription_state: Option<bool>,
    #[prost(bool, optional, default = "true", tag = "15")]
    pub force_topic_creation: Option<bool>,
    #[prost(uint64, optional, tag = "16")]
    pub start_message_rollback_duration_sec: Option<u64>,
    #[prost(message, optional, tag = "17")]
    pub key_shared_meta: Option<KeySharedMeta>,
    #[prost(message, repeated, tag = "18")]
    pub subscription_properties: Vec<KeyValue>,
    #[prost(uint64, optional, tag = "19")]
    pub consumer_epoch: Option<u64>,
}

/// How a Key_Shared subscription divides its keys.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct KeySharedMeta {
    #[prost(enumeration = "KeySharedMode", required, tag = "1")]
    pub key_shared_mode: i32,
    #[prost(message, repeated, tag = "3")]
    pub hash_ranges: Vec<IntRange>,
    #[prost(bool, optional, tag = "4")]
    pub allow_out_of_order_delivery: Option<bool>,
}

/// A range of key hashes, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct IntRange {
    #[prost(int32, required, tag = "1")]
    pub start: i32,
    #[prost(int32, required, tag = "2")]
    pub end: i32,
}

/// Delivers the entry that follows in the frame.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandMessage {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(message, required, tag = "2")]
    pub message_id: MessageIdData,
    #[prost(uint32, optional, tag = "3")]
    pub redelivery_count: Option<u32>,
    #[prost(int64, repeated, packed = "false", tag = "4")]
    pub ack_set: Vec<i64>,
    #[prost(uint64, optional, tag = "5")]
    pub consumer_epoch: Option<u64>,
}

/// Acknowledges entries or members of batches.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAck {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(enumeration = "AckType", required, tag = "2")]
    pub ack_type: i32,
    #[prost(message, repeated, tag = "3")]
    pub message_id: Vec<MessageIdData>,
    #[prost(enumeration = "ValidationError", optional, tag = "4")]
    pub validation_error: Option<i32>,
    #[prost(message, repeated, tag = "5")]
    pub properties: Vec<KeyLongValue>,
    #[prost(uint64, optional, tag = "6")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "7")]
    pub txnid_most_bits: Option<u64>,
    #[prost(uint64, optional, tag = "8")]
    pub request_id: Option<u64>,
}

/// The acknowledgement with this request id was taken, or why not.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAckResponse {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
    #[prost(uint64, optional, tag = "6")]
    pub request_id: Option<u64>,
}

/// Lets the broker send so many messages more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandFlow {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(uint32, required, tag = "2")]
    pub message_permits: u32,
}

/// Deletes the subscription of a consumer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandUnsubscribe {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(bool, optional, tag = "3")]
    pub force: Option<bool>,
}

/// Moves the cursor to a message or a time.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandSeek {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(message, optional, tag = "3")]
    pub message_id: Option<MessageIdData>,
    #[prost(uint64, optional, tag = "4")]
    pub message_publish_time: Option<u64>,
}

/// Asks for messages again; without ids for all that are unacknowledged.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandRedeliverUnacknowledgedMessages {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(message, repeated, tag = "2")]
    pub message_ids: Vec<MessageIdData>,
    #[prost(uint64, optional, tag = "3")]
    pub consumer_epoch: Option<u64>,
}

/// Closes a consumer. The broker sends it too, perhaps with the new address of the topic.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandCloseConsumer {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(string, optional, tag = "3")]
    pub assigned_broker_service_url: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub assigned_broker_service_url_tls: Option<String>,
}

/// The topic is terminated and all of it was read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandReachedEndOfTopic {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
}

/// The consumer became, or ceased to be, the active one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandActiveConsumerChange {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(bool, optional, tag = "2")]
    pub is_active: Option<bool>,
}

/// Asks for the broker's figures on a consumer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandConsumerStats {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, required, tag = "4")]
    pub consumer_id: u64,
}

/// The broker's figures on a consumer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CommandConsumerStatsResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(int32, optional, tag = "2")]
    pub error_code: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub error_message: Option<String>,
    #[prost(double, optional, tag = "4")]
    pub msg_rate_out: Option<f64>,
    #[prost(double, optional, tag = "5")]
    pub msg_throughput_out: Option<f64>,
    #[prost(double, optional, tag = "6")]
    pub msg_rate_redeliver: Option<f64>,
    #[prost(string, optional, tag = "7")]
    pub consumer_name: Option<String>,
    #[prost(uint64, optional, tag = "8")]
    pub available_permits: Option<u64>,
    #[prost(uint64, optional, tag = "9")]
    pub unacked_messages: Option<u64>,
    #[prost(bool, optional, tag = "10")]
    pub blocked_consumer_on_unacked_msgs: Option<bool>,
    #[prost(string, optional, tag = "11")]
    pub address: Option<String>,
    #[prost(string, optional, tag = "12")]
    pub connected_since: Option<String>,
    #[prost(string, optional, tag = "13")]
    pub r#type: Option<String>,
    #[prost(double, optional, tag = "14")]
    pub msg_rate_expired: Option<f64>,
    #[prost(uint64, optional, tag = "15")]
    pub msg_backlog: Option<u64>,
    #[prost(double, optional, tag = "16")]
    pub message_ack_rate: Option<f64>,
}

/// Asks for the last message of the topic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandGetLastMessageId {
    #[prost(uint64, required, tag = "1")]
    pub consumer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
}

/// The last message of the topic and, on newer brokers, the cursor.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandGetLastMessageIdResponse {
    #[prost(message, required, tag = "1")]
    pub last_message_id: MessageIdData,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(message, optional, tag = "3")]
    pub consumer_mark_delete_position: Option<MessageIdData>,
}

/// How a subscription divides its messages among consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum SubType {
    Exclusive = 0,
    Shared = 1,
    Failover = 2,
    KeyShared = 3,
}

/// Where a new subscription starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum InitialPosition {
    Latest = 0,
    Earliest = 1,
}

/// Who decides on the key ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum KeySharedMode {
    AutoSplit = 0,
    Sticky = 1,
}

/// Whether an acknowledgement covers all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AckType {
    Individual = 0,
    Cumulative = 1,
}

/// Why a consumer acknowledged a message that it could not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ValidationError {
    UncompressedSizeCorruption = 0,
    DecompressionError = 1,
    ChecksumMismatch = 2,
    BatchDeSerializeError = 3,
    DecryptionError = 4,
}
