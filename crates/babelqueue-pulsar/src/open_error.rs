//! Why a publisher or a consumer could not be opened.

use std::error::Error;
use std::fmt;

use babelqueue::BuildError;
use pulsar_tokio::ErrorKind;

/// A publisher or a consumer could not be opened. Nothing was sent and nothing stays open.
#[derive(Debug)]
pub struct OpenError {
    kind: OpenErrorKind,
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Why something could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// The settings cannot work, whatever the broker says.
    Settings,
    /// No encrypted connection could be made: a certificate, a key or a host name does not fit.
    Tls,
    /// The credentials to show could not be had: no file, or an issuer that refuses. Those that the
    /// broker refuses are [`Refused`](Self::Refused).
    Credentials,
    /// This version does not speak what is asked for.
    Unsupported,
    /// The broker cannot be reached, or did not answer in time.
    Unreachable,
    /// The broker refused: no permission, a busy subscription, a schema that is enforced.
    Refused,
}

impl OpenError {
    pub(crate) fn settings(error: BuildError) -> Self {
        let text = "the consumer's settings cannot work".to_owned();
        Self {
            kind: OpenErrorKind::Settings,
            text,
            source: Some(error.into()),
        }
    }

    pub(crate) fn pulsar(doing: &str, error: pulsar_tokio::Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::InvalidServiceUrl | ErrorKind::InvalidTopic | ErrorKind::InvalidOption => {
                OpenErrorKind::Settings
            }
            ErrorKind::Tls => OpenErrorKind::Tls,
            ErrorKind::Credentials => OpenErrorKind::Credentials,
            ErrorKind::Unsupported => OpenErrorKind::Unsupported,
            ErrorKind::Refused(_) => OpenErrorKind::Refused,
            _ => OpenErrorKind::Unreachable,
        };
        let text = match error.kind() {
            // Nobody got as far as what was to be done, so the client's own words come first.
            kind if is_about_the_way(kind) => error.to_string(),
            _ => format!("cannot {doing}{}", advice(&error)),
        };
        Self {
            kind,
            text,
            source: Some(error.into()),
        }
    }

    /// Why it could not be opened.
    #[must_use]
    pub fn kind(&self) -> OpenErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.client_error().is_some_and(pulsar_tokio::Error::is_transient)
    }

    fn client_error(&self) -> Option<&pulsar_tokio::Error> {
        self.source.as_deref()?.downcast_ref()
    }
}

/// True if no broker was asked anything yet.
fn is_about_the_way(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Unreachable | ErrorKind::Tls | ErrorKind::Credentials
    )
}

/// What the user can do, where the broker's own words do not say it.
fn advice(error: &pulsar_tokio::Error) -> &'static str {
    use pulsar_tokio::ServerError;
    match error.kind() {
        ErrorKind::Refused(ServerError::ConsumerBusy) => {
            " (another consumer holds the subscription; use the type Shared or Key_Shared to share it, or another subscription)"
        }
        ErrorKind::Refused(ServerError::IncompatibleSchema) => {
            " (the topic enforces a schema; envelopes are plain bytes, so give them a topic without a schema)"
        }
        ErrorKind::Refused(ServerError::TopicNotFound) => {
            " (do the tenant, the namespace and the topic exist?)"
        }
        ErrorKind::Refused(ServerError::TopicTerminatedError) => {
            " (the topic is terminated: nothing can be written to it any more)"
        }
        _ => "",
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.client_error() {
            // Its text is ours already.
            Some(error) if is_about_the_way(error.kind()) => error.source(),
            _ => self.source.as_deref().map(|source| source as _),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Consumer, Pulsar};

    const NOBODY: &str = "pulsar://127.0.0.1:1";

    fn assert_names_the_broker_first(error: &OpenError) {
        assert_eq!(error.to_string(), format!("cannot connect to {NOBODY}"));
        let source = error.source().unwrap().to_string();
        assert!(source.starts_with("Connection refused"), "{source}");
        assert_eq!(error.kind(), OpenErrorKind::Unreachable);
        assert!(error.is_transient());
    }

    #[tokio::test]
    async fn without_a_broker_the_error_begins_with_its_address() {
        let pulsar = Pulsar::new(NOBODY).unwrap();
        assert_names_the_broker_first(&pulsar.publisher("orders").await.unwrap_err());
        let subscription = pulsar.subscription("orders", "billing");
        let error = subscription.clone().open(Consumer::builder()).await.unwrap_err();
        assert_names_the_broker_first(&error);
        let error = subscription
            .dead_letters()
            .open(Consumer::builder())
            .await
            .unwrap_err();
        assert_names_the_broker_first(&error);
    }
}
