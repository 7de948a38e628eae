//! Schemas: stored and handed out.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{ASKED, producer, subscribe};

fn schema(kind: SchemaType, data: &str) -> Schema {
    Schema {
        name: "schema".into(),
        schema_data: data.to_owned().into(),
        r#type: kind as i32,
        properties: Vec::new(),
    }
}

const RECORD: &str = r#"{"type":"record","name":"Order","fields":[{"name":"number","type":"int"}]}"#;

pub(super) async fn observe(lab: &Lab) {
    let (mut peer, topic) = lab.scene("schemas").await;
    let get = |version: Option<&'static [u8]>| CommandGetSchema {
        request_id: ASKED,
        topic: topic.clone(),
        schema_version: version.map(Into::into),
    };
    let create = |schema| CommandGetOrCreateSchema {
        request_id: ASKED,
        topic: topic.clone(),
        schema,
    };
    let with_schema = |number, schema| CommandProducer {
        schema: Some(schema),
        ..producer(&topic, number)
    };
    peer.produces(&topic, 1).await;
    notes!(lab, "schema",
        "none" => peer.ask(get(None)).await,
        "create" => peer.ask(create(schema(SchemaType::Json, RECORD))).await,
        "create_the_same" => peer.ask(create(schema(SchemaType::Json, RECORD))).await,
        "get" => peer.ask(get(None)).await,
        "get_version" => peer.ask(get(Some(&[0; 8]))).await,
        "get_unknown_version" => peer.ask(get(Some(&[0, 0, 0, 0, 0, 0, 0, 9]))).await,
        "producer_with_it" => peer.ask(with_schema(2, schema(SchemaType::Json, RECORD))).await,
        "producer_without" => peer.ask(producer(&topic, 3)).await,
        "producer_with_another_type" => peer.ask(with_schema(4, schema(SchemaType::String, ""))).await,
        "consumer_with_it" => peer.ask(CommandSubscribe {
            schema: Some(schema(SchemaType::Json, RECORD)),
            ..subscribe(&topic, 1, SubType::Shared)
        }).await,
        "consumer_with_another_type" => peer.ask(CommandSubscribe {
            schema: Some(schema(SchemaType::String, "")),
            ..subscribe(&topic, 2, SubType::Shared)
        }).await,
    );
    let (mut peer, topic) = lab.scene("first-schema").await;
    let first = CommandProducer {
        schema: Some(schema(SchemaType::String, "")),
        ..producer(&topic, 1)
    };
    notes!(lab, "schema", "first_by_a_producer" => peer.ask(first).await);
    let get = CommandGetSchema {
        request_id: ASKED,
        topic,
        schema_version: None,
    };
    notes!(lab, "schema", "get_what_a_producer_brought" => peer.ask(get).await);
}
