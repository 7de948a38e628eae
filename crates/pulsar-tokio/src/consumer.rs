//! What users hold to receive: a consumer of a subscription on a topic or on all its partitions.

mod broker_stats;
mod builder;
mod machine;

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

pub use self::broker_stats::BrokerStats;
pub use self::builder::{ConsumerBuilder, InitialPosition, SubscriptionType};
use crate::endpoint::{Guard, Health};
use crate::error::{Error, ErrorKind};
use crate::link::lock;
use crate::message::{Message, MessageId, Ticket};
use crate::session::consumer as session;
use crate::session::consumer::HandOut;
use crate::session::cut::{Arrived, Cut, Member, Next};
use crate::topic::TopicName;

/// Receives the messages of a subscription and settles them.
///
/// Usable from many tasks at once through `&self`. A lost connection is a pause: the consumer
/// comes back by itself, and what was settled before is not handed out again. Dropping a consumer
/// closes it in the background; what is not settled goes to others or comes again.
pub struct Consumer {
    topic: TopicName,
    subscription: String,
    subscription_type: SubscriptionType,
    is_partitioned: bool,
    parts: Vec<Part>,
    ready: Arc<Notify>,
    cutting: Mutex<Cutting>,
}

struct Part {
    topic: Arc<str>,
    endpoint: Guard<Receiving>,
}

type Receiving = session::Consumer<oneshot::Sender<Result<(), Error>>>;

/// The entries being cut, one for each partition, and whose turn it is.
struct Cutting {
    cuts: Vec<Option<Cut>>,
    turn: usize,
}

impl Consumer {
    /// The topic that the subscription was opened on, without a partition.
    #[must_use]
    pub fn topic(&self) -> &TopicName {
        &self.topic
    }

    /// The subscription.
    #[must_use]
    pub fn subscription(&self) -> &str {
        &self.subscription
    }

    /// How the subscription divides its messages.
    #[must_use]
    pub fn subscription_type(&self) -> SubscriptionType {
        self.subscription_type
    }

