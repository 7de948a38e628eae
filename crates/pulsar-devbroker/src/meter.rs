//! Counts something and tells how much of it there is a second.

/// Over how long a rate is taken.
const WINDOW_MS: u64 = 10_000;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    pub(crate) total: u64,
    /// When the window began that is being filled, and what was in it so far.
    began_ms: u64,
    count: u64,
    /// A second, in the window before.
    rate: f64,
}

impl Meter {
    pub(crate) fn add(&mut self, count: u32, now_ms: u64) {
        self.total += u64::from(count);
        self.turn_over(now_ms);
        self.count += u64::from(count);
    }

    pub(crate) fn rate(mut self, now_ms: u64) -> f64 {
        self.turn_over(now_ms);
        self.rate
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    fn turn_over(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.began_ms);
        if passed < WINDOW_MS {
            return;
        }
        let is_next = passed < 2 * WINDOW_MS;
        self.rate = if is_next {
            self.count as f64 * 1000.0 / passed as f64
        } else {
            0.0
        };
        self.began_ms = now_ms;
        self.count = 0;
    }
}
