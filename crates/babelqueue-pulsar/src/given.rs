//! Consuming from a subscription and with producers that the user opened and keeps.

use std::sync::Arc;

use babelqueue::{BuildError, ConsumerBuilder};
use pulsar_tokio::{Client, Producer};

use crate::Consumer;
use crate::producers::Producers;
use crate::pulsar::Pulsar;
use crate::transport::{PulsarTransport, Target, Writer};

/// A subscription that the user opened, with what a consumer on it may use.
///
/// What is handed over stays the user's: closing the consumer closes only the retry producers that
/// it made itself. The subscription knows its type, so none has to be declared.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use babelqueue_pulsar::{Consumer, GivenSubscription};
/// # use babelqueue_pulsar::pulsar_tokio::{Client, SubscriptionType};
/// # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("pulsar://localhost:6650")?;
/// let subscription =
///     client.consumer("orders", "billing").subscription_type(SubscriptionType::Shared).open().await?;
/// let dead_letters = Arc::new(client.producer("orders.dlq").open().await?);
///
/// let consumer = GivenSubscription::new(subscription)
///     .client(&client)
///     .dead_letter_producer(dead_letters)
///     .build(Consumer::builder())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is consumed before `build`"]
pub struct GivenSubscription {
    transport: PulsarTransport,
    retry_producer: Option<Arc<Producer>>,
    client: Option<Client>,
}

impl GivenSubscription {
    /// Consumes from this subscription.
    pub fn new(subscription: impl Into<Arc<pulsar_tokio::Consumer>>) -> Self {
        Self {
            transport: PulsarTransport::new(subscription.into()),
            retry_producer: None,
            client: None,
        }
    }

    /// Lets the consumer make a producer for retries, on the topic that the message came from, when the
    /// first retry needs it; one for each topic.
    pub fn client(self, client: &Client) -> Self {
        Self {
            client: Some(client.clone()),
            ..self
        }
    }

    /// Sends every retry through this producer, to its topic, and makes none.
    pub fn retry_producer(self, producer: impl Into<Arc<Producer>>) -> Self {
        Self {
            retry_producer: Some(producer.into()),
            ..self
        }
    }

    /// Sends exhausted and poison messages through this producer. Its topic is neither made nor
    /// checked; without a subscription or a retention policy it keeps nothing.
    pub fn dead_letter_producer(mut self, producer: impl Into<Arc<Producer>>) -> Self {
        self.transport.dead_letter = Writer::Given(producer.into());
        self
    }

    /// Makes the consumer. Without a client and a retry producer a failed message is given back to
    /// the broker instead of being published again; only `Shared` and `Key_Shared` count that, so
    /// other types are refused.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] with everything that is wrong with the settings.
    pub fn build(mut self, builder: ConsumerBuilder) -> Result<Consumer, BuildError> {
        match (self.retry_producer, self.client) {
            (Some(producer), _) => self.transport.retry = Writer::Given(producer),
            (None, Some(client)) => {
                self.transport.retry = Writer::Own {
                    topic: Target::Work,
                    initial_subscription: None,
                };
                self.transport.producers = Some(Producers::new(Pulsar::from_client(client)));
            }
            (None, None) => {}
        }
        builder.build(self.transport)
    }
}
