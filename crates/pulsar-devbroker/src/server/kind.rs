//! Kinds of frames, for those who arrange what happens to them.

/// A kind of frame, named as in the protocol. Those that both sides send are the same kind in both
/// directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommandKind {
    /// `CONNECT`
    Connect = 2,
    /// `CONNECTED`
    Connected = 3,
    /// `SUBSCRIBE`
    Subscribe = 4,
    /// `PRODUCER`
    Producer = 5,
    /// `SEND`
    Send = 6,
    /// `SEND_RECEIPT`
    SendReceipt = 7,
    /// `SEND_ERROR`
    SendError = 8,
    /// `MESSAGE`
    Message = 9,
    /// `ACK`
    Ack = 10,
    /// `FLOW`
    Flow = 11,
    /// `UNSUBSCRIBE`
    Unsubscribe = 12,
    /// `SUCCESS`
    Success = 13,
    /// `ERROR`
    Error = 14,
    /// `CLOSE_PRODUCER`
    CloseProducer = 15,
    /// `CLOSE_CONSUMER`
    CloseConsumer = 16,
    /// `PRODUCER_SUCCESS`
    ProducerSuccess = 17,
    /// `PING`
    Ping = 18,
    /// `PONG`
    Pong = 19,
    /// `REDELIVER_UNACKNOWLEDGED_MESSAGES`
    Redeliver = 20,
    /// `PARTITIONED_METADATA`
    PartitionMetadata = 21,
    /// `PARTITIONED_METADATA_RESPONSE`
    PartitionMetadataResponse = 22,
    /// `LOOKUP`
    Lookup = 23,
    /// `LOOKUP_RESPONSE`
    LookupResponse = 24,
    /// `CONSUMER_STATS`
    ConsumerStats = 25,
    /// `CONSUMER_STATS_RESPONSE`
    ConsumerStatsResponse = 26,
    /// `REACHED_END_OF_TOPIC`
    ReachedEndOfTopic = 27,
    /// `SEEK`
    Seek = 28,
    /// `GET_LAST_MESSAGE_ID`
    GetLastMessageId = 29,
    /// `GET_LAST_MESSAGE_ID_RESPONSE`
    GetLastMessageIdResponse = 30,
    /// `ACTIVE_CONSUMER_CHANGE`
    ActiveConsumerChange = 31,
    /// `GET_TOPICS_OF_NAMESPACE`
    GetTopics = 32,
    /// `GET_TOPICS_OF_NAMESPACE_RESPONSE`
    GetTopicsResponse = 33,
    /// `GET_SCHEMA`
    GetSchema = 34,
    /// `GET_SCHEMA_RESPONSE`
    GetSchemaResponse = 35,
    /// `ACK_RESPONSE`
    AckResponse = 38,
    /// `GET_OR_CREATE_SCHEMA`
    GetOrCreateSchema = 39,
    /// `GET_OR_CREATE_SCHEMA_RESPONSE`
    GetOrCreateSchemaResponse = 40,
}
