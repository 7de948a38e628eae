//! With what a producer is opened.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use pulsar_wire::compression::Codec;
use tokio::sync::{Notify, Semaphore};

use super::{Parts, Producer, Room, Sending, growth};
use crate::background::Background;
use crate::client::Client;
use crate::endpoint::{Endpoint, Guard};
use crate::error::{Error, ErrorKind};
use crate::pool::Role;
use crate::session::attach::Attach;
use crate::session::producer as session;
use crate::topic::TopicName;

/// How payloads are compressed. What does not get smaller is sent as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Quick, and read by every client.
    Lz4,
    /// Read by every client.
    Zlib,
    /// The smallest results at a good speed.
    Zstd,
    /// Quick; Go's client cannot read it.
    Snappy,
}

impl Compression {
    fn codec(self) -> Codec {
        match self {
            Self::None => Codec::None,
            Self::Lz4 => Codec::Lz4,
            Self::Zlib => Codec::Zlib,
            Self::Zstd => Codec::Zstd,
            Self::Snappy => Codec::Snappy,
        }
    }
}

/// When messages are put together into batches, and how large those get.
///
/// A batch holds messages of one key only, so that `Key_Shared` subscriptions can tell where it
/// belongs; messages without a key share batches. Messages of one key stay in order. A message
/// that finds nothing on its way leaves at once; what comes meanwhile is gathered and leaves with
/// the last outstanding receipt, when its batch is full, or when its time is over. Delayed
/// messages are never batched, since a batch has one time of delivery only.
///
/// ```
/// # use pulsar_tokio::Batching;
/// # use std::time::Duration;
/// let batching = Batching::new().max_messages(100).max_delay(Duration::from_millis(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Batching(pub(super) session::Batching);

impl Batching {
    /// At most 1,000 messages or 128 KiB in a batch, gathered for at most 10 ms.
    pub fn new() -> Self {
        Self(session::Batching {
            max_messages: 1_000,
            max_bytes: 128 << 10,
            max_delay: Duration::from_millis(10),
        })
    }

    /// How many messages a batch holds at most.
    pub fn max_messages(mut self, messages: u32) -> Self {
        self.0.max_messages = messages;
        self
    }

    /// How many bytes a batch has at most, before compression. A larger message is sent alone.
    pub fn max_bytes(mut self, bytes: u32) -> Self {
        self.0.max_bytes = bytes as usize;
        self
    }

    /// How long a message waits at most for others.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.0.max_delay = delay;
        self
    }
}

impl Default for Batching {
    fn default() -> Self {
        Self::new()
    }
}

/// Settings of a [`Producer`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ProducerBuilder {
    client: Client,
    topic: String,
    name: Option<String>,
    initial_subscription: Option<String>,
    max_pending: u32,
    max_pending_bytes: u32,
    send_timeout: Duration,
    compression: Compression,
    batching: Option<Batching>,
    pub(super) partition_check: Duration,
}

impl ProducerBuilder {
    pub(crate) fn new(client: Client, topic: &str) -> Self {
        Self {
            client,
            topic: topic.to_owned(),
            name: None,
            initial_subscription: None,
            max_pending: 500,
            max_pending_bytes: 64 << 20,
            send_timeout: Duration::from_secs(30),
            compression: Compression::None,
            batching: None,
            partition_check: Duration::from_secs(60),
        }
    }

    /// The producer's name. By default the broker gives one, which is kept over reconnects.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes sure that this subscription is there before the first message. Without any
    /// subscription a topic keeps nothing, so a dead-letter topic wants one.
    pub fn initial_subscription(mut self, name: impl Into<String>) -> Self {
        self.initial_subscription = Some(name.into());
        self
    }

    /// How many messages may wait for their receipts before sending has to wait. Default 500.
    pub fn max_pending(mut self, messages: u32) -> Self {
        self.max_pending = messages;
        self
    }

    /// How much memory messages may take that wait for their receipts, on all partitions together: their content and 256
    /// bytes each. Default 64 MiB. A larger message is sent alone. A large payload is not copied, a compressed one is held
    /// compressed.
    pub fn max_pending_bytes(mut self, bytes: u32) -> Self {
        self.max_pending_bytes = bytes;
        self
    }

