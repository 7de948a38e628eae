//! A request that can't be done, and the error that says so.

use pulsar_wire::ServerError;
use pulsar_wire::proto::CommandError;

/// How many letters a text about what a peer did may have.
const LONGEST: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) error: ServerError,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(error: ServerError, message: impl Into<String>) -> Self {
        Self {
            error,
            message: brief(message.into()),
        }
    }

    pub(crate) fn consumer_not_found() -> Self {
        Self::new(ServerError::MetadataError, "Consumer not found")
    }

    pub(crate) fn answer(self, request_id: u64) -> CommandError {
        CommandError {
            request_id,
            error: self.error.code(),
            message: self.message,
        }
    }
}

/// A text for somebody's log, whatever names a peer chose: of a line's length, and without what a
/// terminal would obey.
pub(crate) fn brief(text: String) -> String {
    if text.len() <= LONGEST && !text.contains(char::is_control) {
        return text;
    }
    let plain = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    let mut brief: String = text.chars().map(plain).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        brief.push('…');
    }
    brief
}
