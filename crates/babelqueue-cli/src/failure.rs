//! What ends a command early.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use babelqueue_pulsar::{OpenError, OpenErrorKind, pulsar_tokio};

/// One sentence for the user, and whether the command line is to blame.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    usage: bool,
}

impl Failure {
    /// `what` with the chain of causes behind it.
    pub(crate) fn new(what: impl fmt::Display, error: &(dyn Error + 'static)) -> Self {
        Self {
            text: format!("{what}: {}", chain(error)),
            usage: false,
        }
    }

    /// Settings from a file or the environment that cannot be used.
    pub(crate) fn settings(error: &pulsar_tokio::Error) -> Self {
        Self {
            text: format!("cannot use the settings: {}", chain(error)),
            // The cause is that of a file that cannot be read.
            usage: error.source().is_none(),
        }
    }

    /// A sentence without a cause.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            usage: false,
        }
    }

    /// 2 for a wrong command line, 1 for the rest.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(if self.usage { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.text))
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let mut text = chain(&error);
        if error.kind() != OpenErrorKind::Settings && !text.starts_with("cannot ") {
            // It begins with the file or the broker that is to blame.
            text = format!("cannot connect: {text}");
        }
        Self {
            text,
            usage: error.kind() == OpenErrorKind::Settings,
        }
    }
}

/// The text of an error with those of its sources: `a: b`.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// The text as one line, whatever a cause had in it.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\r', "").trim().replace('\n', " | ")
}
