//! Tasks that look after something as long as it is there.

use std::time::Duration;

use tokio::task::AbortHandle;

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Background(AbortHandle);

impl Background {
    pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task).abort_handle())
    }

    /// Ends it now. What it is doing is dropped.
    pub(crate) fn end(&self) {
        self.0.abort();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

/// At most `interval`, so that many do not look at the same moment.
pub(crate) fn jittered(interval: Duration) -> Duration {
    interval.mul_f64(rand::random_range(0.5..=1.0))
}