    /// How long a message may wait for its receipt, reconnects included. Default 30 s; zero means
    /// for ever.
    pub fn send_timeout(mut self, timeout: Duration) -> Self {
        self.send_timeout = timeout;
        self
    }

    /// How payloads are compressed. Default: not at all.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Puts messages together into batches. By default each is sent alone.
    pub fn batching(mut self, batching: Batching) -> Self {
        self.batching = Some(batching);
        self
    }

    /// How often at least a topic with partitions is asked whether it has got more. Default 60 s.
    pub fn partition_check(mut self, interval: Duration) -> Self {
        self.partition_check = interval;
        self
    }

    /// Opens the producer, on every partition where the topic has partitions.
    ///
    /// # Errors
    ///
    /// The topic cannot be reached or the broker refuses; the error says which.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    pub async fn open(self) -> Result<Producer, Error> {
        let invalid = |text: &str| Err(Error::new(ErrorKind::InvalidOption, text));
        if self.max_pending == 0 {
            return invalid("max_pending is 0, expected at least 1");
        }
        if self.max_pending_bytes == 0 {
            return invalid("max_pending_bytes is 0, expected at least 1");
        }
        if self.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return invalid("the producer name is blank");
        }
        if self.partition_check.is_zero() {
            return invalid("partition_check is zero, expected some time");
        }
        if let Some(Batching(batching)) = self.batching
            && (batching.max_messages == 0 || batching.max_bytes == 0)
        {
            return invalid("a batch of 0 messages or bytes holds nothing, expected at least 1");
        }
        let topic = TopicName::parse(&self.topic)?;
        let partitions = self.partitions(&topic).await?;
        let room = Arc::new(Room {
            messages: Semaphore::new(self.max_pending as usize),
            bytes: Semaphore::new(self.max_pending_bytes as usize),
            max_bytes: self.max_pending_bytes,
        });
        let parts = if partitions == 0 {
            vec![self.open_part(&topic).await?]
        } else {
            self.open_partitions(&topic, 0..partitions).await?
        };
        let parts = Arc::new(Parts::holding(parts));
        let growth = (partitions > 0)
            .then(|| Background::spawn(growth::follow(self.clone(), topic.clone(), parts.clone())));
        let turn = self
            .batching
            .map(|Batching(batching)| batching.max_delay.as_millis());
        Ok(Producer {
            topic,
            parts,
            room,
            next: AtomicU32::new(rand::random_range(0..u32::MAX)),
            turn_ms: turn.map(|turn| u64::try_from(turn).unwrap_or(u64::MAX).max(1)),
            growth,
        })
    }

    /// What partitions the topic has now.
    pub(super) async fn partitions(&self, topic: &TopicName) -> Result<u32, Error> {
        self.client.0.partitions(topic, Role::Publish).await
    }

    /// Opens these partitions: all of them or none.
    pub(super) async fn open_partitions(
        &self,
        topic: &TopicName,
        range: Range<u32>,
    ) -> Result<Vec<Guard<Sending>>, Error> {
        let mut parts = Vec::with_capacity(range.len());
        for index in range {
            parts.push(self.open_part(&topic.partition(index)).await?);
        }
        Ok(parts)
    }

    async fn open_part(&self, topic: &TopicName) -> Result<Guard<Sending>, Error> {
        let setup = session::ProducerSetup {
            topic: topic.as_str().to_owned(),
            name: self.name.clone(),
            initial_subscription: self.initial_subscription.clone(),
            properties: Vec::new(),
            send_timeout: (!self.send_timeout.is_zero()).then_some(self.send_timeout),
            persistent: topic.is_persistent(),
            partition: topic.partition_index(),
            codec: self.compression.codec(),
            batching: self.batching.map(|Batching(batching)| batching),
        };
        let id = self.client.0.next_session_id();
        let name = topic.as_str().to_owned();
        Endpoint::open(
            self.client.0.clone(),
            name,
            Arc::new(Notify::new()),
            |attach: Attach| session::Producer::new(id, setup, attach),
        )
        .await
    }
}
