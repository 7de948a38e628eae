//! CPU time, allocations, medians.

use std::fs;
use std::time::Instant;

use crate::Result;

/// What one message cost.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// CPU time in µs, user and system.
    pub cpu_us: f64,
    /// Messages a second.
    pub rate: f64,
    /// Allocations, where they are counted.
    pub allocations: f64,
}

/// A running measurement of the calling thread.
#[derive(Debug)]
pub struct Meter {
    since: Instant,
    cpu_ns: u64,
    allocations: u64,
    count: fn() -> u64,
}

impl Meter {
    /// Starts measuring; `count` tells how many allocations there were so far.
    ///
    /// # Errors
    ///
    /// The kernel does not tell the CPU time.
    pub fn start(count: fn() -> u64) -> Result<Self> {
        Ok(Self {
            count,
            allocations: count(),
            cpu_ns: cpu_ns()?,
            since: Instant::now(),
        })
    }

    /// What each of `messages` cost since the start.
    ///
    /// # Errors
    ///
    /// As [`Meter::start`].
    pub fn stop(&self, messages: u32) -> Result<Sample> {
        let messages = f64::from(messages);
        let seconds = self.since.elapsed().as_secs_f64();
        Ok(Sample {
            cpu_us: (cpu_ns()? - self.cpu_ns) as f64 / 1e3 / messages,
            rate: messages / seconds,
            allocations: ((self.count)() - self.allocations) as f64 / messages,
        })
    }
}

/// User and system time of the main thread, on which everything runs.
fn cpu_ns() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let time = text.split_whitespace().next().ok_or("an empty schedstat")?;
    Ok(time.parse()?)
}

/// The value in the middle.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
