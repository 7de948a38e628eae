//! The rows of the decision table (`pulsar-binding.md` 4.4), each through a real consumer.

#![allow(clippy::unwrap_used)]

mod support;

use babelqueue::memory::Call;
use babelqueue::{ConsumerErrorKind, Redelivery, TransportErrorKind, WriteErrorKind};
use support::*;

const AT_CAP: &[(&str, &str)] = &[("bq-attempts", "2")];
const GATED: &[(&str, &str)] = &[("bq-schema-version", "2"), ("traceparent", "00-ab")];
const POISON: &str = r#"{"trace_id":"t-1"}"#;

#[tokio::test(start_paused = true)]
async fn row_1_gated_message_is_dead_lettered_as_it_came() {
    let world = World::new();
    world.put(body(CREATED), GATED);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    assert_eq!(consumer.poll().await.unwrap(), 1);
    let record = world.only(DEAD);
    assert_eq!(text(&record).as_bytes(), body(CREATED));
    assert_eq!(record.properties.iter().count(), 2);
    assert_eq!(world.log(), ["on_error UnsupportedSchemaVersion none message"]);
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn row_2_gated_message_is_dropped_without_a_dead_letter_producer() {
    let world = World::new();
    world.put(body(CREATED), GATED);
    let consumer = world
        .builder()
        .build(world.subscribe().without_dead_letter())
        .unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["on_error UnsupportedSchemaVersion none message"]);
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn row_3_poison_is_dead_lettered_at_once() {
    let world = World::new();
    world.put(POISON, &[]);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = json(&world.only(DEAD));
    assert_eq!(record["dead_letter"]["reason"], "poison");
    assert_eq!(record["dead_letter"]["attempts"], 1);
    assert_eq!(world.log(), ["on_error Poison none message"]);
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn row_3_the_hook_gets_the_envelope_of_poison_that_decodes() {
    let world = World::new();
    world.put(r#"{"job":"urn:babel:orders:created","trace_id":"t","data":{},"meta":{"schema_version":2},"attempts":0}"#, &[]);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["on_error Poison 0 message"]);
}

#[tokio::test(start_paused = true)]
async fn row_3_an_undecodable_entry_is_dead_lettered_in_base64() {
    let world = World::new();
    world
        .broker
        .put_undecodable(TOPIC, &b"\xff\x00"[..], "unknown compression");
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = json(&world.only(DEAD));
    assert_eq!(
        (&record["raw"], &record["raw_encoding"]),
        (&"/wA=".into(), &"base64".into())
    );
    assert_eq!(world.log(), ["on_error Poison none message"]);
}

#[tokio::test(start_paused = true)]
async fn row_4_poison_below_the_cap_is_published_again_as_it_came() {
    let world = World::new();
    world.put(POISON, &[]);
    let consumer = world
        .builder()
        .build(world.subscribe().without_dead_letter())
        .unwrap();
    consumer.poll().await.unwrap();
    let record = world.only(TOPIC);
    assert_eq!(text(&record), POISON);
    assert_eq!(property(&record, "bq-attempts"), Some("1"));
    assert_eq!(world.log(), ["on_error Poison none message"]);
}

#[tokio::test(start_paused = true)]
async fn row_5_poison_below_the_cap_is_given_back_without_a_retry_producer() {
    let world = World::new();
    world.put(POISON, &[]);
    let transport = world.subscribe().without_dead_letter().without_retry();
    let consumer = world.builder().build(transport).unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.only(TOPIC).redelivery_count, 1);
    assert_eq!(world.log(), ["on_error Poison none message"]);
}

#[tokio::test(start_paused = true)]
async fn row_6_poison_at_the_cap_is_dropped() {
    let world = World::new();
    world.put(POISON, AT_CAP);
    let consumer = world
        .builder()
        .build(world.subscribe().without_dead_letter())
        .unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["on_error Poison none message"]);
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn row_7_the_hook_for_unknown_urns_takes_the_message() {
    let world = World::new();
    world.put(body(PAID), &[("bq-job", "urn:babel:orders:shipped")]);
    let consumer = world.with_unknown_hook().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(
        world.log(),
        [
            format!("mismatch urn:babel:orders:shipped {PAID}"),
            format!("on_unknown_urn {PAID}")
        ]
    );
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn row_8_an_unknown_urn_below_the_cap_is_retried() {
    let world = World::new();
    world.put(body(PAID), &[]);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = world.only(TOPIC);
    assert_eq!(json(&record)["attempts"], 1);
    assert_eq!(property(&record, "bq-attempts"), Some("1"));
    assert_eq!(world.log(), ["on_error UnknownUrn 0 message"]);
}

#[tokio::test(start_paused = true)]
async fn row_9_an_unknown_urn_below_the_cap_is_given_back_without_a_retry_producer() {
    let world = World::new();
    world.put(body(PAID), &[]);
    let consumer = world.builder().build(world.subscribe().without_retry()).unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.only(TOPIC).redelivery_count, 1);
    assert_eq!(world.log(), ["on_error UnknownUrn 0 message"]);
}

#[tokio::test(start_paused = true)]
async fn row_10_an_unknown_urn_at_the_cap_is_dead_lettered() {
    let world = World::new();
    world.put(body(PAID), AT_CAP);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = json(&world.only(DEAD));
    assert_eq!(record["dead_letter"]["reason"], "unknown_urn");
    assert_eq!(record["dead_letter"]["error"], format!("no handler for {PAID}"));
    assert_eq!(record["dead_letter"]["exception"], "UnknownUrnError");
    assert_eq!(world.log(), ["on_error UnknownUrn 2 message"]);
}

#[tokio::test(start_paused = true)]
async fn row_11_an_unknown_urn_at_the_cap_is_dropped_without_a_dead_letter_producer() {
    let world = World::new();
    world.put(body(PAID), AT_CAP);
    let consumer = world
        .builder()
        .build(world.subscribe().without_dead_letter())
        .unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["on_error UnknownUrn 2 message"]);
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn row_12_a_handled_message_is_acknowledged() {
    let world = World::new();
    world.put(body(PAID), &[("bq-job", " urn:babel:orders:created\t")]);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    assert_eq!(consumer.poll().await.unwrap(), 1);
    assert_eq!(
        world.log(),
        [format!("mismatch {CREATED} {PAID}"), "handler 0".to_owned()]
    );
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn row_13_a_failure_below_the_cap_is_retried() {
    let world = World::new();
    world.put(body(CREATED), &[("traceparent", "00-ab")]);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = world.only(TOPIC);
    assert_eq!(json(&record)["attempts"], 1);
    assert_eq!(property(&record, "traceparent"), Some("00-ab"));
    assert_eq!(property(&record, "bq-job"), Some(CREATED));
    assert_eq!(world.log(), ["handler 0", "on_error HandlerFailed 0 message"]);
}

#[tokio::test(start_paused = true)]
async fn row_14_a_failure_below_the_cap_is_given_back_without_a_retry_producer() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let consumer = world.failing().build(world.subscribe().without_retry()).unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.only(TOPIC).redelivery_count, 1);
    assert_eq!(world.log(), ["handler 0", "on_error HandlerFailed 0 message"]);
}

#[tokio::test(start_paused = true)]
async fn row_15_a_failure_at_the_cap_is_dead_lettered() {
    let world = World::new();
    world.put(body(CREATED), AT_CAP);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = json(&world.only(DEAD));
    assert_eq!(record["attempts"], 3);
    assert_eq!(record["dead_letter"]["reason"], "failed");
    assert_eq!(record["dead_letter"]["error"], "probe offline");
    assert_eq!(record["dead_letter"]["original_queue"], "orders");
    assert_eq!(world.log(), ["handler 2", "on_error HandlerFailed 2 message"]);
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn row_16_a_failure_at_the_cap_is_dropped_without_a_dead_letter_producer() {
    let world = World::new();
    world.put(body(CREATED), AT_CAP);
    let consumer = world
        .failing()
        .build(world.subscribe().without_dead_letter())
        .unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["handler 2", "on_error HandlerFailed 2 message"]);
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn row_17_a_failed_write_gives_the_message_back() {
    let world = World::new();
    world.put(body(CREATED), AT_CAP);
    world.broker.fail_write(WriteErrorKind::Unavailable);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    assert_eq!(consumer.poll().await.unwrap(), 1);
    assert_eq!(
        world.log(),
        [
            "handler 2",
            "on_error HandlerFailed 2 message",
            "on_error Write 2 message"
        ]
    );
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
    assert_eq!(world.only(TOPIC).redelivery_count, 1);
}

#[tokio::test(start_paused = true)]
async fn row_17_a_gated_message_whose_record_is_not_written_is_given_back_and_never_handled() {
    let world = World::new();
    world.put(body(CREATED), GATED);
    world.broker.fail_write(WriteErrorKind::Rejected);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let gate = "on_error UnsupportedSchemaVersion none message";
    assert_eq!(world.log(), [gate, "on_error Write none message"]);
    consumer.poll().await.unwrap();
    assert_eq!(world.log()[2..], [gate]);
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn row_18_a_failed_acknowledgement_is_reported_and_the_message_left_unsettled() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.fail(Call::Ack, TransportErrorKind::Disconnected);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    let error = consumer.poll().await.unwrap_err();
    assert_eq!(error.kind(), ConsumerErrorKind::Ack);
    assert!(error.is_transient());
    assert_eq!(world.log(), ["handler 0", "on_error Ack 0 message"]);
    assert_eq!(
        world.left(),
        Left {
            unsettled: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn row_19_a_failed_negative_acknowledgement_is_reported_and_the_message_left_unsettled() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.fail(Call::Nack, TransportErrorKind::Disconnected);
    let consumer = world.failing().build(world.subscribe().without_retry()).unwrap();
    assert_eq!(consumer.poll().await.unwrap_err().kind(), ConsumerErrorKind::Nack);
    assert_eq!(
        world.log()[1..],
        ["on_error HandlerFailed 0 message", "on_error Nack 0 message"]
    );
    assert_eq!(
        world.left(),
        Left {
            unsettled: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn an_always_failing_message_is_handled_three_times_and_then_dead_lettered() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    while consumer.poll().await.unwrap() == 1 {}
    let handled: Vec<_> = world
        .log()
        .into_iter()
        .filter(|line| line.starts_with("handler"))
        .collect();
    assert_eq!(handled, ["handler 0", "handler 1", "handler 2"]);
    assert_eq!(json(&world.only(DEAD))["dead_letter"]["attempts"], 3);
}

#[tokio::test(start_paused = true)]
async fn one_attempt_dead_letters_the_first_failure() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let consumer = world.failing().max_attempts(1).build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_rewinds_in_poll_where_redelivery_is_not_counted() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.fail_write(WriteErrorKind::Unavailable);
    let consumer = world
        .failing()
        .build(world.subscribe().redelivery(Redelivery::Rewind))
        .unwrap();
    assert_eq!(consumer.poll().await.unwrap(), 1);
    assert_eq!(world.only(TOPIC).redelivery_count, 0);
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
}
