//! Which envelopes a consumer accepts (`docs/wire-format.md`, Accepting).

use super::Envelope;
use crate::error::NotAccepted;
use crate::urn::is_blank;

/// The only version of the envelope's shape.
const SCHEMA_VERSION: i64 = 1;

impl Envelope {
    /// Tells whether a consumer may hand this envelope to a handler.
    ///
    /// # Errors
    ///
    /// The first check that fails. Such a message is poison.
    pub fn accepts(&self) -> Result<(), NotAccepted> {
        let parts = &*self.parts;
        if is_blank(self.job().as_bytes()) {
            return Err(NotAccepted::MissingUrn);
        }
        let Some(meta) = parts.meta.value() else {
            return Err(NotAccepted::MissingMeta);
        };
        if meta.schema_version.value() != Some(&SCHEMA_VERSION) {
            return Err(NotAccepted::UnsupportedSchemaVersion);
        }
        if parts.data.value().is_none() {
            return Err(NotAccepted::InvalidData);
        }
        if is_blank(self.trace_id().as_bytes()) {
            return Err(NotAccepted::MissingTraceId);
        }
        if parts.attempts.value().is_none() {
            return Err(NotAccepted::InvalidAttempts);
        }
        Ok(())
    }
}
