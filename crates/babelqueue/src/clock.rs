//! The one place where the runtime takes the time and random bytes from.

use std::time::{SystemTime, UNIX_EPOCH};

use babelqueue_core::Stamp;

/// Where the time comes from. Anything but the system's clock is for tests and reproducible output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// The clock of the machine.
    #[default]
    System,
    /// Always this time, in Unix milliseconds.
    Fixed(i64),
}

impl Clock {
    /// Now, in Unix milliseconds.
    #[must_use]
    pub fn now_ms(self) -> i64 {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
            }
            Self::Fixed(now_ms) => now_ms,
        }
    }

    /// The ids and the time of a new envelope.
    pub(crate) fn stamp(self) -> Stamp {
        Stamp {
            message_id: rand::random(),
            trace_id: rand::random(),
            now_ms: self.now_ms(),
        }
    }
}
