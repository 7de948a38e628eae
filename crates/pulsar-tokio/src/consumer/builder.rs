//! With what a consumer is opened.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use pulsar_wire::proto::{self, SubType};
use tokio::sync::Notify;

use super::Consumer;
use super::follow::follow;
use super::parts::{Part, Parts, Shared};
use crate::background::Background;
use crate::client::Client;
use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::pool::Role;
use crate::session::attach::Attach;
use crate::session::consumer as session;
use crate::session::consumer::{Kept, Position};
use crate::session::permits::Window;
use crate::topic::TopicName;
use crate::topics::{Topics, Wanted};

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
    pub(super) client: Client,
    topics: Topics,
    subscription: String,
    subscription_type: SubscriptionType,
    initial_position: InitialPosition,
    name: Option<String>,
    properties: Vec<(String, String)>,
    subscription_properties: Vec<(String, String)>,
    priority: Option<u16>,
    key_ranges: Vec<RangeInclusive<u16>>,
    window: Window,
    nack_delay: Duration,
    stall_check: Duration,
    pub(super) partition_check: Duration,
    kept: Kept,
}

impl ConsumerBuilder {
    pub(crate) fn new(client: Client, topics: Topics, subscription: &str) -> Self {
        Self {
            client,
            topics,
            subscription: subscription.to_owned(),
            subscription_type: SubscriptionType::default(),
            initial_position: InitialPosition::default(),
            name: None,
            properties: Vec::new(),
            subscription_properties: Vec::new(),
            priority: None,
            key_ranges: Vec::new(),
            window: Window {
                messages: 1_000,
                bytes: 64 << 20,
            },
            nack_delay: Duration::from_secs(1),
            stall_check: Duration::from_secs(30),
            partition_check: Duration::from_secs(60),
            kept: Kept::Durably,
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

    /// Adds a property of the consumer, which the broker's statistics show.
    pub fn property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.properties.push((key.into(), value.into()));
        self
    }

    /// Adds a property of the subscription. The broker keeps those of the consumer that makes the subscription.
    pub fn subscription_property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.subscription_properties.push((key.into(), value.into()));
        self
    }

    /// The consumer's place among others of the subscription; 0, the default, comes first. On `Shared` those of a higher
    /// number get messages while the ones before them have no permits left, on `Failover` they stand by for them.
    pub fn priority(mut self, level: u16) -> Self {
        self.priority = Some(level);
        self
    }

    /// Takes the keys of these ranges of hashes on a `Key_Shared` subscription, and leaves the others to consumers that
    /// name them; keys that nobody has named wait. By default the broker divides the keys among the consumers.
    pub fn key_ranges(mut self, ranges: impl IntoIterator<Item = RangeInclusive<u16>>) -> Self {
        self.key_ranges = ranges.into_iter().collect();
        self
    }

    /// How many messages may be received and not yet settled, on each partition. Default 1,000.
    pub fn receive_window(mut self, messages: u32) -> Self {
        self.window.messages = messages;
        self
    }

    /// How many bytes the messages that are received and not yet settled may have, divided among the topics and
    /// partitions that there are when the consumer is opened. Default 64 MiB.
    ///
    /// Brokers count messages and not bytes, so no more are asked for than fit by the size of those that came; before the
    /// first, by the broker's greatest size. Messages that were asked for while they were small may be large: at worst
    /// [`receive_window`](Self::receive_window) times the broker's greatest size (5 MiB by default) arrives at once. Where
    /// that must not be, lower the receive window.
    pub fn receive_window_bytes(mut self, bytes: u64) -> Self {
        self.window.bytes = bytes;
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

    /// Who remembers how far the subscription has come.
    pub(crate) fn kept(mut self, kept: Kept) -> Self {
        self.kept = kept;
        self
    }

    /// How often at least the broker is asked for new partitions, and for new and deleted topics where the topics are
    /// given by a pattern. Default 60 s. What was published to them before they were noticed is received too.
    pub fn partition_check(mut self, interval: Duration) -> Self {
        self.partition_check = interval;
        self
    }

    /// Opens the consumer, on every topic and every partition.
    ///
    /// # Errors
    ///
    /// A topic cannot be reached, or the broker refuses: an `Exclusive` subscription that has a
    /// consumer already gives [`ErrorKind::Refused`] with `ConsumerBusy`. Nothing stays open then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    pub async fn open(mut self) -> Result<Consumer, Error> {
        let invalid = |text: &str| Err(Error::new(ErrorKind::InvalidOption, text));
        if self.subscription.trim().is_empty() {
            return invalid("the subscription name is blank");
        }
        if self.window.messages == 0 || self.window.bytes == 0 {
            return invalid("receive_window is 0, expected at least 1");
        }
        if self.stall_check.is_zero() {
            return invalid("stall_check is zero, expected some time");
        }
        if self.partition_check.is_zero() {
            return invalid("partition_check is zero, expected some time");
        }
        self.check_key_ranges()?;
        let wanted = self.topics.parse()?;
        let ready = Arc::new(Notify::new());
        let mut names = Vec::new();
        for topic in self.topics_now(&wanted).await? {
            let parts = self.parts_now(&topic).await?;
            names.extend(parts.into_iter().map(|part| (topic.clone(), part)));
        }
        self.window.bytes = (self.window.bytes / names.len().max(1) as u64).max(1);
        let mut parts = Vec::with_capacity(names.len());
        for (topic, part) in names {
            let place = Place {
                position: self.initial_position,
                kept: self.kept,
                creates_topic: matches!(wanted, Wanted::Named(_)),
            };
            parts.push(self.open_part(&topic, &part, place, &ready).await?);
        }
        let changes = matches!(wanted, Wanted::Pattern(_)) || parts.iter().any(Part::is_partition);
        let shared = Arc::new(Shared {
            topics: self.topics.clone(),
            only: match &wanted {
                Wanted::Named(topics) if topics.len() == 1 => topics.first().cloned(),
                _ => None,
            },
            ends_with_a_part: matches!(wanted, Wanted::Named(_)),
            parts: RwLock::new(Parts::holding(parts)),
            ready,
            cutting: Mutex::default(),
        });
        let (subscription, subscription_type) = (self.subscription.clone(), self.subscription_type);
        let watch = changes.then(|| Background::spawn(follow(self, wanted, shared.clone())));
        Ok(Consumer {
            subscription,
            subscription_type,
            shared,
            watch,
        })
    }