    /// True if the topic has partitions and this consumer reads all of them.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.is_partitioned
    }

    /// Waits for the next message.
    ///
    /// # Errors
    ///
    /// The consumer is closed. A lost connection is no error: the wait goes on.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn receive(&self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.try_receive()? {
                return Ok(message);
            }
            let ready = self.ready.notified();
            tokio::pin!(ready);
            ready.as_mut().enable();
            if let Some(message) = self.try_receive()? {
                return Ok(message);
            }
            ready.await;
        }
    }

    /// The next message, if one is there.
    ///
    /// # Errors
    ///
    /// The consumer is closed.
    pub fn try_receive(&self) -> Result<Option<Message>, Error> {
        let mut cutting = lock(&self.cutting);
        let Cutting { cuts, turn } = &mut *cutting;
        for _ in 0..self.parts.len() {
            let index = *turn % self.parts.len();
            let message = self.parts[index].next(index, &mut cuts[index]);
            if message.is_none() || cuts[index].is_none() {
                // The next partition has its turn when an entry is through.
                *turn = index + 1;
            }
            if let Some(message) = message {
                // Another receiver may be waiting for what is behind this one.
                if self.parts.len() > 1 || cuts[index].is_some() || self.parts[index].has_arrived() {
                    self.ready.notify_one();
                }
                return Ok(Some(message));
            }
        }
        drop(cutting);
        match self
            .parts
            .iter()
            .find(|part| part.endpoint.health() == Health::Ended)
        {
            Some(ended) => Err(ended.endpoint.why_ended()),
            None => Ok(None),
        }
    }

    /// Settles a message: it will not come again.
    ///
    /// The acknowledgement is on its way when this returns; the future tells when the broker has
    /// confirmed it, and dropping it undoes nothing. A member of a batch counts as settled at
    /// once; the broker learns of the entry when its last member is settled, and after a crash
    /// before that the whole entry comes again. Confirmed does not mean durable: a broker that
    /// crashes may deliver again what it had confirmed within the last moments.
    ///
    /// # Errors
    ///
    /// The future ends with an error when the session with the broker ended before the
    /// confirmation ([`ErrorKind::SessionLost`]). If the message comes again it is then
    /// acknowledged once more without being handed out.
    pub fn ack(&self, ticket: Ticket) -> Ack {
        let (sender, receiver) = oneshot::channel();
        match self.part(ticket) {
            Ok(part) => part
                .endpoint
                .with(|machine, now| machine.ack(now, ticket, sender)),
            Err(error) => _ = sender.send(Err(error)),
        }
        Ack { receiver }
    }

    /// Gives a message back: the broker delivers it again, after the nack delay, and counts that.
    /// Where it is a member of a batch the whole entry comes again; members that are settled are
    /// not handed out again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] on `Exclusive` and `Failover`, where a broker would resend
    /// everything that is not acknowledged; see [`Consumer::rewind`]. After the consumer has ended
    /// the message comes again too, but nobody counts that: [`ErrorKind::Closed`].
    pub fn nack(&self, ticket: Ticket) -> Result<(), Error> {
        if !self.subscription_type.redelivers_singly() {
            let text = format!(
                "a {} subscription cannot deliver a single message again; rewind instead",
                self.subscription_type
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.open_part_of(ticket)?
            .endpoint
            .with(|machine, now| machine.nack(now, ticket));
        Ok(())
    }

    /// Gives a message back together with everything behind it that is not settled: all of it
    /// comes again, in order. Messages that are being handled are not handed out twice.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] on `Shared` and `Key_Shared`; see [`Consumer::nack`]. The
    /// consumer has ended: [`ErrorKind::Closed`].
    pub fn rewind(&self, ticket: Ticket) -> Result<(), Error> {
        if self.subscription_type.redelivers_singly() {
            let text = format!(
                "a {} subscription cannot be rewound; nack instead",
                self.subscription_type
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.open_part_of(ticket)?
            .endpoint
            .with(|machine, now| machine.rewind(now, ticket));
        Ok(())
    }

    /// Where a message can still be asked for again.
    fn open_part_of(&self, ticket: Ticket) -> Result<&Part, Error> {
        let part = self.part(ticket)?;
        match part.endpoint.health() {
            Health::Ended => Err(part.endpoint.why_ended()),
            _ => Ok(part),
        }
    }

    fn part(&self, ticket: Ticket) -> Result<&Part, Error> {
        self.parts.get(ticket.part as usize).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOption,
                format!("the ticket is not from the consumer on {}", self.topic),
            )
        })
    }

    /// How the consumer is, partition by partition.
    #[must_use]
    pub fn stats(&self) -> Vec<ConsumerStats> {
        self.parts.iter().map(Part::stats).collect()
    }

    /// What the broker says of this consumer, beside our own account; partition by partition.
    ///
    /// The two agree when nothing is on its way; while messages flow, one is ahead of the other.
    ///
    /// # Errors
    ///
    /// No session is open, the broker did not answer in time, or it does not know the consumer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn broker_stats(&self) -> Result<Vec<BrokerStats>, Error> {
        let mut stats = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            stats.push(part.broker_stats().await?);
        }
        Ok(stats)
    }

    /// Confirms the acknowledgements that are on their way and closes, at most within `patience`.
    ///
    /// Works in any state and more than once. What is received and not settled goes to other
    /// consumers or comes again; no redelivery count rises by it.
    pub async fn close(&self, patience: Duration) {
        for part in &self.parts {
            part.endpoint.close_soon(patience);
        }
        for part in &self.parts {
            part.endpoint.close(patience).await;
        }
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("topic", &self.topic)
            .field("subscription", &self.subscription)
            .field("type", &self.subscription_type)
            .finish_non_exhaustive()
    }
}

impl Part {
    fn has_arrived(&self) -> bool {
        self.endpoint.with(|machine, _| machine.has_arrived())
    }

