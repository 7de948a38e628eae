//! Opening a producer, sending, and the answers.

use bytes::Bytes;

use super::message::{KeyValue, MessageIdData};
use super::schema::Schema;

/// Opens a producer on a topic.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandProducer {
    #[prost(string, required, tag = "1")]
    pub topic: String,
    #[prost(uint64, required, tag = "2")]
    pub producer_id: u64,
    #[prost(uint64, required, tag = "3")]
    pub request_id: u64,
    #[prost(string, optional, tag = "4")]
    pub producer_name: Option<String>,
    #[prost(bool, optional, tag = "5")]
    pub encrypted: Option<bool>,
    #[prost(message, repeated, tag = "6")]
    pub metadata: Vec<KeyValue>,
    #[prost(message, optional, tag = "7")]
    pub schema: Option<Schema>,
    #[prost(uint64, optional, tag = "8")]
    pub epoch: Option<u64>,
    #[prost(bool, optional, default = "true", tag = "9")]
    pub user_provided_producer_name: Option<bool>,
    #[prost(enumeration = "ProducerAccessMode", optional, default = "Shared", tag = "10")]
    pub producer_access_mode: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub topic_epoch: Option<u64>,
    #[prost(bool, optional, tag = "12")]
    pub txn_enabled: Option<bool>,
    #[prost(string, optional, tag = "13")]
    pub initial_subscription_name: Option<String>,
}

/// The producer is open (or waits for exclusive access).
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandProducerSuccess {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(string, required, tag = "2")]
    pub producer_name: String,
    #[prost(int64, optional, default = "-1", tag = "3")]
    pub last_sequence_id: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub schema_version: Option<Bytes>,
    #[prost(uint64, optional, tag = "5")]
    pub topic_epoch: Option<u64>,
    #[prost(bool, optional, default = "true", tag = "6")]
    pub producer_ready: Option<bool>,
}

/// Publishes what follows in the frame: a message, or a batch as one entry.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandSend {
    #[prost(uint64, required, tag = "1")]
    pub producer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub sequence_id: u64,
    #[prost(int32, optional, default = "1", tag = "3")]
    pub num_messages: Option<i32>,
    #[prost(uint64, optional, tag = "4")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub txnid_most_bits: Option<u64>,
    #[prost(uint64, optional, tag = "6")]
    pub highest_sequence_id: Option<u64>,
    #[prost(bool, optional, tag = "7")]
    pub is_chunk: Option<bool>,
    #[prost(bool, optional, tag = "8")]
    pub marker: Option<bool>,
    #[prost(message, optional, tag = "9")]
    pub message_id: Option<MessageIdData>,
}

/// What was sent is stored.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandSendReceipt {
    #[prost(uint64, required, tag = "1")]
    pub producer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub sequence_id: u64,
    #[prost(message, optional, tag = "3")]
    pub message_id: Option<MessageIdData>,
    #[prost(uint64, optional, tag = "4")]
    pub highest_sequence_id: Option<u64>,
}

/// What was sent is not stored.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandSendError {
    #[prost(uint64, required, tag = "1")]
    pub producer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub sequence_id: u64,
    #[prost(int32, required, tag = "3")]
    pub error: i32,
    #[prost(string, required, tag = "4")]
    pub message: String,
}

/// Closes a producer. The broker sends it too, perhaps with the new address of the topic.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandCloseProducer {
    #[prost(uint64, required, tag = "1")]
    pub producer_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(string, optional, tag = "3")]
    pub assigned_broker_service_url: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub assigned_broker_service_url_tls: Option<String>,
}

/// Whether a producer shares its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ProducerAccessMode {
    Shared = 0,
    Exclusive = 1,
    WaitForExclusive = 2,
    ExclusiveWithFencing = 3,
}
