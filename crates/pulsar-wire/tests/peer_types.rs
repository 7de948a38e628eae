//! Every structure against another implementation's generated types: tag by tag, the same bytes
//! must be known to both, mean the same to both, and stand under the same name.
//!
//! `magnetar-proto` has every message of the protocol; it is newer than 4.0.7, so it knows fields
//! that ours does not have yet. Those are listed here one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use bytes::{Bytes, BytesMut};
use magnetar_proto::pb;
use prost::Message;
use pulsar_wire::{Command, ServerError, proto, unknown_request_id};

/// Tags to try; the largest is 32.
const TAGS: u32 = 40;

/// Command types to try; the largest of 4.0.7 is 68.
const TYPES: u32 = 100;

/// Fields younger than 4.0.7.
const NEWER: &[(&str, u32)] = &[
    ("MessageMetadata", 31),
    ("MessageMetadata", 32),
    ("FeatureFlags", 7),
    ("FeatureFlags", 8),
    ("FeatureFlags", 9),
    ("CommandGetTopicsOfNamespace", 6),
    ("CommandGetOrCreateSchema", 4),
    ("CommandNewTxn", 4),
    ("CommandAddPartitionToTxn", 5),
    ("CommandAddSubscriptionToTxn", 5),
    ("CommandEndTxn", 5),
    ("CommandTcClientConnectRequest", 3),
];

/// Fields with a new name in later versions: ours is that of 4.0.7.
const RENAMED: &[(&str, &str, &str)] = &[("CommandNewTxn", "txn_ttl_seconds", "txn_ttl_millis")];

macro_rules! compare {
    ($($structure:ident),+ $(,)?) => {{
        let mut fields = 0;
        $(fields += compare::<proto::$structure, pb::$structure>(stringify!($structure));)+
        fields
    }};
}

#[test]
fn every_field_of_every_structure_is_known_by_the_same_tag_type_and_name() {
    let fields = compare!(
        AuthData,
        BrokerEntryMetadata,
        CommandAck,
        CommandAckResponse,
        CommandActiveConsumerChange,
        CommandAddPartitionToTxn,
        CommandAddPartitionToTxnResponse,
        CommandAddSubscriptionToTxn,
        CommandAddSubscriptionToTxnResponse,
        CommandAuthChallenge,
        CommandAuthResponse,
        CommandCloseConsumer,
        CommandCloseProducer,
        CommandConnect,
        CommandConnected,
        CommandConsumerStats,
        CommandConsumerStatsResponse,
        CommandEndTxn,
        CommandEndTxnOnPartition,
        CommandEndTxnOnPartitionResponse,
        CommandEndTxnOnSubscription,
        CommandEndTxnOnSubscriptionResponse,
        CommandEndTxnResponse,
        CommandError,
        CommandFlow,
        CommandGetLastMessageId,
        CommandGetLastMessageIdResponse,
        CommandGetOrCreateSchema,
        CommandGetOrCreateSchemaResponse,
        CommandGetSchema,
        CommandGetSchemaResponse,
        CommandGetTopicsOfNamespace,
        CommandGetTopicsOfNamespaceResponse,
        CommandLookupTopic,
        CommandLookupTopicResponse,
        CommandMessage,
        CommandNewTxn,
        CommandNewTxnResponse,
        CommandPartitionedTopicMetadata,
        CommandPartitionedTopicMetadataResponse,
        CommandPing,
        CommandPong,
        CommandProducer,
        CommandProducerSuccess,
        CommandReachedEndOfTopic,
        CommandRedeliverUnacknowledgedMessages,
        CommandSeek,
        CommandSend,
        CommandSendError,
        CommandSendReceipt,
        CommandSubscribe,
        CommandSuccess,
        CommandTcClientConnectRequest,
        CommandTcClientConnectResponse,
        CommandTopicMigrated,
        CommandUnsubscribe,
        CommandWatchTopicList,
        CommandWatchTopicListClose,
        CommandWatchTopicListSuccess,
        CommandWatchTopicUpdate,
        EncryptionKeys,
        FeatureFlags,
        IntRange,
        KeyLongValue,
        KeySharedMeta,
        KeyValue,
        MessageIdData,
        MessageMetadata,
        Schema,
        SingleMessageMetadata,
        Subscription,
    );
    assert_eq!(fields, EXPECTED_FIELDS, "fields compared");
}

