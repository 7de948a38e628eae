//! With what a consumer is opened.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pulsar_wire::proto::{self, SubType};
use tokio::sync::Notify;

use super::{Consumer, Cutting, Part};
use crate::client::Client;
use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::pool::Role;
use crate::session::attach::Attach;
use crate::session::consumer as session;
use crate::topic::TopicName;

/// How a subscription divides its messages among its consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubscriptionType {
    /// One consumer gets everything, in order; a second one is refused.
    #[default]
    Exclusive,
    /// One consumer at a time gets everything, in order; others stand by.
    Failover,
    /// Each message goes to one of the consumers.
    Shared,
    /// Messages of one key go to one consumer, in order.
    KeyShared,
}

impl SubscriptionType {
    /// True where the broker delivers single messages again and counts how often.
    #[must_use]
    pub fn redelivers_singly(self) -> bool {
        matches!(self, Self::Shared | Self::KeyShared)
    }
}

impl fmt::Display for SubscriptionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclusive => "Exclusive",
            Self::Failover => "Failover",
            Self::Shared => "Shared",
            Self::KeyShared => "Key_Shared",
        })
    }
}

/// Where a subscription begins when it is made. One that exists goes on where it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InitialPosition {
    /// Behind the last message: only what is published from now on. As in Pulsar, the default.
    #[default]
    Latest,
    /// At the first message that the topic still has.
    Earliest,
}

/// Settings of a [`Consumer`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ConsumerBuilder {
    client: Client,
    topic: String,
    subscription: String,
    subscription_type: SubscriptionType,
    initial_position: InitialPosition,
    name: Option<String>,
    window: u32,
    nack_delay: Duration,
    stall_check: Duration,
}

impl ConsumerBuilder {
    pub(crate) fn new(client: Client, topic: &str, subscription: &str) -> Self {
        Self {
            client,
            topic: topic.to_owned(),
            subscription: subscription.to_owned(),
            subscription_type: SubscriptionType::default(),
            initial_position: InitialPosition::default(),
            name: None,
            window: 1_000,
            nack_delay: Duration::from_secs(1),
            stall_check: Duration::from_secs(30),
        }
    }

    /// How messages are divided among consumers. Default: `Exclusive`.
    pub fn subscription_type(mut self, subscription_type: SubscriptionType) -> Self {
        self.subscription_type = subscription_type;
        self
    }

    /// Where a new subscription begins. Default: `Latest`.
    pub fn initial_position(mut self, position: InitialPosition) -> Self {
        self.initial_position = position;
        self
    }

    /// The consumer's name in the broker's statistics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How many messages may be received and not yet settled, on each partition. Default 1,000.
    pub fn receive_window(mut self, messages: u32) -> Self {
        self.window = messages;
        self
    }

    /// How long after a nack the broker is asked for the message again. Default 1 s.
    pub fn nack_delay(mut self, delay: Duration) -> Self {
        self.nack_delay = delay;
        self
    }

    /// After how long without an arrival the broker is asked whether it has the permits that it
    /// should have. When it twice has none, the session is replaced by a new one and
    /// [`ConsumerStats::stalls_cured`](super::ConsumerStats::stalls_cured) goes up. Default 30 s.
    pub fn stall_check(mut self, interval: Duration) -> Self {
        self.stall_check = interval;
        self
    }

    /// Opens the consumer, on every partition where the topic has partitions.
    ///
    /// # Errors
    ///
    /// The topic cannot be reached, or the broker refuses: an `Exclusive` subscription that has a
    /// consumer already gives [`ErrorKind::Refused`] with `ConsumerBusy`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    pub async fn open(self) -> Result<Consumer, Error> {
        let invalid = |text: &str| Err(Error::new(ErrorKind::InvalidOption, text));
        if self.subscription.trim().is_empty() {
            return invalid("the subscription name is blank");
        }
        if self.window == 0 {
            return invalid("receive_window is 0, expected at least 1");
        }
        if self.stall_check.is_zero() {
            return invalid("stall_check is zero, expected some time");
        }
        let topic = TopicName::parse(&self.topic)?;
        let partitions = self.client.0.partitions(&topic, Role::Consume).await?;
        let ready = Arc::new(Notify::new());
        let mut parts = Vec::with_capacity(partitions.max(1) as usize);
        if partitions == 0 {
            parts.push(self.open_part(&topic, &ready).await?);
        }
        for index in 0..partitions {
            parts.push(self.open_part(&topic.partition(index), &ready).await?);
        }
        let cutting = Mutex::new(Cutting {
            cuts: parts.iter().map(|_| None).collect(),
            turn: 0,
        });
        Ok(Consumer {
            topic,
            subscription: self.subscription,
            subscription_type: self.subscription_type,
            is_partitioned: partitions > 0,
            parts,
            ready,
            cutting,
        })
    }

    async fn open_part(&self, topic: &TopicName, ready: &Arc<Notify>) -> Result<Part, Error> {
        let setup = session::ConsumerSetup {
            topic: topic.as_str().to_owned(),
            subscription: self.subscription.clone(),
            sub_type: match self.subscription_type {
                SubscriptionType::Exclusive => SubType::Exclusive,
                SubscriptionType::Failover => SubType::Failover,
                SubscriptionType::Shared => SubType::Shared,
                SubscriptionType::KeyShared => SubType::KeyShared,
            },
            name: self.name.clone(),
            initial_position: match self.initial_position {
                InitialPosition::Latest => proto::InitialPosition::Latest,
                InitialPosition::Earliest => proto::InitialPosition::Earliest,
            },
            properties: Vec::new(),
            window: self.window,
            nack_delay: self.nack_delay,
            stall_check: self.stall_check,
            partition: topic.partition_index(),
        };
        let name = topic.as_str().to_owned();
        let endpoint = Endpoint::open(self.client.0.clone(), name, ready.clone(), |attach: Attach| {
            session::Consumer::new(setup, attach)
        })
        .await?;
        Ok(Part {
            topic: topic.as_str().into(),
            endpoint,
        })
    }
}