    /// What there is was published after the subscription was wanted, so none of it may be skipped. And a topic that is
    /// deleted meanwhile must not come back by this.
    pub(super) fn place_of_new(&self) -> Place {
        Place {
            position: InitialPosition::Earliest,
            creates_topic: false,
            kept: match self.kept {
                Kept::Durably => Kept::Durably,
                Kept::ByUs(_) => Kept::ByUs(Position::Earliest),
            },
        }
    }

    fn check_key_ranges(&self) -> Result<(), Error> {
        let invalid = |text: String| Err(Error::new(ErrorKind::InvalidOption, text));
        if !self.key_ranges.is_empty() && self.subscription_type != SubscriptionType::KeyShared {
            return invalid(format!(
                "key_ranges on a {} subscription, expected Key_Shared",
                self.subscription_type
            ));
        }
        let mut sorted: Vec<_> = self.key_ranges.iter().collect();
        sorted.sort_by_key(|range| *range.start());
        if let Some(empty) = sorted.iter().find(|range| range.is_empty()) {
            return invalid(format!("the key range {empty:?} is empty"));
        }
        match sorted.windows(2).find(|pair| pair[0].end() >= pair[1].start()) {
            Some(pair) => invalid(format!("the key ranges {:?} and {:?} overlap", pair[0], pair[1])),
            None => Ok(()),
        }
    }

    /// The topics that there are now.
    pub(super) async fn topics_now(&self, wanted: &Wanted) -> Result<Vec<TopicName>, Error> {
        match wanted {
            Wanted::Named(topics) => Ok(topics.clone()),
            Wanted::Pattern(pattern) => Ok(pattern.pick(&self.client.0.topics_like(pattern).await?)),
        }
    }

    /// The partitions that a topic has now, or itself.
    pub(super) async fn parts_now(&self, topic: &TopicName) -> Result<Vec<TopicName>, Error> {
        Ok(match self.client.0.partitions(topic, Role::Consume).await? {
            0 => vec![topic.clone()],
            count => (0..count).map(|index| topic.partition(index)).collect(),
        })
    }

    pub(super) async fn open_part(
        &self,
        topic: &TopicName,
        part: &TopicName,
        place: Place,
        ready: &Arc<Notify>,
    ) -> Result<Part, Error> {
        let setup = session::ConsumerSetup {
            topic: part.as_str().to_owned(),
            subscription: self.subscription.clone(),
            sub_type: match self.subscription_type {
                SubscriptionType::Exclusive => SubType::Exclusive,
                SubscriptionType::Failover => SubType::Failover,
                SubscriptionType::Shared => SubType::Shared,
                SubscriptionType::KeyShared => SubType::KeyShared,
            },
            name: self.name.clone(),
            initial_position: match place.position {
                InitialPosition::Latest => proto::InitialPosition::Latest,
                InitialPosition::Earliest => proto::InitialPosition::Earliest,
            },
            properties: self.properties.clone(),
            subscription_properties: self.subscription_properties.clone(),
            priority: self.priority.map(i32::from),
            key_ranges: self.key_ranges.clone(),
            window: self.window,
            nack_delay: self.nack_delay,
            stall_check: self.stall_check,
            partition: part.partition_index(),
            creates_topic: place.creates_topic,
            kept: place.kept,
        };
        let name = part.as_str().to_owned();
        let endpoint = Endpoint::open(self.client.0.clone(), name, ready.clone(), |attach: Attach| {
            session::Consumer::new(setup, attach)
        })
        .await?;
        Ok(Part::new(part, topic, endpoint))
    }
}

/// Where a new subscription begins, and whether its topic may be made for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) position: InitialPosition,
    pub(super) creates_topic: bool,
    pub(super) kept: Kept,
}
