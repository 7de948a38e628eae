//! What users hold to send: a producer on a topic or on all of its partitions.

mod builder;
mod growth;
mod machine;

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

pub use self::builder::{Batching, Compression, ProducerBuilder};
use crate::background::Background;
use crate::endpoint::{Guard, Health};
use crate::error::{Error, ErrorKind};
use crate::message::{NewMessage, Stored};
use crate::session::producer as session;
use crate::topic::{TopicName, partition_of_key};

/// Sends messages to a topic.
///
/// Usable from many tasks at once through `&self`; messages leave in the order of the calls. What
/// has no receipt yet survives lost connections: it is sent again, in order. Dropping a producer
/// closes it in the background; [`Producer::close`] waits for what is pending.
///
/// Messages with a key go to the partition that Java's clients pick for it, the others to all partitions in turn;
/// with batching the turn lasts until a batch has had its time. A topic that gets more partitions is noticed within a
/// minute ([`ProducerBuilder::partition_check`]). Keys are spread anew then, so around that moment the order of a key's
/// messages is not kept.
pub struct Producer {
    topic: TopicName,
    parts: Arc<Parts>,
    room: Arc<Room>,
    next: AtomicU32,
    /// How long messages without a key go to the same partition, in milliseconds.
    turn_ms: Option<u64>,
    growth: Option<Background>,
}

/// The partitions that are sent to; there can be more of them at any time.
#[derive(Default)]
struct Parts {
    open: RwLock<Open>,
}

#[derive(Default)]
struct Open {
    parts: Vec<Guard<Sending>>,
    /// Takes no new ones.
    closing: bool,
}

impl Parts {
    fn read(&self) -> RwLockReadGuard<'_, Open> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Open> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }
}

type Sending = session::Producer<Waiting>;

/// Bounds on what waits for its receipt.
struct Room {
    messages: Semaphore,
    bytes: Semaphore,
    max_bytes: u32,
}

impl Room {
    /// What a message takes in memory until its receipt, whether it waits for others or is encoded already.
    fn cost(&self, message: &NewMessage) -> u32 {
        let properties: usize = message
            .properties
            .iter()
            .map(|pair| pair.key.len() + pair.value.len())
            .sum();
        let key = message.key.as_ref().map_or(0, |key| key.text.len());
        let ordering_key = message.ordering_key.as_ref().map_or(0, Bytes::len);
        u32::try_from(message.payload.len() + properties + key + ordering_key + OVERHEAD)
            .unwrap_or(u32::MAX)
            .min(self.max_bytes)
    }
}

/// What a message takes beside its content: its frame's head, and who waits for it.
const OVERHEAD: usize = 256;

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
        self.parts.read().parts.len()
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
        let now_ms = now_ms();
        let open = self.parts.read();
        let part = &open.parts[self.part_of(&message, now_ms, open.parts.len())];
        part.with(|machine, now| machine.send(now, now_ms, message, waiting))
            .map_err(|(_, error)| error)?;
        Ok(Receipt { receiver })
    }

    fn part_of(&self, message: &NewMessage, now_ms: u64, parts: usize) -> usize {
        let Ok(partitions @ 2..) = u32::try_from(parts) else {
            return 0;
        };
        let index = match (&message.key, self.turn_ms) {
            (Some(key), _) => partition_of_key(&String::from_utf8_lossy(&key.text), partitions),
            (None, None) => self.next.fetch_add(1, Ordering::Relaxed) % partitions,
            (None, Some(turn_ms)) => {
                let turn = u64::from(self.next.load(Ordering::Relaxed)) + now_ms / turn_ms;
                u32::try_from(turn % u64::from(partitions)).unwrap_or(0)
            }
        };
        index as usize
    }

    /// How the producer is: as bad as the worst of its partitions.
    #[must_use]
    pub fn health(&self) -> Health {
        let open = self.parts.read();
        let mut healths = open.parts.iter().map(|part| part.health());
        healths
            .find(|health| *health != Health::Open)
            .unwrap_or(Health::Open)
    }

    /// Why a session ended that has no successor yet, on any partition.
    #[must_use]
    pub fn last_error(&self) -> Option<Error> {
        let open = self.parts.read();
        open.parts
            .iter()
            .find_map(|part| part.with(|machine, _| machine.attach.last_error().cloned()))
    }

    /// How many messages wait for their receipts.
    #[must_use]
    pub fn pending(&self) -> usize {
        let open = self.parts.read();
        open.parts
            .iter()
            .map(|part| part.with(|machine, _| machine.pending()))
            .sum()
    }

    /// The name under which the broker knows the producer of the first partition.
    #[must_use]
    pub fn name(&self) -> String {
        let open = self.parts.read();
        open.parts
            .first()
            .map(|part| part.with(|machine, _| machine.name()))
            .unwrap_or_default()
    }

    /// Takes nothing more, waits for the receipts of what is pending, and closes; at most for
    /// `patience`. What is pending then fails as ambiguous.
    pub async fn close(&self, patience: Duration) {
        if let Some(growth) = &self.growth {
            growth.end();
        }
        let closed: Vec<_> = {
            let mut open = self.parts.write();
            open.closing = true;
            for part in &open.parts {
                part.close_soon(patience);
            }
            open.parts.iter().map(Guard::endpoint).collect()
        };
        for part in closed {
            part.close(patience).await;
        }
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("topic", &self.topic)
            .field("partitions", &self.partitions())
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
