//! Setting a consumer up, and the checks of `pulsar-binding.md` section 3.

use std::error::Error;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use babelqueue_core::{Envelope, Policy};
use tokio::sync::watch;

use super::Consumer;
use super::error::ConsumerError;
use super::hooks::Hooks;
use crate::clock::Clock;
use crate::failure::Failure;
use crate::handler::Handler;
use crate::message::Message;
use crate::router::Router;
use crate::transport::{Capabilities, Redelivery, Transport};

/// Sets a [`Consumer`] up. Everything is checked in [`build`](Self::build).
#[must_use = "a builder does nothing before it is built"]
pub struct ConsumerBuilder {
    router: Router,
    hooks: Hooks,
    max_attempts: u32,
    receive_timeout: Duration,
    max_unconfirmed_acks: usize,
    clock: Clock,
}

impl Default for ConsumerBuilder {
    fn default() -> Self {
        Self {
            router: Router::default(),
            hooks: Hooks::default(),
            max_attempts: 3,
            receive_timeout: Duration::from_secs(1),
            max_unconfirmed_acks: 1_000,
            clock: Clock::System,
        }
    }
}

impl ConsumerBuilder {
    /// Registers the handler of a URN. White space around the URN is cut off; the last handler of a URN
    /// wins. An error or a panic of the handler is a failure: the message is retried or dead-lettered.
    pub fn handler<F, Fut>(mut self, urn: impl AsRef<str>, handler: F) -> Self
    where
        F: Fn(Envelope, Message) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.router.register(urn.as_ref(), Handler::new(handler));
        self
    }

    /// Deliveries of a message in total, the first included; 1 means no retry. The default is 3.
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        Self { max_attempts, ..self }
    }

    /// Called for everything that went wrong with a delivery, before it is settled: with the envelope where
    /// there is one, and without envelope and message when [`run`](Consumer::run) could not receive. A
    /// panic in it is logged and changes nothing.
    pub fn on_error<F>(mut self, hook: F) -> Self
    where
        F: Fn(&ConsumerError, Option<&Envelope>, Option<&Message>) + Send + Sync + 'static,
    {
        self.hooks.on_error = Some(Box::new(hook));
        self
    }

    /// Called for a message whose URN has no handler; the message is acknowledged after it. Without this
    /// hook such a message is a failure. A failing hook is a failing handler.
    pub fn on_unknown_urn<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Envelope, Message) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.hooks.on_unknown_urn = Some(Handler::new(hook));
        self
    }

    /// Called when the property that routes a message names another URN than its body does: with the
    /// property's URN, the body's URN, the envelope and the message. A panic in it is swallowed.
    pub fn on_routing_mismatch<F>(mut self, hook: F) -> Self
    where
        F: Fn(&str, &str, &Envelope, &Message) + Send + Sync + 'static,
    {
        self.hooks.on_routing_mismatch = Some(Box::new(hook));
        self
    }

    /// How long one [`poll`](Consumer::poll) waits for a delivery. The default is one second.
    pub fn receive_timeout(self, receive_timeout: Duration) -> Self {
        Self {
            receive_timeout,
            ..self
        }
    }

    /// How many acknowledgements may be unconfirmed while [`run`](Consumer::run) starts the next handler.
    /// The default is 1000; 0 counts as 1.
    pub fn max_unconfirmed_acks(self, max_unconfirmed_acks: usize) -> Self {
        Self {
            max_unconfirmed_acks: max_unconfirmed_acks.max(1),
            ..self
        }
    }

    /// Takes the time from `clock`; for tests and reproducible output.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Checks the settings against what a transport can do, without building. An adapter calls it before
    /// it opens anything.
    ///
    /// # Errors
    /// Every problem that [`build`](Self::build) would report.
    pub fn check(&self, capabilities: Capabilities) -> Result<(), BuildError> {
        let mut problems = Vec::new();
        if !(1..=i32::MAX.unsigned_abs()).contains(&self.max_attempts) {
            problems.push(BuildErrorKind::InvalidMaxAttempts(self.max_attempts));
        }
        // Without a producer a failure is given back, and only a counted redelivery ever reaches the cap.
        if !capabilities.retry && capabilities.redelivery == Redelivery::Rewind {
            problems.push(BuildErrorKind::RetryProducerRequired);
        }
        if self.router.has_blank() {
            problems.push(BuildErrorKind::BlankUrn);
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(BuildError { problems })
        }
    }

    /// Makes the consumer. Nothing is received before [`poll`](Consumer::poll) or [`run`](Consumer::run).
    ///
    /// # Errors
    /// A [`BuildError`] with everything that is wrong with the settings.
    pub fn build<T: Transport>(self, transport: T) -> Result<Consumer<T>, BuildError> {
        let capabilities = transport.capabilities();
        self.check(capabilities)?;
        let policy = Policy {
            max_attempts: self.max_attempts,
            dead_letter: capabilities.dead_letter,
            retry: capabilities.retry,
            unknown_urn_hook: self.hooks.on_unknown_urn.is_some(),
        };
        Ok(Consumer {
            transport,
            router: self.router,
            hooks: self.hooks,
            policy,
            receive_timeout: self.receive_timeout,
            max_unconfirmed_acks: self.max_unconfirmed_acks,
            clock: self.clock,
            resting_until: Mutex::new(None),
            closed: watch::Sender::new(false),
        })
    }
}

impl fmt::Debug for ConsumerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urns: Vec<_> = self.router.urns().collect();
        f.debug_struct("ConsumerBuilder")
            .field("urns", &urns)
            .field("max_attempts", &self.max_attempts)
            .finish_non_exhaustive()
    }
}

/// Settings that no consumer can be built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    // Never empty.
    problems: Vec<BuildErrorKind>,
}

/// One problem with the settings of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// The number of attempts is not within 1 and 2³¹−1.
    InvalidMaxAttempts(u32),
    /// A failure could neither be published again nor given back so that it is counted: give a client or
    /// a retry producer, or use a Shared or Key_Shared subscription.
    RetryProducerRequired,
    /// A handler was registered for a blank URN.
    BlankUrn,
}

impl BuildError {
    /// The first problem.
    #[must_use]
    pub fn kind(&self) -> BuildErrorKind {
        self.problems[0]
    }

    /// All problems, in the order of the checks.
    #[must_use]
    pub fn problems(&self) -> &[BuildErrorKind] {
        &self.problems
    }
}

impl fmt::Display for BuildErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidMaxAttempts(n) => write!(f, "max_attempts is {n}, must be from 1 to {}", i32::MAX),
            Self::RetryProducerRequired => f.write_str(
                "a retry needs a client or a retry producer, or a subscription declared Shared or Key_Shared",
            ),
            Self::BlankUrn => f.write_str("a handler is registered for a blank URN"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl Error for BuildError {}
