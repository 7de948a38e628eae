//! What the tests share: one topic `orders`, a log of the hooks, and bodies.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use babelqueue::memory::{Broker, MemoryTransport, Stored};
use babelqueue::{
    Body, Consumer, ConsumerBuilder, ConsumerError, ConsumerErrorKind, Envelope, Failure, Message, Properties,
};
use bytes::Bytes;

pub const CREATED: &str = "urn:babel:orders:created";
pub const PAID: &str = "urn:babel:orders:paid";
pub const TOPIC: &str = "persistent://shop/main/orders";
pub const DEAD: &str = "persistent://shop/main/orders.dlq";

/// A broker and what happened around it.
#[derive(Clone, Default)]
pub struct World {
    pub broker: Broker,
    log: Arc<Mutex<Vec<String>>>,
}

/// Where messages are after a test.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    pub work: usize,
    pub dead: usize,
    pub unsettled: usize,
}

impl World {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn subscribe(&self) -> MemoryTransport {
        self.broker.subscribe(TOPIC)
    }

    pub fn put(&self, body: impl Into<Bytes>, properties: &[(&str, &str)]) {
        self.broker.put(TOPIC, body, properties_of(properties));
    }

    /// A builder whose hooks and whose handler of `CREATED` write to the log.
    pub fn builder(&self) -> ConsumerBuilder {
        let (errors, mismatches, handled) = (self.clone(), self.clone(), self.clone());
        Consumer::builder()
            .on_error(move |error, envelope, message| errors.note(error_line(error, envelope, message)))
            .on_routing_mismatch(move |property, body, _, _| {
                mismatches.note(format!("mismatch {property} {body}"))
            })
            .handler(CREATED, move |envelope: Envelope, _: Message| {
                handled.note(format!("handler {}", envelope.attempts()));
                async { Ok(()) }
            })
    }

    /// Like `builder`, with a handler of `CREATED` that always fails.
    pub fn failing(&self) -> ConsumerBuilder {
        let handled = self.clone();
        self.builder()
            .handler(CREATED, move |envelope: Envelope, _: Message| {
                handled.note(format!("handler {}", envelope.attempts()));
                async { Err(Failure::new("probe offline")) }
            })
    }

    /// Like `builder`, with the hook for unknown URNs.
    pub fn with_unknown_hook(&self) -> ConsumerBuilder {
        let unknown = self.clone();
        self.builder().on_unknown_urn(move |envelope, _| {
            unknown.note(format!("on_unknown_urn {}", envelope.urn()));
            async { Ok(()) }
        })
    }

    pub fn note(&self, line: impl Into<String>) {
        self.log.lock().unwrap().push(line.into());
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub fn left(&self) -> Left {
        Left {
            work: self.broker.waiting(TOPIC).len(),
            dead: self.broker.waiting(DEAD).len(),
            unsettled: self.broker.unsettled(TOPIC),
        }
    }

    /// The one message on a topic.
    pub fn only(&self, topic: &str) -> Stored {
        let mut waiting = self.broker.waiting(topic);
        assert_eq!(waiting.len(), 1, "messages on {topic}");
        waiting.remove(0)
    }
}

fn error_line(error: &ConsumerError, envelope: Option<&Envelope>, message: Option<&Message>) -> String {
    let envelope = envelope.map_or("none".to_owned(), |envelope| envelope.attempts().to_string());
    let message = if message.is_some() { "message" } else { "none" };
    format!("on_error {:?} {envelope} {message}", error.kind())
}

pub const NOTHING_LEFT: Left = Left {
    work: 0,
    dead: 0,
    unsettled: 0,
};

pub fn body(urn: &str) -> Bytes {
    format!(
        r#"{{"job":"{urn}","trace_id":"t-1","data":{{"n":1}},"meta":{{"id":"m-1","queue":"orders","lang":"go","schema_version":1,"created_at":1790000000000}},"attempts":0}}"#
    )
    .into()
}

pub fn properties_of(pairs: &[(&str, &str)]) -> Properties {
    let mut properties = Properties::new();
    for (key, value) in pairs {
        properties.set((*key).to_owned(), (*value).to_owned());
    }
    properties
}

pub fn property<'a>(stored: &'a Stored, key: &str) -> Option<&'a str> {
    stored
        .properties
        .get(key)
        .map(|value| std::str::from_utf8(value).unwrap())
}

pub fn text(stored: &Stored) -> String {
    match &stored.body {
        Body::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("no bytes: {other:?}"),
    }
}

pub fn json(stored: &Stored) -> serde_json::Value {
    serde_json::from_str(&text(stored)).unwrap()
}

pub fn kind_of(error: &ConsumerError) -> ConsumerErrorKind {
    error.kind()
}
