//! How a broker of the test's own is configured.

use std::time::Duration;

/// How a broker of the test's own is configured; the default is a freshly installed 4.0 broker.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub(crate) batch_index: bool,
    pub(crate) deduplication: bool,
    pub(crate) keep_alive: Option<Duration>,
}

impl Profile {
    /// Part of a batch can be acknowledged.
    #[must_use]
    pub fn batch_index() -> Self {
        Self {
            batch_index: true,
            ..Self::default()
        }
    }

    /// What a producer sends twice is dropped.
    #[must_use]
    pub fn deduplication(mut self) -> Self {
        self.deduplication = true;
        self
    }

    /// After how long a quiet connection is asked whether it is alive; whole seconds.
    #[must_use]
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = Some(time);
        self
    }

    /// Which file of `scripts/pulsar.d/profiles` a real broker takes.
    pub(crate) fn file(&self) -> &'static str {
        if self.batch_index {
            "batch-index"
        } else {
            "default"
        }
    }

    /// What a real broker needs besides: lines of its configuration.
    pub(crate) fn settings(&self) -> Vec<String> {
        let deduplication = self
            .deduplication
            .then(|| "brokerDeduplicationEnabled=true".to_owned());
        let keep_alive = self
            .keep_alive
            .map(|time| format!("keepAliveIntervalSeconds={}", time.as_secs()));
        deduplication.into_iter().chain(keep_alive).collect()
    }
}
