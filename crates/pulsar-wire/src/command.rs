//! One of all commands, in and out of its envelope.
//!
//! The protocol's envelope, `BaseCommand`, is a structure with a type number and one optional
//! field per command, whose number is the type's. So it is read by hand: look at the type, take
//! that field, decode it.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message as _;
use prost::encoding::{encode_varint, encoded_len_varint};

use crate::error::DecodeError;
use crate::field::{Fields, Value};
use crate::hidden::Hidden;
use crate::proto::*;

/// The field of the envelope that holds the type.
const TYPE: u64 = 1;

macro_rules! commands {
    ($($variant:ident($holder:ty) $name:literal = $number:literal, $structure:ident, $id:ident;)+) => {
        /// A command of the protocol. Large ones that are rare are boxed.
        #[derive(Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Command {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($holder),
            )+
            /// A command that this crate does not know.
            Unknown {
                /// Its type number.
                kind: i32,
                /// All of it, the envelope included.
                body: Bytes,
            },
        }

        impl Command {
            /// The command's type number.
            #[must_use]
            pub fn kind(&self) -> i32 {
                match self {
                    $(Self::$variant(_) => $number,)+
                    Self::Unknown { kind, .. } => *kind,
                }
            }

            /// The command's name in the protocol.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    Self::Unknown { .. } => "UNKNOWN",
                }
            }

            /// The request id, where the command carries one.
            #[must_use]
            pub fn request_id(&self) -> Option<u64> {
                match self {
                    $(Self::$variant(_command) => request_id!($id, _command),)+
                    Self::Unknown { body, .. } => unknown_request_id(body),
                }
            }

            fn decode_kind(kind: i32, nested: Option<Bytes>, body: Bytes) -> Result<Self, DecodeError> {
                match kind {
                    $($number => {
                        let nested = nested.ok_or_else(|| DecodeError::new($name, "the command is empty"))?;
                        <$holder>::decode(nested)
                            .map(Self::$variant)
                            .map_err(|error| DecodeError::protobuf($name, error))
                    })+
                    _ => Ok(Self::Unknown { kind, body }),
                }
            }

            fn nested_len(&self) -> usize {
                match self {
                    $(Self::$variant(command) => command.encoded_len(),)+
                    Self::Unknown { body, .. } => body.len(),
                }
            }

            fn encode_nested(&self, out: &mut BytesMut) {
                match self {
                    $(Self::$variant(command) => command.encode_raw(out),)+
                    Self::Unknown { body, .. } => out.put_slice(body),
                }
            }
        }

        impl fmt::Debug for Command {
            /// An unknown command may hold anything, so only its length is shown.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(command) => f.debug_tuple(stringify!($variant)).field(command).finish(),)+
                    Self::Unknown { kind, body } => f
                        .debug_struct("Unknown")
                        .field("kind", kind)
                        .field("body", &Hidden(body))
                        .finish(),
                }
            }
        }

        $(
            impl From<$structure> for Command {
                fn from(command: $structure) -> Self {
                    Self::$variant(command.into())
                }
            }
        )+
    };
}

macro_rules! request_id {
    (none, $command:expr) => {
        None
    };
    (id, $command:expr) => {
        Some($command.request_id)
    };
    (option, $command:expr) => {
        $command.request_id
    };
}

