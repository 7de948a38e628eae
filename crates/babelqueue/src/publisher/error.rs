//! Why a message was not published.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use babelqueue_core::{EnvelopeError, EnvelopeErrorKind};

use crate::transport::{WriteError, WriteErrorKind};

/// A message that was not published, or not known to be.
#[derive(Debug)]
pub struct PublishError {
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Envelope(EnvelopeError),
    Delay(Duration),
    Write(WriteError),
}

/// What was wrong with a message, or what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishErrorKind {
    /// The URN is empty or blank.
    EmptyUrn,
    /// A `meta` entry has a key of the contract or a forbidden one.
    EnvelopeKey,
    /// The data does not serialise to an object.
    DataNotObject,
    /// The data holds NaN or an infinity.
    NonFiniteNumber,
    /// The data cannot be serialised.
    DataUnserializable,
    /// The data is nested deeper than a consumer reads.
    TooDeep,
    /// The delay does not fit the calendar.
    DelayTooLong,
    /// The message is larger than the broker takes.
    TooLarge,
    /// The broker refused the message or the producer.
    Rejected,
    /// The broker could not be reached; nothing was written.
    Unavailable,
    /// The producer or its client was closed.
    Closed,
    /// The message was sent and the answer is missing: it may be there or not.
    Indeterminate,
}

impl PublishError {
    pub(super) fn delay_too_long(delay: Duration) -> Self {
        Self {
            cause: Cause::Delay(delay),
        }
    }

    /// What was wrong.
    #[must_use]
    pub fn kind(&self) -> PublishErrorKind {
        match &self.cause {
            Cause::Envelope(error) => envelope_kind(error.kind()),
            Cause::Delay(_) => PublishErrorKind::DelayTooLong,
            Cause::Write(error) => match error.kind() {
                WriteErrorKind::TooLarge => PublishErrorKind::TooLarge,
                WriteErrorKind::Rejected => PublishErrorKind::Rejected,
                WriteErrorKind::Unavailable => PublishErrorKind::Unavailable,
                WriteErrorKind::Closed => PublishErrorKind::Closed,
                WriteErrorKind::Indeterminate => PublishErrorKind::Indeterminate,
            },
        }
    }

    /// Whether publishing the same again may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(&self.cause, Cause::Write(error) if error.is_transient())
    }

    /// Whether the message may be on the topic all the same.
    #[must_use]
    pub fn is_indeterminate(&self) -> bool {
        matches!(&self.cause, Cause::Write(error) if error.is_indeterminate())
    }
}

fn envelope_kind(kind: EnvelopeErrorKind) -> PublishErrorKind {
    match kind {
        EnvelopeErrorKind::EmptyUrn => PublishErrorKind::EmptyUrn,
        EnvelopeErrorKind::EnvelopeKey => PublishErrorKind::EnvelopeKey,
        EnvelopeErrorKind::DataNotObject => PublishErrorKind::DataNotObject,
        EnvelopeErrorKind::NonFiniteNumber => PublishErrorKind::NonFiniteNumber,
        EnvelopeErrorKind::TooDeep => PublishErrorKind::TooDeep,
        _ => PublishErrorKind::DataUnserializable,
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Envelope(error) => error.fmt(f),
            Cause::Delay(delay) => write!(f, "delay of {} s is too long", delay.as_secs()),
            Cause::Write(error) => error.fmt(f),
        }
    }
}

impl Error for PublishError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            Cause::Envelope(error) => error.source(),
            Cause::Delay(_) => None,
            Cause::Write(error) => error.source(),
        }
    }
}

impl From<EnvelopeError> for PublishError {
    fn from(error: EnvelopeError) -> Self {
        Self {
            cause: Cause::Envelope(error),
        }
    }
}

impl From<WriteError> for PublishError {
    fn from(error: WriteError) -> Self {
        Self {
            cause: Cause::Write(error),
        }
    }
}
