//! Data of a new envelope: the text of one JSON value, checked when it is made.

mod serialize;

use std::fmt;

use serde::Serialize;

use crate::error::{EnvelopeError, EnvelopeErrorKind as Kind};
use crate::json;

/// The text of one JSON value.
#[derive(Clone, PartialEq, Eq)]
pub struct Data {
    text: String,
    depth: usize,
}

impl Data {
    /// An empty object.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            text: "{}".into(),
            depth: 1,
        }
    }

    /// Writes a value of the caller's as JSON (`docs/wire-format.md`, Encoding).
    ///
    /// Integers and floats keep their kind (`2.0` stays `2.0`), structs and maps their order.
    ///
    /// # Errors
    ///
    /// A number is not finite, a map key is not text, nesting goes beyond what consumers read, or
    /// the value's own `Serialize` failed.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, EnvelopeError> {
        serialize::to_data(value)
    }

    /// Takes JSON text as it is; numbers and member order stay.
    ///
    /// # Errors
    ///
    /// The text is not one JSON value, holds an unpaired surrogate escape or a number that is not
    /// finite as a double, or is nested too deeply.
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self, EnvelopeError> {
        let json = json.as_ref();
        let shape = json::shape(json).map_err(|fault| {
            let text = format!("{} at byte {}", fault.what, fault.offset);
            EnvelopeError::new(Kind::NotJson).because(text)
        })?;
        if shape.lone_surrogate {
            return Err(EnvelopeError::new(Kind::NotJson).because("an unpaired surrogate escape"));
        }
        if shape.infinite {
            return Err(EnvelopeError::new(Kind::NonFiniteNumber));
        }
        if shape.depth > json::MAX_DEPTH {
            return Err(EnvelopeError::new(Kind::TooDeep));
        }
        Ok(Self {
            text: String::from_utf8_lossy(json::trim(json)).into(),
            depth: shape.depth,
        })
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    /// Arrays and objects open at once at the deepest place.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn into_text(self) -> Box<str> {
        self.text.into()
    }
}

impl Default for Data {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Data {
    /// The content may be personal and stays out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Data")
            .field("len", &self.text.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