/// So that a comparison that finds nothing to compare is noticed.
const EXPECTED_FIELDS: usize = 352;

#[test]
fn enumerations_have_the_same_names_and_numbers() {
    macro_rules! compare {
        ($($ours:ty => $theirs:ty;)+) => {
            $(for number in -1..40 {
                let ours = <$ours>::try_from(number).map(|value| format!("{value:?}")).ok();
                let theirs = <$theirs>::try_from(number).map(|value| format!("{value:?}")).ok();
                // The one value younger than 4.0.7.
                let theirs = theirs.filter(|name| name != "External");
                assert_eq!(ours, theirs, "{} {number}", stringify!($ours));
            })+
        };
    }

    compare! {
        proto::AuthMethod => pb::AuthMethod;
        proto::MetadataLookupType => pb::command_partitioned_topic_metadata_response::LookupType;
        proto::LookupType => pb::command_lookup_topic_response::LookupType;
        proto::ResourceType => pb::command_topic_migrated::ResourceType;
        proto::ProducerAccessMode => pb::ProducerAccessMode;
        proto::SubType => pb::command_subscribe::SubType;
        proto::InitialPosition => pb::command_subscribe::InitialPosition;
        proto::KeySharedMode => pb::KeySharedMode;
        proto::AckType => pb::command_ack::AckType;
        proto::ValidationError => pb::command_ack::ValidationError;
        proto::CompressionType => pb::CompressionType;
        proto::SchemaType => pb::schema::Type;
        proto::TopicsMode => pb::command_get_topics_of_namespace::Mode;
        proto::TxnAction => pb::TxnAction;
    }
}

#[test]
fn server_errors_have_the_same_names_and_numbers() {
    for number in -1..60 {
        let ours = ServerError::from_i32(number);
        assert_eq!(ours.code(), number);
        match pb::ServerError::try_from(number) {
            Ok(theirs) => assert_eq!(ours.name(), theirs.as_str_name()),
            Err(_) => assert_eq!(ours, ServerError::Unknown(number)),
        }
    }
}

#[test]
fn every_command_sits_in_the_same_field_of_the_envelope() {
    let mut known = 0;
    for number in 2..=TYPES {
        let body = envelope(number, &[]);
        let theirs = pb::BaseCommand::decode(body.clone()).unwrap();
        let ours = Command::decode(body.clone()).unwrap();
        assert_eq!(ours.kind(), number as i32);
        // From 70 on they know commands that came after 4.0.7.
        if let (Ok(kind), ..70) = (pb::base_command::Type::try_from(theirs.r#type), number) {
            assert_eq!(ours.name(), kind.as_str_name());
            assert_eq!(encoded(&ours), theirs.encode_to_vec(), "{}", ours.name());
            known += 1;
        } else {
            assert_eq!(
                ours,
                Command::Unknown {
                    kind: number as i32,
                    body
                }
            );
        }
    }
    assert_eq!(known, 58);
}

#[test]
fn request_ids_are_in_field_1_from_type_32_on() {
    let mut requests = 0;
    for number in 32..=68 {
        let body = envelope(number, &[0x08, 0x2a]);
        let Ok(command) = Command::decode(body.clone()) else {
            continue; // Field 1 is a text, so this is no request.
        };
        // An acknowledgement's id is optional and answers no request that could be unknown.
        if let Some(id) = command.request_id().filter(|_| command.name() != "ACK_RESPONSE") {
            assert_eq!(
                (id, unknown_request_id(&body)),
                (42, Some(42)),
                "{}",
                command.name()
            );
            requests += 1;
        }
    }
    assert_eq!(requests, 32);
}

/// Tries every tag with every wire type and many contents; returns how many fields there are.
fn compare<Ours: Message + Default + Debug, Theirs: Message + Default + Debug>(name: &str) -> usize {
    let empty = Ours::default().encode_to_vec();
    assert_eq!(
        empty,
        Theirs::default().encode_to_vec(),
        "the required fields of {name}"
    );
    let mut known = BTreeSet::new();
    for tag in 1..=TAGS {
        if NEWER.contains(&(name, tag)) {
            continue;
        }
        for content in contents(tag) {
            let ours = Ours::decode(&content[..]);
            let theirs = Theirs::decode(&content[..]);
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{name} {tag} {content:?}");
            let (Ok(ours), Ok(theirs)) = (ours, theirs) else {
                // Refused by both, so known to both as another type.
                continue;
            };
            assert_eq!(
                ours.encode_to_vec(),
                theirs.encode_to_vec(),
                "{name} {tag} {content:?}"
            );
            let fields = (changed(&ours), changed(&theirs));
            assert_eq!(fields.0, renamed(name, &fields.1), "{name} {tag} {content:?}");
            known.extend(fields.0.into_iter().map(|field| (tag, field)));
        }
    }
    let tags: BTreeSet<u32> = known.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags.len(), known.len(), "one name a tag: {name} {known:?}");
    tags.len()
}