    /// The next message of this partition.
    fn next(&self, part: usize, slot: &mut Option<Cut>) -> Option<Message> {
        loop {
            let Some(cut) = slot else {
                let arrived = self.endpoint.with(|machine, _| machine.next_arrived())?;
                // Decompressing and cutting happen here, with nothing locked that a reader needs.
                *slot = Some(Cut::new(arrived));
                continue;
            };
            let next = cut.next();
            let is_over = cut.is_over();
            let arrived = &mut cut.arrived;
            let handed = self.endpoint.with(|machine, now| {
                let handed = match &next {
                    Next::Member(member) => machine.hand_out(arrived, member.index),
                    Next::Gone(index) => {
                        machine.gone(arrived, *index);
                        HandOut::Skip
                    }
                    Next::End => HandOut::Stale,
                };
                if is_over || handed == HandOut::Stale {
                    machine.cut_over(arrived);
                    machine.flush(now);
                }
                handed
            });
            let message = match next {
                Next::Member(member) if handed == HandOut::Yes => Some(self.message(part, arrived, *member)),
                _ => None,
            };
            if is_over || handed == HandOut::Stale {
                *slot = None;
            }
            if message.is_some() {
                return message;
            }
        }
    }

    fn message(&self, part: usize, arrived: &Arrived, member: Member) -> Message {
        let metadata = arrived.metadata.as_ref();
        let batch_index = i32::try_from(member.index).unwrap_or(-1);
        Message {
            topic: self.topic.clone(),
            id: MessageId {
                ledger: arrived.key.ledger,
                entry: arrived.key.entry,
                partition: arrived.partition,
                batch_index: if member.in_batch { batch_index } else { -1 },
            },
            ticket: Ticket {
                part: u32::try_from(part).unwrap_or(u32::MAX),
                key: arrived.key,
                index: member.index,
                of: arrived.of,
                rest: member.rest,
                session: arrived.session,
            },
            payload: member.payload,
            properties: member
                .properties
                .into_iter()
                .map(|pair| (pair.key, pair.value))
                .collect(),
            key: member.key,
            ordering_key: member.ordering_key,
            redelivery_count: arrived.redelivery_count,
            publish_time_ms: metadata.map(|metadata| metadata.publish_time).unwrap_or_default(),
            deliver_at_ms: metadata.and_then(|metadata| metadata.deliver_at_time),
            event_time_ms: member.event_time_ms,
        }
    }

    fn stats(&self) -> ConsumerStats {
        let snapshot = self.endpoint.with(|machine, _| machine.snapshot());
        ConsumerStats {
            topic: self.topic.clone(),
            health: self.endpoint.health(),
            active: snapshot.active,
            permits: snapshot.permits,
            held: snapshot.held,
            queued: snapshot.queued,
            open_entries: snapshot.entries,
            unanswered_acks: snapshot.unanswered,
            stalls_cured: snapshot.stalls_cured,
            last_error: snapshot.last_error,
        }
    }
}

/// How a consumer is on one partition.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// The topic: the partition, where there are partitions.
    pub topic: Arc<str>,
    /// Whether a session is open.
    pub health: Health,
    /// Whether this is the consumer that a `Failover` subscription delivers to; true elsewhere.
    pub active: bool,
    /// How many messages the broker may still send by our account.
    pub permits: i64,
    /// How many messages are received and not yet settled.
    pub held: u32,
    /// How many entries wait for their turn.
    pub queued: usize,
    /// How many entries are received and not yet confirmed as acknowledged.
    pub open_entries: usize,
    /// How many acknowledgements wait for their confirmation.
    pub unanswered_acks: usize,
    /// How often deliveries stood still since permits were missing, and were set going again.
    pub stalls_cured: u64,
    /// Why the last session ended, while there is no new one.
    pub last_error: Option<Error>,
}

/// The confirmation of an acknowledgement, to come.
///
/// Dropping it changes nothing: the message is acknowledged all the same.
#[derive(Debug)]
#[must_use = "a message counts as settled only when the acknowledgement is confirmed"]
pub struct Ack {
    receiver: oneshot::Receiver<Result<(), Error>>,
}

impl Future for Ack {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context).map(|result| {
            result.unwrap_or_else(|_| {
                Err(Error::ambiguous(
                    ErrorKind::Closed,
                    "the consumer went away before the confirmation",
                ))
            })
        })
    }
}