commands! {
    Connect(Box<CommandConnect>) "CONNECT" = 2, CommandConnect, none;
    Connected(CommandConnected) "CONNECTED" = 3, CommandConnected, none;
    Subscribe(Box<CommandSubscribe>) "SUBSCRIBE" = 4, CommandSubscribe, id;
    Producer(Box<CommandProducer>) "PRODUCER" = 5, CommandProducer, id;
    Send(CommandSend) "SEND" = 6, CommandSend, none;
    SendReceipt(CommandSendReceipt) "SEND_RECEIPT" = 7, CommandSendReceipt, none;
    SendError(CommandSendError) "SEND_ERROR" = 8, CommandSendError, none;
    Message(CommandMessage) "MESSAGE" = 9, CommandMessage, none;
    Ack(CommandAck) "ACK" = 10, CommandAck, option;
    Flow(CommandFlow) "FLOW" = 11, CommandFlow, none;
    Unsubscribe(CommandUnsubscribe) "UNSUBSCRIBE" = 12, CommandUnsubscribe, id;
    Success(CommandSuccess) "SUCCESS" = 13, CommandSuccess, id;
    Error(CommandError) "ERROR" = 14, CommandError, id;
    CloseProducer(CommandCloseProducer) "CLOSE_PRODUCER" = 15, CommandCloseProducer, id;
    CloseConsumer(CommandCloseConsumer) "CLOSE_CONSUMER" = 16, CommandCloseConsumer, id;
    ProducerSuccess(CommandProducerSuccess) "PRODUCER_SUCCESS" = 17, CommandProducerSuccess, id;
    Ping(CommandPing) "PING" = 18, CommandPing, none;
    Pong(CommandPong) "PONG" = 19, CommandPong, none;
    RedeliverUnacknowledgedMessages(CommandRedeliverUnacknowledgedMessages)
        "REDELIVER_UNACKNOWLEDGED_MESSAGES" = 20, CommandRedeliverUnacknowledgedMessages, none;
    PartitionMetadata(Box<CommandPartitionedTopicMetadata>)
        "PARTITIONED_METADATA" = 21, CommandPartitionedTopicMetadata, id;
    PartitionMetadataResponse(CommandPartitionedTopicMetadataResponse)
        "PARTITIONED_METADATA_RESPONSE" = 22, CommandPartitionedTopicMetadataResponse, id;
    LookupTopic(Box<CommandLookupTopic>) "LOOKUP" = 23, CommandLookupTopic, id;
    LookupTopicResponse(Box<CommandLookupTopicResponse>)
        "LOOKUP_RESPONSE" = 24, CommandLookupTopicResponse, id;
    ConsumerStats(CommandConsumerStats) "CONSUMER_STATS" = 25, CommandConsumerStats, id;
    ConsumerStatsResponse(Box<CommandConsumerStatsResponse>)
        "CONSUMER_STATS_RESPONSE" = 26, CommandConsumerStatsResponse, id;
    ReachedEndOfTopic(CommandReachedEndOfTopic) "REACHED_END_OF_TOPIC" = 27, CommandReachedEndOfTopic, none;
    Seek(CommandSeek) "SEEK" = 28, CommandSeek, id;
    GetLastMessageId(CommandGetLastMessageId) "GET_LAST_MESSAGE_ID" = 29, CommandGetLastMessageId, id;
    GetLastMessageIdResponse(Box<CommandGetLastMessageIdResponse>)
        "GET_LAST_MESSAGE_ID_RESPONSE" = 30, CommandGetLastMessageIdResponse, id;
    ActiveConsumerChange(CommandActiveConsumerChange)
        "ACTIVE_CONSUMER_CHANGE" = 31, CommandActiveConsumerChange, none;
    GetTopicsOfNamespace(CommandGetTopicsOfNamespace)
        "GET_TOPICS_OF_NAMESPACE" = 32, CommandGetTopicsOfNamespace, id;
    GetTopicsOfNamespaceResponse(CommandGetTopicsOfNamespaceResponse)
        "GET_TOPICS_OF_NAMESPACE_RESPONSE" = 33, CommandGetTopicsOfNamespaceResponse, id;
    GetSchema(CommandGetSchema) "GET_SCHEMA" = 34, CommandGetSchema, id;
    GetSchemaResponse(Box<CommandGetSchemaResponse>) "GET_SCHEMA_RESPONSE" = 35, CommandGetSchemaResponse, id;
    AuthChallenge(CommandAuthChallenge) "AUTH_CHALLENGE" = 36, CommandAuthChallenge, none;
    AuthResponse(CommandAuthResponse) "AUTH_RESPONSE" = 37, CommandAuthResponse, none;
    AckResponse(CommandAckResponse) "ACK_RESPONSE" = 38, CommandAckResponse, option;
    GetOrCreateSchema(Box<CommandGetOrCreateSchema>)
        "GET_OR_CREATE_SCHEMA" = 39, CommandGetOrCreateSchema, id;
    GetOrCreateSchemaResponse(CommandGetOrCreateSchemaResponse)
        "GET_OR_CREATE_SCHEMA_RESPONSE" = 40, CommandGetOrCreateSchemaResponse, id;
    NewTxn(CommandNewTxn) "NEW_TXN" = 50, CommandNewTxn, id;
    NewTxnResponse(CommandNewTxnResponse) "NEW_TXN_RESPONSE" = 51, CommandNewTxnResponse, id;
    AddPartitionToTxn(CommandAddPartitionToTxn) "ADD_PARTITION_TO_TXN" = 52, CommandAddPartitionToTxn, id;
    AddPartitionToTxnResponse(CommandAddPartitionToTxnResponse)
        "ADD_PARTITION_TO_TXN_RESPONSE" = 53, CommandAddPartitionToTxnResponse, id;
    AddSubscriptionToTxn(CommandAddSubscriptionToTxn)
        "ADD_SUBSCRIPTION_TO_TXN" = 54, CommandAddSubscriptionToTxn, id;
    AddSubscriptionToTxnResponse(CommandAddSubscriptionToTxnResponse)
        "ADD_SUBSCRIPTION_TO_TXN_RESPONSE" = 55, CommandAddSubscriptionToTxnResponse, id;
    EndTxn(CommandEndTxn) "END_TXN" = 56, CommandEndTxn, id;
    EndTxnResponse(CommandEndTxnResponse) "END_TXN_RESPONSE" = 57, CommandEndTxnResponse, id;
    EndTxnOnPartition(CommandEndTxnOnPartition) "END_TXN_ON_PARTITION" = 58, CommandEndTxnOnPartition, id;
    EndTxnOnPartitionResponse(CommandEndTxnOnPartitionResponse)
        "END_TXN_ON_PARTITION_RESPONSE" = 59, CommandEndTxnOnPartitionResponse, id;
    EndTxnOnSubscription(Box<CommandEndTxnOnSubscription>)
        "END_TXN_ON_SUBSCRIPTION" = 60, CommandEndTxnOnSubscription, id;
    EndTxnOnSubscriptionResponse(CommandEndTxnOnSubscriptionResponse)
        "END_TXN_ON_SUBSCRIPTION_RESPONSE" = 61, CommandEndTxnOnSubscriptionResponse, id;
    TcClientConnectRequest(CommandTcClientConnectRequest)
        "TC_CLIENT_CONNECT_REQUEST" = 62, CommandTcClientConnectRequest, id;
    TcClientConnectResponse(CommandTcClientConnectResponse)
        "TC_CLIENT_CONNECT_RESPONSE" = 63, CommandTcClientConnectResponse, id;
    WatchTopicList(CommandWatchTopicList) "WATCH_TOPIC_LIST" = 64, CommandWatchTopicList, id;
    WatchTopicListSuccess(CommandWatchTopicListSuccess)
        "WATCH_TOPIC_LIST_SUCCESS" = 65, CommandWatchTopicListSuccess, id;
    WatchTopicUpdate(CommandWatchTopicUpdate) "WATCH_TOPIC_UPDATE" = 66, CommandWatchTopicUpdate, none;
    WatchTopicListClose(CommandWatchTopicListClose) "WATCH_TOPIC_LIST_CLOSE" = 67, CommandWatchTopicListClose, id;
    TopicMigrated(CommandTopicMigrated) "TOPIC_MIGRATED" = 68, CommandTopicMigrated, none;
}

