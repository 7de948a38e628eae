//! Schemas: kept with a version, handed out, and compared by their kind.

mod support;

use bytes::Bytes;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{TOPIC, World, producer, server_error, subscribe};

fn schema(kind: SchemaType, definition: &'static str) -> Schema {
    Schema {
        name: "order".into(),
        schema_data: Bytes::from_static(definition.as_bytes()),
        r#type: kind as i32,
        properties: Vec::new(),
    }
}

fn with_schema(request_id: u64, schema: Schema) -> CommandProducer {
    CommandProducer {
        producer_id: request_id,
        schema: Some(schema),
        ..producer(request_id)
    }
}

/// The version that a producer's schema got.
fn version(world: &mut World) -> Bytes {
    let Command::ProducerSuccess(success) = world.answer() else {
        panic!("a producer")
    };
    success.schema_version.expect("a version")
}

fn ask(world: &mut World, version: Option<Bytes>) -> CommandGetSchemaResponse {
    let peer = world.peer();
    let question = CommandGetSchema {
        request_id: 5,
        topic: TOPIC.into(),
        schema_version: version,
    };
    world.send(peer, question);
    let Command::GetSchemaResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    *answer
}

fn file(world: &mut World, schema: Schema) -> CommandGetOrCreateSchemaResponse {
    let peer = world.peer();
    let command = CommandGetOrCreateSchema {
        request_id: 6,
        topic: TOPIC.into(),
        schema,
    };
    world.send(peer, command);
    let Command::GetOrCreateSchemaResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    answer
}

#[test]
fn a_producers_schema_has_a_version_and_is_handed_out() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(peer, with_schema(1, schema(SchemaType::Json, "one")));
    assert_eq!(version(&mut world), [0; 8][..]);
    world.send(peer, with_schema(2, schema(SchemaType::Json, "two")));
    assert_eq!(version(&mut world), [0, 0, 0, 0, 0, 0, 0, 1][..]);
    world.send(peer, with_schema(3, schema(SchemaType::Json, "one")));
    assert_eq!(version(&mut world), [0; 8][..]);

    let newest = ask(&mut world, None);
    assert_eq!(newest.schema.as_ref().unwrap().schema_data, "two");
    assert_eq!(newest.schema.unwrap().name, "public/default/orders");
    assert_eq!(newest.schema_version.unwrap(), [0, 0, 0, 0, 0, 0, 0, 1][..]);
    let first = ask(&mut world, Some(Bytes::from_static(&[0; 8])));
    assert_eq!(first.schema.unwrap().schema_data, "one");
}

#[test]
fn a_producer_that_is_repeated_hears_its_version_again() {
    let mut world = World::new();
    let peer = world.peer();
    let command = with_schema(1, schema(SchemaType::String, ""));
    world.send(peer, command.clone());
    world.send(peer, command);
    assert_eq!(version(&mut world), version(&mut world));
}

#[test]
fn a_schema_that_is_not_there_is_not_found() {
    let mut world = World::new();
    let answer = ask(&mut world, None);
    assert_eq!(answer.error_code, Some(ServerError::TopicNotFound.code()));
    let peer = world.peer();
    world.send(peer, with_schema(1, schema(SchemaType::String, "")));
    let later = Bytes::copy_from_slice(&9_u64.to_be_bytes());
    assert_eq!(
        ask(&mut world, Some(later)).error_code,
        Some(ServerError::TopicNotFound.code())
    );
    let empty = ask(&mut world, Some(Bytes::new()));
    assert_eq!(empty.error_code, Some(ServerError::IncompatibleSchema.code()));
}

#[test]
fn a_schema_of_another_kind_is_incompatible() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(peer, with_schema(1, schema(SchemaType::Json, "one")));
    world.sent.clear();
    world.send(peer, with_schema(2, schema(SchemaType::String, "")));
    assert_eq!(
        server_error(&world.answer()),
        Some(ServerError::IncompatibleSchema)
    );
    let consumer = CommandSubscribe {
        schema: Some(schema(SchemaType::String, "")),
        ..subscribe(3, SubType::Shared)
    };
    world.send(peer, consumer);
    assert_eq!(
        server_error(&world.answer()),
        Some(ServerError::IncompatibleSchema)
    );
    let answer = file(&mut world, schema(SchemaType::String, ""));
    assert_eq!(answer.error_code, Some(ServerError::IncompatibleSchema.code()));
}

#[test]
fn a_producer_without_a_schema_is_welcome_unless_one_is_enforced() {
    let mut world = World::new();
    let peer = world.peer();
    world.broker.create_topic(TOPIC).unwrap();
    world
        .broker
        .set_schema(TOPIC, &schema(SchemaType::String, ""))
        .unwrap();
    world.send(peer, producer(1));
    assert_eq!(version(&mut world), Bytes::new());
    world.broker.enforce_schema("public/default", true).unwrap();
    let another = CommandProducer {
        producer_id: 2,
        ..producer(2)
    };
    world.send(peer, another);
    assert_eq!(
        server_error(&world.answer()),
        Some(ServerError::IncompatibleSchema)
    );
}

#[test]
fn a_schema_can_be_filed_without_a_producer() {
    let mut world = World::new();
    let absent = file(&mut world, schema(SchemaType::Avro, "one"));
    assert_eq!(absent.error_code, Some(ServerError::TopicNotFound.code()));
    world.broker.create_topic(TOPIC).unwrap();
    let answer = file(&mut world, schema(SchemaType::Avro, "one"));
    assert_eq!(answer.schema_version.unwrap(), [0; 8][..]);
    let none = file(&mut world, schema(SchemaType::None, ""));
    assert_eq!(none.schema_version.unwrap(), Bytes::new());
}

#[test]
fn the_first_consumer_of_a_fresh_topic_brings_its_schema() {
    let mut world = World::new();
    let peer = world.peer();
    let with_schema = |id, kind| CommandSubscribe {
        consumer_id: id,
        schema: Some(schema(kind, "")),
        ..subscribe(id, SubType::Shared)
    };
    world.send(peer, with_schema(1, SchemaType::AutoConsume));
    assert_eq!(ask(&mut world, None).schema, None);
    world.send(peer, with_schema(2, SchemaType::String));
    assert_eq!(ask(&mut world, None).schema.unwrap().r#type(), SchemaType::String);
}

#[test]
fn a_consumer_brings_no_schema_to_a_topic_in_use() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.sent.clear();
    let consumer = CommandSubscribe {
        schema: Some(schema(SchemaType::String, "")),
        ..subscribe(3, SubType::Shared)
    };
    world.send(peer, consumer);
    assert_eq!(
        server_error(&world.answer()),
        Some(ServerError::IncompatibleSchema)
    );
}

#[test]
fn all_partitions_have_one_schema() {
    let mut world = World::new();
    let peer = world.peer();
    world.broker.create_partitioned(TOPIC, 2);
    let partition = CommandProducer {
        topic: format!("{TOPIC}-partition-1"),
        ..with_schema(1, schema(SchemaType::String, ""))
    };
    world.send(peer, partition);
    assert_eq!(
        ask(&mut world, None).schema.unwrap().name,
        "public/default/orders"
    );
}
