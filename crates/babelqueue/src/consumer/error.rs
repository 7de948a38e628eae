//! What went wrong with a delivery: the argument of `on_error` and the error of `poll`.

use std::error::Error;
use std::fmt;

use babelqueue_core::{Cause, Gated, Outgoing, Poison, Record};

use crate::transport::{TransportError, WriteError};

/// What went wrong with a delivery, or with receiving one.
#[derive(Debug)]
pub struct ConsumerError {
    kind: ConsumerErrorKind,
    text: String,
    exception: Option<String>,
    source: Option<Failed>,
}

#[derive(Debug)]
enum Failed {
    Transport(TransportError),
    Write(WriteError),
}

/// The step that went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsumerErrorKind {
    /// The message declares a schema version that this consumer does not read.
    UnsupportedSchemaVersion,
    /// The body can never be handed to a handler.
    Poison,
    /// Nobody handles the URN.
    UnknownUrn,
    /// The handler or the `on_unknown_urn` hook failed or panicked.
    HandlerFailed,
    /// A retry or a dead letter was not written, so the message was not acknowledged.
    Write,
    /// The acknowledgement was not confirmed.
    Ack,
    /// The broker could not be told to deliver the message again.
    Nack,
    /// Nothing could be received.
    Receive,
}

impl ConsumerError {
    /// The step that went wrong.
    #[must_use]
    pub fn kind(&self) -> ConsumerErrorKind {
        self.kind
    }

    /// The type name of a handler's error.
    #[must_use]
    pub fn exception(&self) -> Option<&str> {
        self.exception.as_deref()
    }

    /// Whether the broker or the network is the reason and the same step may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match &self.source {
            Some(Failed::Transport(error)) => error.is_transient(),
            Some(Failed::Write(error)) => error.is_transient(),
            None => false,
        }
    }

    pub(super) fn gated(gated: &Gated) -> Self {
        let text = format!(
            "unsupported schema version {:?}, supported is 1",
            gated.declared()
        );
        Self::new(ConsumerErrorKind::UnsupportedSchemaVersion, text)
    }

    pub(super) fn poison(poison: &Poison) -> Self {
        Self::new(ConsumerErrorKind::Poison, poison.cause().to_string())
    }

    pub(super) fn failed(kind: ConsumerErrorKind, cause: &Cause) -> Self {
        let exception = cause.exception.as_deref().map(str::to_owned);
        Self {
            exception,
            ..Self::new(kind, cause.error.clone())
        }
    }

    pub(super) fn write(outgoing: &Outgoing, error: WriteError) -> Self {
        let record = match outgoing.record {
            Record::Retry | Record::PoisonRetry => "retry",
            Record::DeadLetter => "dead letter",
            Record::Poison => "poison record",
            Record::Raw => "raw record",
        };
        let text = format!("{record} was not written to {}", error.topic());
        Self {
            source: Some(Failed::Write(error)),
            ..Self::new(ConsumerErrorKind::Write, text)
        }
    }

    pub(super) fn ack(error: TransportError) -> Self {
        Self::transport(ConsumerErrorKind::Ack, "acknowledgement was not confirmed", error)
    }

    pub(super) fn nack(error: TransportError) -> Self {
        Self::transport(ConsumerErrorKind::Nack, "message could not be given back", error)
    }

    pub(super) fn receive(error: TransportError) -> Self {
        Self::transport(ConsumerErrorKind::Receive, "nothing could be received", error)
    }

    fn new(kind: ConsumerErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            exception: None,
            source: None,
        }
    }

    fn transport(kind: ConsumerErrorKind, text: &str, error: TransportError) -> Self {
        Self {
            source: Some(Failed::Transport(error)),
            ..Self::new(kind, text)
        }
    }
}

impl fmt::Display for ConsumerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for ConsumerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.source.as_ref()? {
            Failed::Transport(error) => Some(error),
            Failed::Write(error) => Some(error),
        }
    }
}
