//! The one error of this crate: what went wrong, where, and what a caller can do about it.

use std::fmt;
use std::sync::Arc;

use pulsar_wire::ServerError;

use crate::secret::scrub;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The service URL cannot be used.
    InvalidServiceUrl,
    /// The topic name is not one that Pulsar has.
    InvalidTopic,
    /// An option has a value that cannot work.
    InvalidOption,
    /// The feature is not there in this version of the client.
    Unsupported,
    /// No connection to the broker could be made.
    Unreachable,
    /// No encrypted connection could be made: a certificate, a key or a host name does not fit.
    Tls,
    /// The credentials that the client should show could not be had: from a file, a function or an
    /// issuer.
    Credentials,
    /// The connection went away while something was waiting on it.
    ConnectionLost,
    /// The broker did not answer in time.
    TimedOut,
    /// The broker refused, with this code.
    Refused(ServerError),
    /// The message does not fit the broker's greatest size; it was not sent.
    TooLarge,
    /// The broker took the message but did not store it.
    NotStored,
    /// The acknowledgement was under way when the session with the broker ended.
    SessionLost,
    /// The producer or consumer is closed.
    Closed,
}

/// A failure of the client or the broker.
///
/// Cheap to clone, since one broken connection fails many operations at once.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    text: String,
    ambiguous: bool,
    /// For credentials, whose kind does not tell.
    may_pass: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            text: text.into(),
            ambiguous: false,
            may_pass: false,
            source: None,
        }))
    }

    /// The error of something that is closed; for code that wraps producers or consumers.
    #[must_use]
    pub fn closed(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Closed, text)
    }

    /// An error after which the operation may or may not have taken effect.
    pub(crate) fn ambiguous(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            text: text.into(),
            ambiguous: true,
            may_pass: false,
            source: None,
        }))
    }

    pub(crate) fn with_source(
        kind: ErrorKind,
        text: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self(Arc::new(Inner {
            kind,
            text: text.into(),
            ambiguous: false,
            may_pass: false,
            source: Some(source.into()),
        }))
    }

    /// No credentials for now: who gives them cannot be reached or does not answer.
    pub(crate) fn no_credentials_yet(
        text: impl Into<String>,
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self(Arc::new(Inner {
            kind: ErrorKind::Credentials,
            text: text.into(),
            ambiguous: false,
            may_pass: true,
            source,
        }))
    }

    /// The broker's refusal of what `doing` names.
    pub(crate) fn refused(code: ServerError, text: &str, doing: impl fmt::Display) -> Self {
        let text = if text.is_empty() {
            "no reason given"
        } else {
            first_line(text)
        };
        // A broker may repeat what it was sent.
        let text = scrub(text, &[]);
        Self::new(
            ErrorKind::Refused(code),
            format!("the broker refused to {doing}: {code}: {text}"),
        )
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// True if the operation may have taken effect all the same: a message may be stored, an
    /// acknowledgement may have been taken.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.0.ambiguous
    }

    /// True if the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self.0.kind {
            ErrorKind::Unreachable
            | ErrorKind::ConnectionLost
            | ErrorKind::TimedOut
            | ErrorKind::NotStored
            | ErrorKind::SessionLost => true,
            ErrorKind::Refused(code) => is_transient(code),
            ErrorKind::Credentials => self.0.may_pass,
            _ => false,
        }
    }

    /// True if nothing further can ever be sent to this topic by this producer: the topic is
    /// terminated or another producer has fenced this one off.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Refused(ServerError::TopicTerminatedError | ServerError::ProducerFenced)
        )
    }
}

/// The codes that a broker gives while it moves topics or is not ready.
fn is_transient(code: ServerError) -> bool {
    matches!(
        code,
        ServerError::UnknownError
            | ServerError::MetadataError
            | ServerError::PersistenceError
            | ServerError::ServiceNotReady
            | ServerError::TooManyRequests
            | ServerError::ProducerBusy
            | ServerError::ConsumerBusy
            | ServerError::ChecksumError
            | ServerError::ProducerBlockedQuotaExceededError
            | ServerError::ProducerBlockedQuotaExceededException
    )
}

/// Brokers put stack traces behind the first line; nobody needs them in a message.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("text", &self.0.text)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
