//! Bodies that are published, and what is read of records.

use std::collections::BTreeMap;

use babelqueue_pulsar::pulsar_tokio::{Message, NewMessage, Payload};
use bytes::Bytes;
use serde_json::Value;

/// The URN that the handlers of these tests are for.
pub(crate) const ORDER: &str = "urn:babel:orders:created";

/// An envelope that another SDK wrote.
pub(crate) fn body(urn: &str, attempts: i64) -> String {
    format!(
        r#"{{"job":"{urn}","trace_id":"t-1","data":{{"n":1}},"meta":{{"id":"m-1","queue":"orders","lang":"go","schema_version":1,"created_at":1790000000000}},"attempts":{attempts}}}"#
    )
}

/// A first delivery of [`ORDER`] without properties.
pub(crate) fn order() -> NewMessage {
    NewMessage::new(body(ORDER, 0))
}

pub(crate) fn payload(message: &Message) -> Bytes {
    match &message.payload {
        Payload::Bytes(bytes) => bytes.clone(),
        Payload::Undecodable { cause, .. } => panic!("{} cannot be decoded: {cause}", message.id),
    }
}

pub(crate) fn text(message: &Message) -> String {
    String::from_utf8(payload(message).to_vec()).expect("a text")
}

/// The properties in the order in which they came.
pub(crate) fn properties(message: &Message) -> Vec<(Bytes, Bytes)> {
    message.properties.clone()
}

pub(crate) fn property(message: &Message, name: &str) -> Option<String> {
    let found = message.properties.iter().rfind(|(key, _)| key == name)?;
    Some(String::from_utf8(found.1.to_vec()).expect("a text"))
}

/// The properties as texts; each key stands there once.
pub(crate) fn sorted(message: &Message) -> BTreeMap<String, String> {
    let texts = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).expect("a text");
    let sorted: BTreeMap<_, _> = message
        .properties
        .iter()
        .map(|(key, value)| (texts(key), texts(value)))
        .collect();
    assert_eq!(
        sorted.len(),
        message.properties.len(),
        "a property is there twice"
    );
    sorted
}

pub(crate) fn value_of(message: &Message) -> Value {
    serde_json::from_slice(&payload(message)).expect("JSON")
}

/// The `dead_letter` block of a record.
pub(crate) fn dead_letter(message: &Message) -> Value {
    let block = value_of(message)["dead_letter"].clone();
    assert!(block.is_object(), "{} is not a dead letter", text(message));
    assert_eq!(block["lang"], "rust");
    assert!(
        block["failed_at"]
            .as_i64()
            .is_some_and(|at| at > 1_700_000_000_000)
    );
    block
}
