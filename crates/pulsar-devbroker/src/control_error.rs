//! Why an administrator's call cannot be carried out.

use std::fmt;

/// What was asked of the broker cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlError {
    kind: ControlErrorKind,
    subject: String,
}

/// Why it cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlErrorKind {
    /// What it is about does not exist.
    NotFound,
    /// What is to be made exists.
    Exists,
    /// Clients are attached to it.
    InUse,
    /// The name is none, or what is asked makes no sense.
    Invalid,
}

impl ControlError {
    pub(crate) fn new(kind: ControlErrorKind, subject: impl Into<String>) -> Self {
        Self {
            kind,
            subject: subject.into(),
        }
    }

    /// Why it cannot be done.
    #[must_use]
    pub fn kind(&self) -> ControlErrorKind {
        self.kind
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ControlErrorKind::NotFound => "does not exist",
            ControlErrorKind::Exists => "exists already",
            ControlErrorKind::InUse => "has producers or consumers",
            ControlErrorKind::Invalid => "is not valid",
        };
        write!(f, "{} {what}", self.subject)
    }
}

impl std::error::Error for ControlError {}
