//! The schemas of topics: kept, numbered, handed out. Whether one fits another is only judged by
//! its kind, not by its definition.

use std::collections::BTreeMap;

use bytes::Bytes;
use pulsar_wire::ServerError;
use pulsar_wire::proto::{Schema, SchemaType};

use crate::refusal::Refusal;

/// Every version of each topic's schema, by the topic's path.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    versions: BTreeMap<String, Vec<Schema>>,
}

impl Schemas {
    pub(crate) fn has(&self, path: &str) -> bool {
        self.versions.contains_key(path)
    }

    /// The version of a schema, which is filed unless it is there.
    pub(crate) fn add(&mut self, path: &str, schema: &Schema) -> Result<Bytes, Refusal> {
        if self.has(path) {
            self.check(path, schema)?;
        }
        let versions = self.versions.entry(path.to_owned()).or_default();
        let known = versions
            .iter()
            .position(|known| known.r#type == schema.r#type && known.schema_data == schema.schema_data);
        let version = known.unwrap_or_else(|| {
            versions.push(schema.clone());
            versions.len() - 1
        });
        Ok(bytes_of(version))
    }

    /// Whether a consumer of this schema can read the topic.
    pub(crate) fn check(&self, path: &str, schema: &Schema) -> Result<(), Refusal> {
        let Some(newest) = self.versions.get(path).and_then(|versions| versions.last()) else {
            return Err(incompatible(format!(
                "Failed to add schema to an active topic with empty(BYTES) schema: new schema type {:?}",
                schema.r#type()
            )));
        };
        if newest.r#type != schema.r#type {
            return Err(incompatible(format!(
                "Incompatible schema: exists schema type {:?}, new schema type {:?}",
                newest.r#type(),
                schema.r#type()
            )));
        }
        Ok(())
    }

    /// A schema with its version: the newest, or the one of a version.
    pub(crate) fn find(&self, path: &str, version: Option<&Bytes>) -> Option<(&Schema, Bytes)> {
        let versions = self.versions.get(path)?;
        let number = match version {
            None => versions.len() - 1,
            Some(version) => number_of(version)?,
        };
        Some((versions.get(number)?, bytes_of(number)))
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.versions.remove(path);
    }
}

/// The schema that a client names, unless it says that there is none.
pub(crate) fn stated(schema: Option<&Schema>) -> Option<&Schema> {
    let is_stated = |schema: &&Schema| !matches!(schema.r#type(), SchemaType::None | SchemaType::AutoConsume);
    schema.filter(is_stated)
}

pub(crate) fn incompatible(message: impl Into<String>) -> Refusal {
    Refusal::new(ServerError::IncompatibleSchema, message)
}

fn bytes_of(version: usize) -> Bytes {
    Bytes::copy_from_slice(&(version as u64).to_be_bytes())
}

fn number_of(version: &Bytes) -> Option<usize> {
    let bytes = version.as_ref().try_into().ok()?;
    usize::try_from(u64::from_be_bytes(bytes)).ok()
}
