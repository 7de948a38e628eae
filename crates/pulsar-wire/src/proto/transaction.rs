//! Transactions.

/// Attaches to a transaction coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandTcClientConnectRequest {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub tc_id: u64,
}

/// Answer to [`CommandTcClientConnectRequest`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandTcClientConnectResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(int32, optional, tag = "2")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub message: Option<String>,
}

/// Begins a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandNewTxn {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txn_ttl_seconds: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub tc_id: Option<u64>,
}

/// Answer to [`CommandNewTxn`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandNewTxnResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// Names topics that a transaction writes to.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAddPartitionToTxn {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(string, repeated, tag = "4")]
    pub partitions: Vec<String>,
}

/// Answer to [`CommandAddPartitionToTxn`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAddPartitionToTxnResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// A subscription of a topic, named in a transaction.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Subscription {
    #[prost(string, required, tag = "1")]
    pub topic: String,
    #[prost(string, required, tag = "2")]
    pub subscription: String,
}

/// Names subscriptions that a transaction acknowledges on.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAddSubscriptionToTxn {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(message, repeated, tag = "4")]
    pub subscription: Vec<Subscription>,
}

/// Answer to [`CommandAddSubscriptionToTxn`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAddSubscriptionToTxnResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// Commits or aborts a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandEndTxn {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(enumeration = "TxnAction", optional, tag = "4")]
    pub txn_action: Option<i32>,
}

/// Answer to [`CommandEndTxn`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandEndTxnResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// Commits or aborts a transaction on one topic.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandEndTxnOnPartition {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(string, optional, tag = "4")]
    pub topic: Option<String>,
    #[prost(enumeration = "TxnAction", optional, tag = "5")]
    pub txn_action: Option<i32>,
    #[prost(uint64, optional, tag = "6")]
    pub txnid_least_bits_of_low_watermark: Option<u64>,
}

/// Answer to [`CommandEndTxnOnPartition`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandEndTxnOnPartitionResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// Commits or aborts a transaction on one subscription.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandEndTxnOnSubscription {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub subscription: Option<Subscription>,
    #[prost(enumeration = "TxnAction", optional, tag = "5")]
    pub txn_action: Option<i32>,
    #[prost(uint64, optional, tag = "6")]
    pub txnid_least_bits_of_low_watermark: Option<u64>,
}

/// Answer to [`CommandEndTxnOnSubscription`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandEndTxnOnSubscriptionResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, optional, tag = "2")]
    pub txnid_least_bits: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub txnid_most_bits: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum TxnAction {
    Commit = 0,
    Abort = 1,
}
