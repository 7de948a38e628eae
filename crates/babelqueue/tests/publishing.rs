//! What a published message looks like, and what is refused (`pulsar-binding.md` section 2).

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use babelqueue::memory::{Call, MemorySink};
use babelqueue::{Clock, Data, Envelope, PublishErrorKind, Publisher, WriteErrorKind};
use serde_json::json;
use support::*;

const NOW: i64 = 1_790_000_000_000;

fn publisher(world: &World) -> Publisher<MemorySink> {
    Publisher::new(world.broker.sink(TOPIC)).with_clock(Clock::Fixed(NOW))
}

fn keys(stored: &babelqueue::memory::Stored) -> Vec<String> {
    stored
        .properties
        .iter()
        .map(|(key, _)| String::from_utf8(key.to_vec()).unwrap())
        .collect()
}

#[tokio::test]
async fn a_message_carries_exactly_the_six_properties() {
    let world = World::new();
    let id = publisher(&world)
        .publish(CREATED, &json!({"n": 1}))
        .trace_id("t-9")
        .await
        .unwrap();
    let message = world.only(TOPIC);
    let values: Vec<_> = keys(&message)
        .iter()
        .map(|key| property(&message, key).unwrap().to_owned())
        .collect();
    assert_eq!(
        keys(&message),
        [
            "bq-job",
            "bq-trace-id",
            "bq-message-id",
            "bq-schema-version",
            "bq-source-lang",
            "bq-attempts"
        ]
    );
    assert_eq!(values, [CREATED, "t-9", id.as_str(), "1", "rust", "0"]);
    assert_eq!((message.key, message.deliver_at_ms), (None, None));
}

#[tokio::test]
async fn the_body_is_the_envelope_with_the_short_name_of_the_topic() {
    let world = World::new();
    let id = publisher(&world)
        .publish(CREATED, &json!({"n": 1}))
        .trace_id("t-9")
        .await
        .unwrap();
    assert_eq!(
        text(&world.only(TOPIC)),
        format!(
            r#"{{"job":"{CREATED}","trace_id":"t-9","data":{{"n":1}},"meta":{{"id":"{id}","queue":"orders","lang":"rust","schema_version":1,"created_at":{NOW}}},"attempts":0}}"#
        )
    );
}

#[tokio::test]
async fn a_delay_sets_the_property_and_the_time_of_delivery() {
    let world = World::new();
    publisher(&world)
        .publish(CREATED, &json!({}))
        .delay(Duration::from_micros(1_500_900))
        .await
        .unwrap();
    let message = world.only(TOPIC);
    assert_eq!(property(&message, "bq-delay"), Some("1500"));
    assert_eq!(message.deliver_at_ms, Some(NOW + 1_500));
}

#[tokio::test]
async fn a_delay_under_a_millisecond_is_no_delay() {
    let world = World::new();
    publisher(&world)
        .publish(CREATED, &json!({}))
        .delay(Duration::from_nanos(999_999))
        .await
        .unwrap();
    let message = world.only(TOPIC);
    assert_eq!(
        (property(&message, "bq-delay"), message.deliver_at_ms),
        (None, None)
    );
}

#[tokio::test]
async fn a_delay_that_does_not_fit_is_an_error_and_nothing_is_sent() {
    let world = World::new();
    for delay in [Duration::MAX, Duration::from_millis(u64::MAX / 2)] {
        let error = publisher(&world)
            .publish(CREATED, &json!({}))
            .delay(delay)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), PublishErrorKind::DelayTooLong);
    }
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test]
async fn headers_are_added_unless_empty_or_taken() {
    let world = World::new();
    publisher(&world)
        .publish(CREATED, &json!({}))
        .header("traceparent", "00-ab")
        .header("traceparent", "00-cd")
        .header("", "x")
        .header("empty", "")
        .header("bq-job", "urn:babel:other")
        .await
        .unwrap();
    let message = world.only(TOPIC);
    assert_eq!(keys(&message).len(), 7);
    assert_eq!(property(&message, "traceparent"), Some("00-ab"));
    assert_eq!(property(&message, "bq-job"), Some(CREATED));
}

#[tokio::test]
async fn a_key_and_meta_entries_are_carried() {
    let world = World::new();
    publisher(&world)
        .publish(CREATED, &json!({}))
        .key("customer-7")
        .meta("ext", &json!({"acme": {"tier": "gold"}}))
        .await
        .unwrap();
    let message = world.only(TOPIC);
    assert_eq!(message.key.as_deref(), Some("customer-7"));
    assert_eq!(json(&message)["meta"]["ext"]["acme"]["tier"], "gold");
}

