//! How long to wait before the next try.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const GREATEST: Duration = Duration::from_secs(3);

/// Doubling delays from 100 ms to 3 s, each shortened by up to a quarter so that many clients
/// that lost the same broker do not come back in step.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// The next delay; `chance` is a random number of at least 0 and less than 1.
    pub(crate) fn next(&mut self, chance: f64) -> Duration {
        let full = FIRST.saturating_mul(1 << self.tries.min(16)).min(GREATEST);
        self.tries += 1;
        full.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 4.0)
    }

    /// The longest delay at once, for what no haste can mend.
    pub(crate) fn greatest(&mut self, chance: f64) -> Duration {
        self.tries = 16;
        self.next(chance)
    }

    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_from_a_tenth_of_a_second_to_three_seconds() {
        let mut backoff = Backoff::default();
        let delays: Vec<u128> = (0..7).map(|_| backoff.next(0.0).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3000, 3000]);
    }

    #[test]
    fn chance_shortens_a_delay_by_at_most_a_quarter() {
        assert_eq!(Backoff::default().next(1.0).as_millis(), 75);
    }
}
