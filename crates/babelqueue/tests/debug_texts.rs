//! What `Debug` shows of what handlers, hooks and transports get: names and lengths, never content.

#![allow(clippy::unwrap_used)]

mod support;

use std::fmt;

use babelqueue::inspect::{InspectOptions, inspect};
use babelqueue::memory::Broker;
use babelqueue::{
    Body, Consumer, ConsumerError, Delivery, Envelope, Failure, Message, MessageParts, Properties, Publisher,
    Transport, WriteErrorKind,
};
use serde_json::json;
use support::{CREATED, PAID, TOPIC, properties_of};

const MARKER: &str = "s3cret";

fn assert_hides(value: &impl fmt::Debug) {
    let numbers = format!("{:?}", MARKER.as_bytes()).replace(['[', ']', ' '], "");
    for text in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!text.contains(MARKER), "{text}");
        let packed: String = text.split_whitespace().collect();
        assert!(!packed.contains(&numbers), "{text}");
    }
}

async fn publish(broker: &Broker, urn: &str) {
    Publisher::new(broker.sink(TOPIC))
        .publish(urn, &json!({"card": MARKER}))
        .key(MARKER)
        .header("note", MARKER)
        .meta("ext", MARKER)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_lies_on_a_topic_hides_its_content() {
    let broker = Broker::new();
    publish(&broker, CREATED).await;
    let transport = broker.subscribe(TOPIC);
    assert_hides(&broker.waiting(TOPIC));
    assert_hides(&broker);
    let received = transport.receive().await.unwrap();
    assert_hides(&received);
    assert_hides(&received.origin);
    assert_hides(&received.message);
    assert_hides(&transport);
}

fn parts() -> MessageParts {
    MessageParts {
        properties: properties_of(&[("note", MARKER)]),
        key: Some(MARKER.to_owned()),
        ..MessageParts::default()
    }
}

#[test]
fn a_message_and_its_parts_hide_key_and_values() {
    assert_hides(&parts());
    assert_hides(&Message::new(parts()));
}

fn check(error: &ConsumerError, envelope: Option<&Envelope>, message: Option<&Message>) {
    assert_hides(error);
    assert!(!error.to_string().contains(MARKER), "{error}");
    assert_hides(&envelope);
    assert_hides(&message);
}

/// A hook that finds the marker panics, which leaves the delivery's record in the wrong place or none.
#[tokio::test(start_paused = true)]
async fn what_handlers_and_hooks_get_hides_its_content() {
    let broker = Broker::new();
    publish(&broker, CREATED).await;
    publish(&broker, PAID).await;
    broker.put(TOPIC, MARKER, properties_of(&[("note", MARKER)]));
    broker.put(
        TOPIC,
        MARKER,
        properties_of(&[("bq-schema-version", "2"), ("note", MARKER)]),
    );
    let (found, seen) = (std::sync::Arc::new(std::sync::Mutex::new(Vec::new())), 5);
    let note = found.clone();
    let consumer = Consumer::builder()
        .max_attempts(1)
        .handler(CREATED, |envelope: Envelope, message: Message| async move {
            assert_hides(&envelope);
            assert_hides(&message);
            let failure = Failure::from(envelope.data::<Vec<u8>>().unwrap_err());
            assert_hides(&failure);
            Err(failure)
        })
        .on_error(move |error, envelope, message| {
            let hides =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(error, envelope, message)));
            note.lock().unwrap().push(hides.is_ok());
        })
        .build(broker.subscribe(TOPIC))
        .unwrap();
    assert_hides(&consumer);
    broker.fail_write(WriteErrorKind::TooLarge);
    for _ in 0..4 {
        consumer.poll().await.unwrap();
    }
    assert_eq!(*found.lock().unwrap(), vec![true; seen]);
    assert_hides(&broker);
}

#[tokio::test]
async fn an_inspection_hides_the_content_of_the_delivery() {
    for (body, properties) in [
        (MARKER.to_owned(), Properties::new()),
        (
            json!({"job": CREATED, "data": {"card": MARKER}}).to_string(),
            properties_of(&[("note", MARKER)]),
        ),
    ] {
        let delivery = Delivery {
            body: Body::Bytes(body.into()),
            properties,
            redelivery_count: 0,
            queue: "orders".into(),
        };
        assert_hides(&inspect(delivery, &InspectOptions::default()).await.unwrap());
    }
}
