//! The log lines of `pulsar-binding.md` section 8, and what must not stand in them.

#![allow(clippy::unwrap_used)]

mod support;

use std::io;
use std::sync::{Arc, Mutex};

use babelqueue::memory::{Call, MemoryTransport};
use babelqueue::{ConsumerBuilder, TransportErrorKind, WriteErrorKind};
use support::*;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What one poll logs. The subscriber is set for this thread, which is the only one of the test.
async fn lines_of(builder: ConsumerBuilder, transport: MemoryTransport) -> String {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .without_time()
        .with_max_level(tracing::Level::TRACE)
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let _ = builder.build(transport).unwrap().poll().await;
    drop(guard);
    String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
}

#[tokio::test]
async fn the_gate_logs_the_declared_version_cut_short() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-schema-version", &"9".repeat(80))]);
    let lines = lines_of(world.builder(), world.subscribe()).await;
    assert_eq!(lines.lines().count(), 1);
    assert!(lines.starts_with(" WARN babelqueue.pulsar: "), "{lines}");
    assert!(lines.contains(r#"queue="orders""#), "{lines}");
    assert!(
        lines.contains(&format!("{}...", "9".repeat(64))) && !lines.contains(&"9".repeat(65)),
        "{lines}"
    );
}

#[tokio::test]
async fn a_dropped_gated_message_logs_two_lines() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-schema-version", "2")]);
    let lines = lines_of(world.builder(), world.subscribe().without_dead_letter()).await;
    assert_eq!(lines.lines().count(), 2);
    let dropped = lines.lines().nth(1).unwrap();
    for part in [
        r#"queue="orders""#,
        r#"urn="gated""#,
        "counted=1",
        "no dead-letter producer",
    ] {
        assert!(dropped.contains(part), "{part} in {dropped}");
    }
}

#[tokio::test]
async fn the_count_of_a_dropped_gated_message_comes_from_its_property() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-schema-version", "2"), ("bq-attempts", "4")]);
    let lines = lines_of(world.builder(), world.subscribe().without_dead_letter()).await;
    assert!(lines.contains("counted=5"), "{lines}");
}

#[tokio::test]
async fn a_dropped_poison_message_is_logged_with_its_count_and_its_id_where_it_has_one() {
    let world = World::new();
    world.put(body(CREATED).slice(..20), &[("bq-attempts", "2")]);
    let text = String::from_utf8(body(CREATED).to_vec()).unwrap();
    world.put(
        text.replace(r#""trace_id":"t-1""#, r#""trace_id":"""#),
        &[("bq-attempts", "3")],
    );
    let lines = lines_of(world.builder(), world.subscribe().without_dead_letter()).await;
    for part in [" WARN ", r#"queue="orders""#, r#"urn="poison""#, "counted=3"] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
    let lines = lines_of(world.builder(), world.subscribe().without_dead_letter()).await;
    for part in [r#"urn="poison""#, "counted=4", "m-1"] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
}

#[tokio::test]
async fn a_drop_at_the_cap_names_queue_urn_count_and_message() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-attempts", "2")]);
    let lines = lines_of(world.failing(), world.subscribe().without_dead_letter()).await;
    assert!(lines.starts_with(" WARN babelqueue.pulsar: "), "{lines}");
    for part in [
        r#"queue="orders""#,
        CREATED,
        "counted=3",
        "m-1",
        "no dead-letter producer",
    ] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
}

#[tokio::test]
async fn a_failed_write_is_logged_as_an_error_with_its_topic() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.fail_write(WriteErrorKind::Rejected);
    let lines = lines_of(world.failing(), world.subscribe()).await;
    assert!(lines.starts_with("ERROR babelqueue.pulsar: "), "{lines}");
    assert!(
        lines.contains(TOPIC) && lines.contains("broker_id=") && lines.contains("was refused by the broker"),
        "{lines}"
    );
}

#[tokio::test]
async fn a_held_message_is_logged_as_an_error_with_its_topic() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-schema-version", "2")]);
    world.broker.fail_write(WriteErrorKind::TooLarge);
    let lines = lines_of(world.builder(), world.subscribe()).await;
    let held = lines.lines().last().unwrap();
    assert!(
        held.starts_with("ERROR babelqueue.pulsar: message held"),
        "{lines}"
    );
    assert!(
        held.contains(r#"queue="orders""#) && held.contains(TOPIC) && held.contains("broker_id="),
        "{held}"
    );
}

#[tokio::test]
async fn a_failed_acknowledgement_is_logged_as_an_error() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.fail(Call::Ack, TransportErrorKind::Disconnected);
    let lines = lines_of(world.builder(), world.subscribe()).await;
    assert!(lines.starts_with("ERROR babelqueue.pulsar: "), "{lines}");
    assert!(lines.contains("fault by script"), "{lines}");
}

#[tokio::test]
async fn a_panicking_error_hook_is_logged_as_an_error() {
    let world = World::new();
    world.put("{}", &[]);
    let lines = lines_of(
        world.builder().on_error(|_, _, _| panic!("hook down")),
        world.subscribe(),
    )
    .await;
    assert!(
        lines.contains("ERROR babelqueue.pulsar") && lines.contains("hook down"),
        "{lines}"
    );
}

#[tokio::test]
async fn warnings_of_decoding_are_logged_with_their_pointer() {
    let world = World::new();
    let body = String::from_utf8(body(CREATED).to_vec())
        .unwrap()
        .replace(r#","attempts":0"#, r#","attempts":0,"timestamp":9"#);
    world.put(body, &[]);
    let lines = lines_of(world.builder(), world.subscribe()).await;
    assert!(
        lines.starts_with(" WARN babelqueue: ") && lines.contains("/timestamp"),
        "{lines}"
    );
}

#[tokio::test]
async fn poison_is_not_logged_and_no_body_is() {
    let world = World::new();
    world.put(r#"{"card":"4000-1234"}"#, &[]);
    let lines = lines_of(world.builder(), world.subscribe()).await;
    assert_eq!(lines, "");
}

/// Everything at once, down to the finest level: payloads, data, keys and values of properties.
#[tokio::test(start_paused = true)]
async fn no_line_of_any_ending_shows_content() {
    const MARKER: &str = "s3cret";
    let versions: [(&str, &str); 4] = [
        ("bq-schema-version", "2"),
        ("bq-attempts", "2"),
        ("bq-job", PAID),
        ("x", ""),
    ];
    for transport in [World::subscribe as fn(&World) -> MemoryTransport, |world| {
        world.subscribe().without_dead_letter()
    }] {
        for property in versions {
            let text = String::from_utf8(body(CREATED).to_vec()).unwrap();
            for body in [MARKER.to_owned(), text.replace(r#""n":1"#, r#""card":"s3cret""#)] {
                let world = World::new();
                world.put(body, &[property, ("note", MARKER)]);
                world.broker.fail_write(WriteErrorKind::TooLarge);
                world.broker.fail(Call::Ack, TransportErrorKind::Disconnected);
                let builder = world.failing().on_error(|error, _, _| panic!("{error}"));
                let lines = lines_of(builder, transport(&world)).await;
                assert!(!lines.contains(MARKER), "{lines}");
            }
        }
    }
}
