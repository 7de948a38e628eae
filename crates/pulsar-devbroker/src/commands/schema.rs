//! GET_SCHEMA and GET_OR_CREATE_SCHEMA: schemas are kept and handed out.

use bytes::Bytes;
use pulsar_wire::ServerError;
use pulsar_wire::proto::{
    CommandGetOrCreateSchema, CommandGetOrCreateSchemaResponse, CommandGetSchema, CommandGetSchemaResponse,
    Schema,
};

use crate::broker::Broker;
use crate::name::TopicName;
use crate::peer::PeerId;
use crate::refusal::Refusal;
use crate::schemas::{incompatible, stated};

impl Broker {
    pub(super) fn on_get_schema(&mut self, peer: PeerId, question: &CommandGetSchema) {
        let request_id = question.request_id;
        let answer = match self.schema(question) {
            Ok((schema, version)) => CommandGetSchemaResponse {
                request_id,
                schema: Some(schema),
                schema_version: Some(version),
                ..Default::default()
            },
            Err(refusal) => CommandGetSchemaResponse {
                request_id,
                error_code: Some(refusal.error.code()),
                error_message: Some(refusal.message),
                ..Default::default()
            },
        };
        self.out.send(peer, answer);
    }

    pub(super) fn on_get_or_create_schema(&mut self, peer: PeerId, command: &CommandGetOrCreateSchema) {
        let request_id = command.request_id;
        let answer = match self.existing_or_new_schema(command) {
            Ok(version) => CommandGetOrCreateSchemaResponse {
                request_id,
                schema_version: Some(version),
                ..Default::default()
            },
            Err(refusal) => CommandGetOrCreateSchemaResponse {
                request_id,
                error_code: Some(refusal.error.code()),
                error_message: Some(refusal.message),
                ..Default::default()
            },
        };
        self.out.send(peer, answer);
    }

    /// The version of a producer's schema, filed unless it is there; empty without one.
    pub(crate) fn add_schema(&mut self, name: &TopicName, schema: Option<&Schema>) -> Result<Bytes, Refusal> {
        if let Some(schema) = stated(schema) {
            return self.catalog.schemas.add(name.path(), schema);
        }
        let policies = self.catalog.policies.get(&name.namespace);
        let is_enforced = policies.is_some_and(|policies| policies.enforces_schema);
        if is_enforced && self.catalog.schemas.has(name.path()) {
            return Err(incompatible(
                "Producers cannot connect or send message without a schema to topics with a schema when \
                 SchemaValidationEnforced is enabled",
            ));
        }
        Ok(Bytes::new())
    }

    /// A consumer's schema becomes that of a topic where nothing ever happened; elsewhere it has
    /// to fit the one that is there.
    pub(super) fn check_consumer_schema(
        &mut self,
        name: &TopicName,
        schema: Option<&Schema>,
    ) -> Result<(), Refusal> {
        let Some(schema) = stated(schema) else {
            return Ok(());
        };
        let is_in_use = self
            .catalog
            .topics
            .get(&name.full)
            .is_some_and(|topic| topic.is_in_use());
        if is_in_use || self.catalog.schemas.has(name.path()) {
            self.catalog.schemas.check(name.path(), schema)
        } else {
            self.catalog.schemas.add(name.path(), schema).map(drop)
        }
    }

    fn schema(&self, question: &CommandGetSchema) -> Result<(Schema, Bytes), Refusal> {
        let version = question.schema_version.as_ref();
        if version.is_some_and(Bytes::is_empty) {
            return Err(incompatible("Empty schema version"));
        }
        let name = TopicName::parse(&question.topic)?;
        let Some((schema, version)) = self.catalog.schemas.find(name.path(), version) else {
            let message = format!("Topic not found or no-schema {}", question.topic);
            return Err(Refusal::new(ServerError::TopicNotFound, message));
        };
        let schema = Schema {
            name: name.path().to_owned(),
            ..schema.clone()
        };
        Ok((schema, version))
    }

    fn existing_or_new_schema(&mut self, command: &CommandGetOrCreateSchema) -> Result<Bytes, Refusal> {
        let name = TopicName::parse(&command.topic)?;
        if !self.catalog.topics.contains_key(&name.full) {
            let message = format!("Topic not found {}", command.topic);
            return Err(Refusal::new(ServerError::TopicNotFound, message));
        }
        self.add_schema(&name, Some(&command.schema))
    }
}