/// The fields, by name, whose value is not that of an empty structure.
fn changed<M: Message + Default + Debug>(message: &M) -> Vec<String> {
    let (empty, full) = (values(&M::default()), values(message));
    full.into_iter()
        .filter(|(name, value)| empty.get(name) != Some(value))
        .map(|(name, _)| name)
        .collect()
}

fn values(message: &impl Debug) -> BTreeMap<String, String> {
    let text = format!("{message:#?}");
    let mut values = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines().skip(1) {
        match line
            .strip_prefix("    ")
            .filter(|line| line.starts_with(char::is_alphabetic))
        {
            Some(line) => {
                let (name, value) = line.split_once(": ").expect("a name and a value");
                last = name.trim_start_matches("r#").to_owned();
                values.insert(last.clone(), value.to_owned());
            }
            None => {
                if let Some(value) = values.get_mut(&last) {
                    value.push_str(line);
                }
            }
        }
    }
    values
}

fn renamed(structure: &str, fields: &[String]) -> Vec<String> {
    let rename = |field: &String| {
        let row = RENAMED
            .iter()
            .find(|(of, _, theirs)| *of == structure && theirs == field);
        row.map_or_else(|| field.clone(), |(_, ours, _)| (*ours).to_owned())
    };
    fields.iter().map(rename).collect()
}

fn contents(tag: u32) -> Vec<Vec<u8>> {
    let mut contents = Vec::new();
    for value in [0, 1, 2, 300, u64::from(u32::MAX), u64::MAX] {
        contents.push([key(tag, 0), varint(value)].concat());
        contents.push([key(tag, 0), varint(value), key(tag, 0), varint(7)].concat());
    }
    contents.push([key(tag, 1), 1.5_f64.to_le_bytes().to_vec()].concat());
    contents.push([key(tag, 5), 1.5_f32.to_le_bytes().to_vec()].concat());
    let mut nested = vec![Vec::new(), b"\x0a\x01x".to_vec()];
    // All of these are UTF-8, or a text would differ from bytes. The flags 7 to 9 inside CONNECT and CONNECTED are newer; the structures have their own turn.
    for inner in (1..=6).chain(10..=15) {
        nested.push([key(inner, 0), varint(5)].concat());
        nested.push([key(inner, 2), vec![0]].concat());
        nested.push([key(inner, 2), vec![2, 0x08, 0x01]].concat());
        nested.push([key(inner, 1), vec![0; 8]].concat());
    }
    for nested in nested {
        let field = [key(tag, 2), varint(nested.len() as u64), nested].concat();
        contents.push([field.clone(), field.clone()].concat());
        contents.push(field);
    }
    contents
}

fn envelope(number: u32, nested: &[u8]) -> Bytes {
    [
        vec![0x08],
        varint(number.into()),
        key(number, 2),
        varint(nested.len() as u64),
        nested.to_vec(),
    ]
    .concat()
    .into()
}

fn encoded(command: &Command) -> Vec<u8> {
    let mut out = BytesMut::new();
    command.encode(&mut out);
    assert_eq!(out.len(), command.encoded_len());
    out.to_vec()
}

fn key(tag: u32, wire_type: u64) -> Vec<u8> {
    varint(u64::from(tag) << 3 | wire_type)
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
