//! Why bytes are not what they should be.

use std::fmt;

/// Bytes that are not the protobuf structure they should be.
///
/// Retrying does not help: the bytes are wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    subject: &'static str,
    defect: Defect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Defect {
    Own(&'static str),
    Protobuf(prost::DecodeError),
}

impl DecodeError {
    pub(crate) fn new(subject: &'static str, defect: &'static str) -> Self {
        Self {
            subject,
            defect: Defect::Own(defect),
        }
    }

    pub(crate) fn protobuf(subject: &'static str, source: prost::DecodeError) -> Self {
        Self {
            subject,
            defect: Defect::Protobuf(source),
        }
    }

    /// What was being decoded: a command's name, or `"metadata"`.
    #[must_use]
    pub fn subject(&self) -> &'static str {
        self.subject
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.defect {
            Defect::Own(text) => write!(f, "cannot decode {}: {text}", self.subject),
            Defect::Protobuf(_) => write!(f, "cannot decode {}", self.subject),
        }
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.defect {
            Defect::Own(_) => None,
            Defect::Protobuf(source) => Some(source),
        }
    }
}
