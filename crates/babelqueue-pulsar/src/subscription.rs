//! Consuming with everything opened and owned by us.

use std::sync::Arc;

use babelqueue::{Capabilities, ConsumerBuilder, Redelivery};
use pulsar_tokio::{InitialPosition, SubscriptionType};

use crate::Consumer;
use crate::open_error::OpenError;
use crate::producers::Producers;
use crate::pulsar::Pulsar;
use crate::topic::dead_letter_topic;
use crate::transport::{PulsarTransport, Writer};

/// The subscription that keeps the records of a dead-letter topic until somebody looks at them.
pub const DEAD_LETTER_SUBSCRIPTION: &str = "babelqueue-dlq";

/// A subscription to be opened together with all that a consumer on it needs.
///
/// The consumer owns what is opened here; [`Consumer::close`] closes it.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct Subscription {
    pulsar: Pulsar,
    topic: String,
    name: String,
    subscription_type: SubscriptionType,
    initial_position: InitialPosition,
    receive_window: u32,
    dead_letters: Option<DeadLetters>,
}

#[derive(Clone, Debug)]
struct DeadLetters {
    topic: Option<String>,
}

impl Subscription {
    pub(crate) fn new(pulsar: Pulsar, topic: &str, name: &str) -> Self {
        Self {
            pulsar,
            topic: topic.to_owned(),
            name: name.to_owned(),
            subscription_type: SubscriptionType::Exclusive,
            initial_position: InitialPosition::Latest,
            receive_window: 1_000,
            dead_letters: None,
        }
    }

    /// How messages are divided among the consumers of the subscription. Default `Exclusive`.
    pub fn subscription_type(self, subscription_type: SubscriptionType) -> Self {
        Self {
            subscription_type,
            ..self
        }
    }

    /// Where the subscription begins if it is new. The default is Pulsar's, `Latest`: what was
    /// published before is not seen.
    pub fn initial_position(self, initial_position: InitialPosition) -> Self {
        Self {
            initial_position,
            ..self
        }
    }

    /// How many messages the broker may send ahead of their handling, on each partition. Default 1,000.
    pub fn receive_window(self, receive_window: u32) -> Self {
        Self {
            receive_window,
            ..self
        }
    }

    /// Writes exhausted and poison messages to `<topic>.dlq`, and sees to it that the subscription
    /// [`DEAD_LETTER_SUBSCRIPTION`] keeps them: a topic without a subscription keeps nothing.
    pub fn dead_letters(self) -> Self {
        Self {
            dead_letters: Some(DeadLetters { topic: None }),
            ..self
        }
    }

    /// Like [`dead_letters`](Self::dead_letters), to a topic of your choice.
    pub fn dead_letters_to(self, topic: impl Into<String>) -> Self {
        Self {
            dead_letters: Some(DeadLetters {
                topic: Some(topic.into()),
            }),
            ..self
        }
    }

    /// Opens the subscription and the dead-letter topic and makes the consumer. The producer for
    /// retries is opened when the first retry needs it.
    ///
    /// # Errors
    ///
    /// The settings cannot work (nothing is opened then), or the broker cannot be reached or refuses.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    pub async fn open(self, builder: ConsumerBuilder) -> Result<Consumer, OpenError> {
        builder.check(self.capabilities()).map_err(OpenError::settings)?;
        let producers = Producers::new(self.pulsar.clone());
        let dead_letter = match &self.dead_letters {
            Some(dead_letters) => self.open_dead_letters(dead_letters, &producers).await?,
            None => Writer::None,
        };
        let subscription = self
            .pulsar
            .client()
            .consumer(&self.topic, &self.name)
            .subscription_type(self.subscription_type)
            .initial_position(self.initial_position)
            .receive_window(self.receive_window)
            .open()
            .await
            .map_err(|error| {
                OpenError::pulsar(&format!("subscribe to {} as {:?}", self.topic, self.name), error)
            })?;
        let mut transport = PulsarTransport::new(Arc::new(subscription));
        transport.owned = true;
        transport.retry = Writer::Own {
            topic: transport.work_topic.clone(),
            initial_subscription: None,
        };
        transport.dead_letter = dead_letter;
        transport.producers = Some(producers);
        builder.build(transport).map_err(OpenError::settings)
    }

    async fn open_dead_letters(
        &self,
        dead_letters: &DeadLetters,
        producers: &Producers,
    ) -> Result<Writer, OpenError> {
        let topic: Arc<str> = match &dead_letters.topic {
            Some(topic) => topic.as_str().into(),
            None => dead_letter_topic(&self.topic).into(),
        };
        producers
            .to(&topic, Some(DEAD_LETTER_SUBSCRIPTION))
            .await
            .map_err(|error| OpenError::pulsar(&format!("write dead letters to {topic}"), error))?;
        Ok(Writer::Own {
            topic,
            initial_subscription: Some(DEAD_LETTER_SUBSCRIPTION.into()),
        })
    }

    fn capabilities(&self) -> Capabilities {
        let redelivery = if self.subscription_type.redelivers_singly() {
            Redelivery::Counted
        } else {
            Redelivery::Rewind
        };
        Capabilities::new(redelivery)
            .with_retry(true)
            .with_dead_letter(self.dead_letters.is_some())
    }
}
