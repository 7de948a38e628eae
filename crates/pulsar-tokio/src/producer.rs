//! What users hold to send: a producer on a topic or on all of its partitions.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pulsar_wire::{Command, MessageFrame};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::client::Client;
use crate::endpoint::{After, Endpoint, Guard, Health, Machine};
use crate::error::{Error, ErrorKind};
use crate::link::{Kind, Link};
use crate::lookup::{Target, unexpected};
use crate::message::{NewMessage, Stored};
use crate::pool::Role;
use crate::session::attach::Attach;
use crate::session::producer as session;
use crate::topic::{TopicName, partition_of_key};

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

    /// How many bytes of payloads and properties may wait for their receipts. Default 64 MiB. A
    /// larger message is sent alone.
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
        let topic = TopicName::parse(&self.topic)?;
        let partitions = self.client.0.partitions(&topic, Role::Publish).await?;
        let room = Arc::new(Room {
            messages: Semaphore::new(self.max_pending as usize),
            bytes: Semaphore::new(self.max_pending_bytes as usize),
            max_bytes: self.max_pending_bytes,
        });
        let mut parts = Vec::with_capacity(partitions.max(1) as usize);
        if partitions == 0 {
            parts.push(self.open_part(&topic).await?);
        }
        for index in 0..partitions {
            parts.push(self.open_part(&topic.partition(index)).await?);
        }
        Ok(Producer {
            topic,
            parts,
            room,
            next: AtomicU32::new(rand::random_range(0..u32::MAX)),
        })
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

/// Sends messages to a topic.
///
/// Usable from many tasks at once through `&self`; messages leave in the order of the calls. What
/// has no receipt yet survives lost connections: it is sent again, in order. Dropping a producer
/// closes it in the background; [`Producer::close`] waits for what is pending.
pub struct Producer {
    topic: TopicName,
    parts: Vec<Guard<Sending>>,
    room: Arc<Room>,
    next: AtomicU32,
}

type Sending = session::Producer<Waiting>;

/// Bounds on what waits for its receipt.
struct Room {
    messages: Semaphore,
    bytes: Semaphore,
    max_bytes: u32,
}

impl Room {
    fn cost(&self, message: &NewMessage) -> u32 {
        let properties: usize = message
            .properties
            .iter()
            .map(|pair| pair.key.len() + pair.value.len())
            .sum();
        u32::try_from(message.payload.len() + properties)
            .unwrap_or(u32::MAX)
            .min(self.max_bytes)
    }
}

/// Who waits for a receipt, and the room that the message takes until then.
pub(crate) struct Waiting {
    receipt: Option<oneshot::Sender<Result<Stored, Error>>>,
    room: Arc<Room>,
    bytes: u32,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.room.messages.add_permits(1);
        self.room.bytes.add_permits(self.bytes as usize);
    }
}

/// There was no room; the message is handed back.
#[derive(Debug)]
pub struct Full(pub NewMessage);

impl Producer {
    /// The topic, without a partition.
    #[must_use]
    pub fn topic(&self) -> &TopicName {
        &self.topic
    }

