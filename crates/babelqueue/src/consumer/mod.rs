//! The consumer: reads deliveries one at a time, lets the core decide, runs handlers and settles. The
//! decisions themselves are in `babelqueue-core`; [`process`](self) is the place where all steps stand
//! together.

mod builder;
mod error;
mod hooks;
mod process;
mod run;
mod settle;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use babelqueue_core::Policy;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use self::hooks::Hooks;
use self::settle::Finish;
use crate::clock::Clock;
use crate::router::Router;
use crate::transport::{Received, Transport, TransportError};

pub use builder::{BuildError, BuildErrorKind, ConsumerBuilder};
pub use error::{ConsumerError, ConsumerErrorKind};

/// Where the consumer's log lines go to.
pub(crate) const LOG: &str = "babelqueue.pulsar";

/// How long nothing is received after a failed receive or a failed write.
const REST: Duration = Duration::from_secs(1);

/// Receives messages, hands them to handlers and settles them; made by [`ConsumerBuilder`].
pub struct Consumer<T> {
    transport: T,
    router: Router,
    hooks: Hooks,
    policy: Policy,
    receive_timeout: Duration,
    max_unconfirmed_acks: usize,
    clock: Clock,
    resting_until: Mutex<Option<Instant>>,
    closed: watch::Sender<bool>,
}

impl Consumer<()> {
    /// Starts a consumer; its transport comes last, with [`ConsumerBuilder::build`].
    pub fn builder() -> ConsumerBuilder {
        ConsumerBuilder::default()
    }
}

impl<T: Transport> Consumer<T> {
    /// Handles at most one delivery: waits for it up to the receive timeout, and returns 1 after the broker
    /// confirmed its settlement, 0 when nothing came. Failing handlers, poison, gated messages and failed
    /// writes end inside; the hooks and the log tell of them.
    ///
    /// # Errors
    /// When receiving failed, or when an acknowledgement or a negative acknowledgement was not confirmed.
    /// It can be called again in each case.
    ///
    /// # Cancel safety
    /// Dropping the future while it waits for a delivery loses nothing. Dropping it later drops the
    /// handler at its current `await` and leaves the delivery unsettled: it comes again after this consumer's
    /// subscription is closed, and not before.
    pub async fn poll(&self) -> Result<usize, ConsumerError> {
        self.rested().await;
        let Ok(received) = timeout(self.receive_timeout, self.transport.receive()).await else {
            return Ok(0);
        };
        self.handle(&received.map_err(ConsumerError::receive)?).await?;
        Ok(1)
    }

    /// Takes one delivery to its confirmed end.
    pub(crate) async fn handle(&self, received: &Received<T::Origin>) -> Result<(), ConsumerError> {
        match self.process(received, None).await {
            Finish::Ack(ack) => self.confirm(ack).await,
            Finish::Nacked(nacked) => nacked,
            Finish::Left => Ok(()),
        }
    }

    /// Closes what the transport opened for this consumer, such as its retry producers. What the user
    /// handed over stays open. A [`run`](Self::run) that is still going on ends, as if it had been told to
    /// stop; what it has in hand can't be settled any more and comes again. A second call does nothing.
    ///
    /// # Errors
    /// The first error of the closing; the rest is closed all the same.
    pub async fn close(&self) -> Result<(), TransportError> {
        self.closed.send_replace(true);
        self.transport.close().await
    }

    /// The transport this consumer reads from.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Waits until [`close`](Self::close) is called.
    async fn closed(&self) {
        // The sender lives as long as this future.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Waits for the next delivery, after the rest that a failure asked for.
    async fn receive(&self) -> Result<Received<T::Origin>, TransportError> {
        self.rested().await;
        self.transport.receive().await
    }

    /// Receives nothing for a while, so that a dead broker or a dead topic is not hammered.
    fn rest(&self) {
        *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }

    async fn rested(&self) {
        let until = *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = until {
            sleep_until(until).await;
            *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urns: Vec<_> = self.router.urns().collect();
        f.debug_struct("Consumer")
            .field("urns", &urns)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
