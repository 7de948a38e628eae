//! What `Debug` shows: names, numbers and lengths, never what a message or a schema holds.

mod support;

use std::fmt;

use bytes::Bytes;
use pulsar_devbroker::{DevBroker, Output};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_headers_and_payload};
use support::{TOPIC, World};

const MARKER: &str = "s3cret";

fn marker() -> Bytes {
    Bytes::from_static(MARKER.as_bytes())
}

fn assert_hides(value: &impl fmt::Debug) {
    let numbers = format!("{:?}", MARKER.as_bytes()).replace(['[', ']', ' '], "");
    for text in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!text.contains(MARKER), "{text}");
        let packed: String = text.split_whitespace().collect();
        assert!(!packed.contains(&numbers), "{text}");
    }
}

fn message() -> Bytes {
    let metadata = MessageMetadata {
        partition_key: Some(marker()),
        ordering_key: Some(marker()),
        properties: vec![KeyValue {
            key: "note".into(),
            value: marker(),
        }],
        ..Default::default()
    };
    encode_headers_and_payload(&metadata, MARKER.as_bytes())
}

/// A world in which a message is stored and on its way to a consumer.
fn world() -> World {
    let mut world = World::new();
    let peer = world.peer();
    let schema = Schema {
        name: "order".into(),
        schema_data: marker(),
        r#type: SchemaType::Json as i32,
        properties: Vec::new(),
    };
    let producer = CommandProducer {
        topic: TOPIC.into(),
        schema: Some(schema),
        ..Default::default()
    };
    let subscribe = CommandSubscribe {
        topic: TOPIC.into(),
        subscription: "billing".into(),
        ..Default::default()
    };
    let flow = CommandFlow {
        consumer_id: 0,
        message_permits: 10,
    };
    world.broker.receive(world.now, peer, producer.into(), None);
    world.broker.receive(world.now, peer, subscribe.into(), None);
    world.broker.receive(world.now, peer, flow.into(), None);
    let send = CommandSend::default();
    world
        .broker
        .receive(world.now, peer, send.into(), Some(message()));
    world
}

#[test]
fn a_stored_entry_shows_its_id_and_lengths() {
    let world = world();
    let entries = world.broker.entries(TOPIC);
    assert_eq!(entries.len(), 1);
    assert_hides(&entries);
    let length = entries[0].headers_and_payload.len();
    let text = format!("{:?}", entries[0]);
    assert!(
        text.contains("entry_id") && text.contains(&length.to_string()),
        "{text}"
    );
}

#[test]
fn an_output_shows_the_length_of_its_message() {
    let mut world = world();
    let mut messages = 0;
    while let Some(output) = world.broker.poll_output() {
        assert_hides(&output);
        let is_message = matches!(
            output,
            Output::Send {
                command: Command::Message(_),
                ..
            }
        );
        messages += usize::from(is_message);
    }
    assert_eq!(messages, 1);
}

#[test]
fn a_broker_shows_how_much_it_has() {
    let world = world();
    assert_hides(&world.broker);
    let text = format!("{:?}", world.broker);
    assert!(text.contains("topics: 1"), "{text}");
}

#[test]
fn a_broker_that_listens_shows_where() {
    let broker = DevBroker::builder().start_on_thread().unwrap();
    let text = format!("{broker:?}");
    assert!(text.contains(&broker.addr().to_string()), "{text}");
}
