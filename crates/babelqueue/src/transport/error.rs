//! What a transport says when a call failed.

use std::error::Error;
use std::fmt;

type Source = Box<dyn Error + Send + Sync>;

/// A failed receive, acknowledgement, negative acknowledgement or close.
#[derive(Debug)]
pub struct TransportError {
    kind: TransportErrorKind,
    text: String,
    source: Option<Source>,
}

/// What went wrong with a [`TransportError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The connection was lost or the broker did not answer in time.
    Disconnected,
    /// The broker refused.
    Rejected,
    /// The subscription, producer or client was closed on our side.
    Closed,
    /// Anything else.
    Other,
}

impl TransportError {
    /// An error with one lower-case sentence that names the topic and the message id where known.
    pub fn new(kind: TransportErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            source: None,
        }
    }

    /// Adds what caused the error. Its text is not repeated in `Display`.
    #[must_use]
    pub fn with_source(self, source: impl Into<Source>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.kind == TransportErrorKind::Disconnected
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A send that the broker did not confirm.
#[derive(Debug)]
pub struct WriteError {
    kind: WriteErrorKind,
    topic: String,
    source: Option<Source>,
}

/// Why a send was not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The message is larger than the broker takes. Sending it again is of no use.
    TooLarge,
    /// The broker refused the message or the producer: authorization, schema, terminated topic.
    Rejected,
    /// The producer could not be made, or the broker could not be reached; nothing was written.
    Unavailable,
    /// The message was sent and the answer is missing: it may be there or not.
    Indeterminate,
    /// The producer or its client was closed on our side; nothing was written.
    Closed,
}

impl WriteError {
    /// An error of a send to `topic`.
    pub fn new(kind: WriteErrorKind, topic: impl Into<String>) -> Self {
        Self {
            kind,
            topic: topic.into(),
            source: None,
        }
    }

    /// Adds what caused the error. Its text is not repeated in `Display`.
    #[must_use]
    pub fn with_source(self, source: impl Into<Source>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// Why the send was not confirmed.
    #[must_use]
    pub fn kind(&self) -> WriteErrorKind {
        self.kind
    }

    /// The topic the record was meant for.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Whether the message is larger than the broker takes.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.kind == WriteErrorKind::TooLarge
    }

    /// Whether the message may have been written all the same.
    #[must_use]
    pub fn is_indeterminate(&self) -> bool {
        self.kind == WriteErrorKind::Indeterminate
    }

    /// Whether the same send may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            WriteErrorKind::Unavailable | WriteErrorKind::Indeterminate
        )
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.kind {
            WriteErrorKind::TooLarge => "is larger than the broker takes",
            WriteErrorKind::Rejected => "was refused by the broker",
            WriteErrorKind::Unavailable => "could not be sent",
            WriteErrorKind::Indeterminate => "was sent but not confirmed",
            WriteErrorKind::Closed => "was not sent because the producer is closed",
        };
        write!(f, "message to {} {why}", self.topic)
    }
}

impl Error for WriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
