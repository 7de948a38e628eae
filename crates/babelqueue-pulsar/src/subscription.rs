//! Consuming with everything opened and owned by us.

use std::sync::Arc;

use babelqueue::{Capabilities, ConsumerBuilder, Redelivery};
use pulsar_tokio::{InitialPosition, SubscriptionType, Topics};

use crate::Consumer;
use crate::open_error::OpenError;
use crate::producers::Producers;
use crate::pulsar::Pulsar;
use crate::topic::dead_letter_topic;
use crate::transport::{PulsarTransport, Target, Writer};

/// The subscription that keeps the records of a dead-letter topic until somebody looks at them.
pub const DEAD_LETTER_SUBSCRIPTION: &str = "babelqueue-dlq";

/// A subscription to be opened together with all that a consumer on it needs.
///
/// The consumer owns what is opened here; [`Consumer::close`] closes it.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct Subscription {
    pulsar: Pulsar,
    topics: Topics,
    name: String,
    subscription_type: SubscriptionType,
    initial_position: InitialPosition,
    receive_window: u32,
    receive_window_bytes: Option<u64>,
    dead_letters: Option<DeadLetters>,
}

#[derive(Clone, Debug)]
struct DeadLetters {
    topic: Option<String>,
}

impl Subscription {
    pub(crate) fn new(pulsar: Pulsar, topics: Topics, name: &str) -> Self {
        Self {
            pulsar,
            topics,
            name: name.to_owned(),
            subscription_type: SubscriptionType::Exclusive,
            initial_position: InitialPosition::Latest,
            receive_window: 1_000,
            receive_window_bytes: None,
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

    /// How many bytes the messages may have that the broker sends ahead of their handling, on all partitions together.
    /// Default 64 MiB; see [`pulsar_tokio::ConsumerBuilder::receive_window_bytes`] for how exact that is.
    pub fn receive_window_bytes(self, bytes: u64) -> Self {
        Self {
            receive_window_bytes: Some(bytes),
            ..self
        }
    }

    /// Writes exhausted and poison messages to `<topic>.dlq` of the topic that they came from, and sees to it that the subscription
    /// [`DEAD_LETTER_SUBSCRIPTION`] keeps them: a topic without a subscription keeps nothing.
    pub fn dead_letters(self) -> Self {
        Self {
            dead_letters: Some(DeadLetters { topic: None }),
            ..self
        }
    }

    /// Like [`dead_letters`](Self::dead_letters), to a topic of your choice for all of them.
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
        self.open_dead_letters(&producers).await?;
        let mut opening = self
            .pulsar
            .client()
            .consumer(self.topics.clone(), &self.name)
            .subscription_type(self.subscription_type)
            .initial_position(self.initial_position)
            .receive_window(self.receive_window);
        if let Some(bytes) = self.receive_window_bytes {
            opening = opening.receive_window_bytes(bytes);
        }
        let subscription = opening.open().await.map_err(|error| {
            OpenError::pulsar(&format!("subscribe to {} as {:?}", self.topics, self.name), error)
        })?;
        let mut transport = PulsarTransport::new(Arc::new(subscription));
        transport.owned = true;
        transport.retry = Writer::Own {
            topic: Target::Work,
            initial_subscription: None,
        };
        transport.dead_letter = self.dead_letter_writer();
        transport.producers = Some(producers);
        builder.build(transport).map_err(OpenError::settings)
    }

    /// Opens the dead-letter topics that are known already; those of topics that a pattern finds, when they are needed.
    async fn open_dead_letters(&self, producers: &Producers) -> Result<(), OpenError> {
        let topics: Vec<Arc<str>> = match &self.dead_letters {
            None => return Ok(()),
            Some(DeadLetters { topic: Some(topic) }) => vec![topic.as_str().into()],
            Some(DeadLetters { topic: None }) => {
                let names = self.topics.names().iter();
                names.map(|topic| dead_letter_topic(topic).into()).collect()
            }
        };
        for topic in &topics {
            let opened = producers.to(topic, Some(DEAD_LETTER_SUBSCRIPTION)).await;
            opened.map_err(|error| OpenError::pulsar(&format!("write dead letters to {topic}"), error))?;
        }
        Ok(())
    }

    fn dead_letter_writer(&self) -> Writer {
        match &self.dead_letters {
            None => Writer::None,
            Some(dead_letters) => Writer::Own {
                topic: match &dead_letters.topic {
                    Some(topic) => Target::Fixed(topic.as_str().into()),
                    None => Target::DeadLetter,
                },
                initial_subscription: Some(DEAD_LETTER_SUBSCRIPTION.into()),
            },
        }
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