#[tokio::test]
async fn json_text_is_kept_as_it_stands() {
    let world = World::new();
    let data = Data::from_json(r#"{"big":12345678901234567890,"price":1.50}"#).unwrap();
    publisher(&world).publish_data(CREATED, data).await.unwrap();
    assert!(text(&world.only(TOPIC)).contains(r#"{"big":12345678901234567890,"price":1.50}"#));
}

#[tokio::test]
async fn what_cannot_become_an_envelope_is_refused_before_anything_is_sent() {
    let world = World::new();
    let publisher = publisher(&world);
    let refused = [
        publisher.publish(" \t", &json!({})).await,
        publisher.publish(CREATED, &json!([1])).await,
        publisher.publish(CREATED, "text").await,
        publisher
            .publish(CREATED, &std::collections::HashMap::from([("x", f64::NAN)]))
            .await,
        publisher
            .publish(CREATED, &json!({}))
            .meta("note", &1)
            .meta("ts", &2)
            .await,
    ];
    let kinds: Vec<_> = refused
        .into_iter()
        .map(|result| result.unwrap_err().kind())
        .collect();
    assert_eq!(
        kinds,
        [
            PublishErrorKind::EmptyUrn,
            PublishErrorKind::DataNotObject,
            PublishErrorKind::DataNotObject,
            PublishErrorKind::NonFiniteNumber,
            PublishErrorKind::EnvelopeKey,
        ]
    );
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test]
async fn a_blank_trace_id_becomes_a_fresh_one() {
    let world = World::new();
    publisher(&world)
        .publish(CREATED, &json!({}))
        .trace_id("  ")
        .await
        .unwrap();
    assert_eq!(property(&world.only(TOPIC), "bq-trace-id").unwrap().len(), 36);
}

#[tokio::test]
async fn a_follow_up_continues_the_trace_of_the_envelope() {
    let world = World::new();
    let envelope = Envelope::decode(&body(CREATED)).unwrap();
    publisher(&world)
        .publish(PAID, &json!({}))
        .in_trace_of(&envelope)
        .await
        .unwrap();
    assert_eq!(property(&world.only(TOPIC), "bq-trace-id"), Some("t-1"));
}

#[tokio::test]
async fn errors_of_a_send_say_what_became_of_the_message() {
    let world = World::new();
    world.broker.fail_write(WriteErrorKind::Indeterminate);
    let error = publisher(&world).publish(CREATED, &json!({})).await.unwrap_err();
    assert_eq!(error.kind(), PublishErrorKind::Indeterminate);
    assert!(error.is_indeterminate() && error.is_transient());
    assert_eq!(
        error.to_string(),
        format!("message to {TOPIC} was sent but not confirmed")
    );
}

#[tokio::test]
async fn enqueued_messages_are_sent_in_the_order_of_the_calls_before_any_is_confirmed() {
    let world = World::new();
    world.broker.hold(Call::Write);
    let publisher = publisher(&world);
    let receipts: Vec<_> = (0..100)
        .map(|n| publisher.publish(CREATED, &json!({"n": n})).enqueue())
        .collect();
    let sent: Vec<_> = world
        .broker
        .waiting(TOPIC)
        .iter()
        .map(|message| json(message)["data"]["n"].clone())
        .collect();
    assert_eq!(sent, (0..100).map(serde_json::Value::from).collect::<Vec<_>>());
    world.broker.release(Call::Write);
    for receipt in receipts {
        receipt.await.unwrap();
    }
}

#[tokio::test]
async fn a_dropped_receipt_does_not_take_the_message_back() {
    let world = World::new();
    drop(publisher(&world).publish(CREATED, &json!({})).enqueue());
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_publish_at_once_with_distinct_ids() {
    let world = World::new();
    let publisher = Arc::new(publisher(&world));
    let tasks: Vec<_> = (0..50)
        .map(|n| {
            let publisher = Arc::clone(&publisher);
            tokio::spawn(async move { publisher.publish(CREATED, &json!({"n": n})).await.unwrap() })
        })
        .collect();
    let mut ids = HashSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap());
    }
    assert_eq!((ids.len(), world.left().work), (50, 50));
}

#[derive(Clone, Default)]
struct Glass(Arc<std::sync::Mutex<String>>);

impl babelqueue::Sink for Glass {
    type Receipt = std::future::Ready<Result<(), babelqueue::WriteError>>;

    fn send(&self, outbound: babelqueue::Outbound) -> Self::Receipt {
        *self.0.lock().unwrap() = format!("{outbound:?}");
        std::future::ready(Ok(()))
    }

    fn queue(&self) -> &str {
        TOPIC
    }
}

#[tokio::test]
async fn the_debug_text_of_an_outbound_message_shows_no_content() {
    let glass = Glass::default();
    Publisher::new(glass.clone())
        .publish(CREATED, &json!({"n": "secret"}))
        .key("secret")
        .header("note", "secret")
        .await
        .unwrap();
    let text = glass.0.lock().unwrap().clone();
    assert!(text.contains("bq-job") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn the_debug_text_of_a_request_shows_no_content() {
    let world = World::new();
    let publisher = publisher(&world);
    let request = publisher
        .publish(CREATED, &json!({"n": "secret"}))
        .key("secret")
        .header("note", "secret")
        .meta("ext", "secret");
    let text = format!("{request:?}");
    assert!(text.contains(CREATED) && !text.contains("secret"), "{text}");
}
