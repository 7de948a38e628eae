//! The relation between the driver's monotonic time and the calendar, fixed at the start.

use std::time::{Duration, Instant};

/// A thousand years: longer than anybody waits, and short enough to be added to any time.
pub(crate) const AGES: Duration = Duration::from_secs(1_000 * 365 * 24 * 60 * 60);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
    unix_ms: u64,
}

/// One moment on both scales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) at: Instant,
    pub(crate) unix_ms: u64,
}

impl Clock {
    pub(crate) fn new(started: Instant, unix_ms: u64) -> Self {
        Self { started, unix_ms }
    }

    pub(crate) fn now(&self, at: Instant) -> Now {
        let passed = at.saturating_duration_since(self.started);
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        Now {
            at,
            unix_ms: self.unix_ms.saturating_add(passed),
        }
    }

    /// `None` when it is further away than the monotonic time can express.
    pub(crate) fn instant(&self, unix_ms: u64) -> Option<Instant> {
        let ahead = Duration::from_millis(unix_ms.saturating_sub(self.unix_ms));
        self.started.checked_add(ahead)
    }
}
