//! What a frame says, without what differs from run to run: ledgers, generated names, addresses, texts of
//! errors, times.

use std::time::{SystemTime, UNIX_EPOCH};

use pulsar_wire::batch::BatchReader;
use pulsar_wire::proto::*;
use pulsar_wire::{Checksum, Command, Frame, MessageFrame, ServerError};
use serde_json::{Map, Value, json};

use crate::peer::ASKED;

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("this age")
}

pub(crate) fn nothing() -> Value {
    json!({"is": "nothing"})
}

pub(crate) fn frame(frame: &Frame) -> Value {
    let mut seen = Map::new();
    seen.insert("is".into(), json!(frame.command.name()));
    if let Some(id) = frame.command.request_id() {
        seen.insert("request".into(), json!(request(id)));
    }
    if let Value::Object(fields) = fields(&frame.command, frame.message.as_ref()) {
        // What is not there is not written down: a field that appears is a new observation.
        seen.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(seen)
}

fn request(id: u64) -> &'static str {
    match id {
        ASKED => "echoed",
        u64::MAX => "-1",
        _ => "another",
    }
}

fn fields(command: &Command, message: Option<&MessageFrame>) -> Value {
    match command {
        Command::Connected(it) => json!({
            "server": it.server_version.split(['.', ' ']).next(),
            "protocol": it.protocol_version,
            "max_message_size": it.max_message_size,
            "flags": it.feature_flags.as_ref().map(flags),
        }),
        Command::Error(it) => json!({"error": error(it.error)}),
        Command::ProducerSuccess(it) => json!({
            "name": if it.producer_name.starts_with("standalone-") { "generated" } else { "given" },
            "last_sequence_id": it.last_sequence_id,
            "schema_version": it.schema_version.as_ref().map(|version| version.to_vec()),
            "topic_epoch": it.topic_epoch,
            "ready": it.producer_ready,
        }),
        Command::SendReceipt(it) => json!({
            "id": it.message_id.as_ref().map(id),
            "sequence": signed(it.sequence_id),
            "highest_sequence": it.highest_sequence_id.map(signed),
        }),
        Command::SendError(it) => json!({"error": error(it.error), "sequence": it.sequence_id}),
        Command::Message(it) => json!({
            "id": id(&it.message_id),
            "consumer": it.consumer_id,
            "redelivery_count": it.redelivery_count,
            "ack_set": (!it.ack_set.is_empty()).then_some(&it.ack_set),
            "consumer_epoch": it.consumer_epoch,
            "text": message.map(text),
            "checksum": message.map(|message| match message.checksum {
                Checksum::Absent => "none",
                Checksum::Valid => "right",
                Checksum::Invalid => "wrong",
            }),
        }),
        Command::AckResponse(it) => json!({"error": it.error.map(error), "consumer": it.consumer_id}),
        Command::LookupTopicResponse(it) => json!({
            "response": it.response.map(|code| ["Redirect", "Connect", "Failed"][code as usize]),
            "error": it.error.map(error),
            "url": it.broker_service_url.as_ref().map(|url| url.split(':').next()),
            "authoritative": it.authoritative,
            "through_proxy": it.proxy_through_service_url,
        }),
        Command::PartitionMetadataResponse(it) => json!({
            "response": it.response.map(|code| ["Success", "Failed"][code as usize]),
            "error": it.error.map(error),
            "partitions": it.partitions,
        }),
        Command::CloseConsumer(it) => json!({"consumer": it.consumer_id}),
        Command::CloseProducer(it) => json!({"producer": it.producer_id}),
        Command::ActiveConsumerChange(it) => json!({"active": it.is_active, "consumer": it.consumer_id}),
        Command::GetLastMessageIdResponse(it) => json!({
            "last": id(&it.last_message_id),
            "mark_delete": it.consumer_mark_delete_position.as_ref().map(id),
        }),
        Command::ConsumerStatsResponse(it) => json!({
            "error": it.error_code.map(error),
            "name": it.consumer_name,
            "permits": it.available_permits.map(signed),
            "unacked": it.unacked_messages,
            "blocked": it.blocked_consumer_on_unacked_msgs,
            "type": it.r#type,
            "backlog": it.msg_backlog,
        }),
        Command::GetTopicsOfNamespaceResponse(it) => json!({
            "topics": it.topics.len(),
            "filtered": it.filtered,
            "hash_length": it.topics_hash.as_ref().map(String::len),
            "changed": it.changed,
        }),
        Command::WatchTopicUpdate(it) => json!({
            "new": it.new_topics.len(),
            "deleted": it.deleted_topics.len(),
            "hash_length": it.topics_hash.len(),
        }),
        Command::GetSchemaResponse(it) => json!({
            "error": it.error_code.map(error),
            "version": it.schema_version.as_ref().map(|version| version.to_vec()),
            "type": it.schema.as_ref().map(|schema| schema.r#type),
            "data": it.schema.as_ref().map(|schema| String::from_utf8_lossy(&schema.schema_data).into_owned()),
        }),
        Command::GetOrCreateSchemaResponse(it) => json!({
            "error": it.error_code.map(error),
            "version": it.schema_version.as_ref().map(|version| version.to_vec()),
        }),
        Command::TcClientConnectResponse(it) => json!({"error": it.error.map(error)}),
        Command::NewTxnResponse(it) => json!({"error": it.error.map(error)}),
        Command::ReachedEndOfTopic(it) => json!({"consumer": it.consumer_id}),
        _ => Value::Null,
    }
}

/// Numbers of ledgers are named by what they stand for.
fn id(id: &MessageIdData) -> String {
    let ledger = match signed(id.ledger_id) {
        -1 => "none",
        0 => "0",
        _ => "ledger",
    };
    let part = |number: Option<i32>| number.map_or("-".to_owned(), |number| number.to_string());
    format!(
        "{ledger}:{} partition {} index {}",
        signed(id.entry_id),
        part(id.partition),
        part(id.batch_index)
    )
}

/// Both are written as unsigned, and are signed to Pulsar.
fn signed(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

fn error(code: i32) -> &'static str {
    ServerError::from_i32(code).name()
}

fn flags(flags: &FeatureFlags) -> Vec<&'static str> {
    let all = [
        ("auth_refresh", flags.supports_auth_refresh),
        ("broker_entry_metadata", flags.supports_broker_entry_metadata),
        ("partial_producer", flags.supports_partial_producer),
        ("topic_watchers", flags.supports_topic_watchers),
        (
            "partitions_without_creation",
            flags.supports_get_partitioned_metadata_without_auto_creation,
        ),
        (
            "replicated_deduplication",
            flags.supports_repl_dedup_by_lid_and_eid,
        ),
    ];
    all.into_iter()
        .filter_map(|(name, on)| (on == Some(true)).then_some(name))
        .collect()
}

/// The payload; the members of a batch joined by `+`.
fn text(message: &MessageFrame) -> String {
    let metadata = message.metadata().expect("metadata");
    let Some(members) = metadata.num_messages_in_batch else {
        return String::from_utf8_lossy(&message.payload).into_owned();
    };
    let members = u32::try_from(members).expect("a count");
    let reader = BatchReader::new(message.payload.clone(), members);
    let texts: Vec<_> = reader
        .map(|member| String::from_utf8_lossy(&member.expect("a member").payload).into_owned())
        .collect();
    texts.join("+")
}