    /// How many partitions are sent to, 1 for a topic without partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.parts.len()
    }

    /// Sends a message and waits for its receipt.
    ///
    /// # Errors
    ///
    /// The message is too large, the broker refused it, or its time ran out. With
    /// [`Error::is_ambiguous`] it may be stored all the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future before there is room sends nothing; afterwards the message is sent and
    /// only its receipt is lost.
    pub async fn send(&self, message: NewMessage) -> Result<Stored, Error> {
        self.enqueue(message).await?.await
    }

    /// Takes a message as soon as there is room, and hands out its receipt as a future.
    ///
    /// # Errors
    ///
    /// The message was not taken: it is too large, or the producer has ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future sends nothing.
    pub async fn enqueue(&self, message: NewMessage) -> Result<Receipt, Error> {
        let bytes = self.room.cost(&message);
        let closed = |_| {
            Error::new(
                ErrorKind::Closed,
                format!("the producer on {} is closed", self.topic),
            )
        };
        let place = self.room.messages.acquire().await.map_err(closed)?;
        let space = self.room.bytes.acquire_many(bytes).await.map_err(closed)?;
        place.forget();
        space.forget();
        self.push(message, bytes)
    }

    /// Takes a message at once, or hands it back when there is no room.
    ///
    /// # Errors
    ///
    /// As [`Producer::enqueue`].
    #[expect(
        clippy::result_large_err,
        reason = "the message goes back as it came; a box would cost more"
    )]
    pub fn try_enqueue(&self, message: NewMessage) -> Result<Result<Receipt, Error>, Full> {
        let bytes = self.room.cost(&message);
        let Ok(place) = self.room.messages.try_acquire() else {
            return Err(Full(message));
        };
        let Ok(space) = self.room.bytes.try_acquire_many(bytes) else {
            return Err(Full(message));
        };
        place.forget();
        space.forget();
        Ok(self.push(message, bytes))
    }

    fn push(&self, message: NewMessage, bytes: u32) -> Result<Receipt, Error> {
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting {
            receipt: Some(sender),
            room: self.room.clone(),
            bytes,
        };
        let part = &self.parts[self.part_of(&message)];
        part.with(|machine, now| machine.send(now, now_ms(), message, waiting))
            .map_err(|(_, error)| error)?;
        Ok(Receipt { receiver })
    }

    fn part_of(&self, message: &NewMessage) -> usize {
        let Ok(partitions @ 2..) = u32::try_from(self.parts.len()) else {
            return 0;
        };
        let index = match &message.key {
            Some(key) => partition_of_key(&String::from_utf8_lossy(&key.text), partitions),
            None => self.next.fetch_add(1, Ordering::Relaxed) % partitions,
        };
        index as usize
    }

    /// How the producer is: as bad as the worst of its partitions.
    #[must_use]
    pub fn health(&self) -> Health {
        let healths = || self.parts.iter().map(|part| part.health());
        healths()
            .find(|health| *health != Health::Open)
            .unwrap_or(Health::Open)
    }

    /// Why a session ended that has no successor yet, on any partition.
    #[must_use]
    pub fn last_error(&self) -> Option<Error> {
        self.parts
            .iter()
            .find_map(|part| part.with(|machine, _| machine.attach.last_error().cloned()))
    }

    /// How many messages wait for their receipts.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.parts
            .iter()
            .map(|part| part.with(|machine, _| machine.pending()))
            .sum()
    }

    /// The name under which the broker knows the producer of the first partition.
    #[must_use]
    pub fn name(&self) -> String {
        self.parts
            .first()
            .map(|part| part.with(|machine, _| machine.name()))
            .unwrap_or_default()
    }

    /// Takes nothing more, waits for the receipts of what is pending, and closes; at most for
    /// `patience`. What is pending then fails as ambiguous.
    pub async fn close(&self, patience: Duration) {
        for part in &self.parts {
            part.close_soon(patience);
        }
        for part in &self.parts {
            part.close(patience).await;
        }
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("topic", &self.topic)
            .field("partitions", &self.parts.len())
            .finish()
    }
}

/// The receipt of one message, to come.
///
/// Dropping it changes nothing: the message is sent all the same.
#[derive(Debug)]
#[must_use = "a message counts as sent only with its receipt"]
pub struct Receipt {
    receiver: oneshot::Receiver<Result<Stored, Error>>,
}

impl Future for Receipt {
    type Output = Result<Stored, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context).map(|result| {
            result.unwrap_or_else(|_| {
                Err(Error::ambiguous(
                    ErrorKind::Closed,
                    "the producer went away before the receipt",
                ))
            })
        })
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

impl Machine for Sending {
    const ROLE: Role = Role::Publish;
    const KIND: Kind = Kind::Producer;

    fn attach(&mut self) -> &mut Attach {
        &mut self.attach
    }

    fn id(&self) -> u64 {
        Self::id(self)
    }

    fn open(&mut self, _fresh: u64, request_id: u64, link: &Link) {
        Self::open(self, request_id, link.max_message_size());
    }

    fn answer(&mut self, now: Instant, chance: f64, command: Command) -> After {
        match command {
            Command::ProducerSuccess(success) => self.opened(success.request_id, &success),
            other => {
                let request_id = other.request_id().unwrap_or_default();
                self.refused(request_id, now, chance, &unexpected(&other, "PRODUCER"));
            }
        }
        After::Nothing
    }

    fn command(&mut self, now: Instant, chance: f64, command: Command, _: Option<MessageFrame>) -> After {
        let after = match &command {
            Command::SendReceipt(receipt) => self.receipt(now, chance, receipt),
            Command::SendError(error) => self.send_error(now, chance, error),
            Command::CloseProducer(close) => {
                return After::Closed(close.assigned_broker_service_url.clone());
            }
            _ => session::After::Fine,
        };
        match after {
            session::After::Fine => After::Nothing,
            session::After::Reopen => After::Leave,
        }
    }

    fn session_over(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error) {
        Self::session_over(self, now, chance, target, &error);
    }

    fn on_time(&mut self, now: Instant) {
        self.timed_out(now);
    }

    fn inquire(&mut self, _: Instant, _: impl FnOnce() -> Option<u64>) {}

    fn next_time(&self) -> Option<Instant> {
        self.next_deadline()
    }

    fn close(&mut self) {
        Self::close(self);
    }

    fn is_drained(&self) -> bool {
        self.pending() == 0
    }

    fn close_command(&mut self, request_id: u64) {
        Self::close_command(self, request_id);
    }

    fn end(&mut self) {
        Self::end(self);
    }

    fn frames(&mut self) -> &mut Vec<Bytes> {
        &mut self.out
    }

    fn tell(&mut self) {
        for (mut waiting, result) in self.done.drain(..) {
            if let Some(receipt) = waiting.receipt.take() {
                // Whoever dropped the receipt does not want to know.
                let _ = receipt.send(result);
            }
        }
    }
}