impl Command {
    /// Reads a command in its envelope. Byte fields stay slices of `body`.
    ///
    /// # Errors
    /// When `body` is not protobuf, has no type, or lacks the field of its type. An unknown
    /// command is no error but [`Command::Unknown`].
    pub fn decode(body: Bytes) -> Result<Self, DecodeError> {
        let malformed = |_| DecodeError::new("command", "malformed envelope");
        let mut kind = None;
        for field in Fields::new(&body) {
            let field = field.map_err(malformed)?;
            if let (TYPE, Value::Varint(value)) = (field.number, field.value) {
                // As protobuf does: an enumeration is an int32, cut to 32 bits.
                kind = Some(value as i32);
            }
        }
        let kind = kind.ok_or_else(|| DecodeError::new("command", "no type"))?;
        let nested = nested(&body, kind);
        Self::decode_kind(kind, nested, body)
    }

    /// Appends the command in its envelope.
    pub fn encode(&self, out: &mut BytesMut) {
        if !matches!(self, Self::Unknown { .. }) {
            put_envelope(self.kind(), self.nested_len(), out);
        }
        self.encode_nested(out);
    }

    /// How many bytes [`encode`](Self::encode) appends.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::Unknown { body, .. } => body.len(),
            _ => envelope_len(self.kind(), self.nested_len()),
        }
    }
}

/// The request id of an unknown command, so that a broker can refuse it instead of leaving the
/// peer waiting.
///
/// `body` is that of [`Command::Unknown`]. From GET_TOPICS_OF_NAMESPACE (32) on, every request of
/// the protocol has its id as field 1, so one of tomorrow should too; a command that is no request
/// may have another number there, such as a watch's.
#[must_use]
pub fn unknown_request_id(body: &[u8]) -> Option<u64> {
    let nested = Fields::new(body)
        .map_while(Result::ok)
        .find_map(|field| match field.value {
            Value::Bytes(range) => Some(&body[range]),
            _ => None,
        })?;
    Fields::new(nested)
        .map_while(Result::ok)
        .find_map(|field| match (field.number, field.value) {
            (1, Value::Varint(id)) => Some(id),
            _ => None,
        })
}

/// The contents of the envelope's field for `kind`: the last one, as in protobuf.
fn nested(body: &Bytes, kind: i32) -> Option<Bytes> {
    let number = u64::try_from(kind).ok()?;
    let range = Fields::new(body)
        .map_while(Result::ok)
        .filter_map(|field| match field.value {
            Value::Bytes(range) if field.number == number => Some(range),
            _ => None,
        })
        .last()?;
    Some(body.slice(range))
}

/// Appends what stands before a known command's own bytes: its type and its field's head.
pub(crate) fn put_envelope(kind: i32, nested: usize, out: &mut BytesMut) {
    out.put_u8((TYPE as u8) << 3);
    encode_varint(kind as u64, out);
    encode_varint(field_key(kind), out);
    encode_varint(nested as u64, out);
}

/// The length of a known command with its envelope.
pub(crate) fn envelope_len(kind: i32, nested: usize) -> usize {
    let key = encoded_len_varint(field_key(kind));
    1 + encoded_len_varint(kind as u64) + key + encoded_len_varint(nested as u64) + nested
}

fn field_key(kind: i32) -> u64 {
    const LENGTH_DELIMITED: u64 = 2;
    ((kind as u64) << 3) | LENGTH_DELIMITED
}
