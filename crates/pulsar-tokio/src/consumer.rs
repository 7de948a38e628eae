//! What users hold to receive: a consumer of a subscription on topics and all their partitions.

mod broker_stats;
mod builder;
mod follow;
mod machine;
mod parts;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

pub use self::broker_stats::BrokerStats;
pub use self::builder::{ConsumerBuilder, InitialPosition, SubscriptionType};
pub(crate) use self::parts::Part;
use self::parts::Shared;
use crate::background::Background;
use crate::endpoint::Health;
use crate::error::{Error, ErrorKind};
use crate::message::{Message, MessageId, Ticket};
use crate::seek::{Seek, concerned};
use crate::topic::TopicName;

/// Receives the messages of a subscription and settles them.
///
/// Usable from many tasks at once through `&self`. A lost connection is a pause: the consumer
/// comes back by itself, and what was settled before is not handed out again. Dropping a consumer
/// closes it in the background; what is not settled goes to others or comes again.
///
/// Partitions that are added to a topic, and topics that appear or vanish where they are given by a pattern, are noticed
/// within a minute ([`ConsumerBuilder::partition_check`]).
pub struct Consumer {
    subscription: String,
    subscription_type: SubscriptionType,
    shared: Arc<Shared>,
    watch: Option<Background>,
}

impl Consumer {
    /// The topic that the subscription was opened on, without a partition; none where it was opened on several topics or
    /// on a pattern.
    #[must_use]
    pub fn topic(&self) -> Option<&TopicName> {
        self.shared.only.as_ref()
    }

    /// The topics that are consumed now, without partitions.
    #[must_use]
    pub fn topics(&self) -> Vec<Arc<str>> {
        let mut topics: Vec<_> = self
            .shared
            .read()
            .iter()
            .map(|part| part.base_topic.clone())
            .collect();
        topics.sort_unstable();
        topics.dedup();
        topics
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

    /// True if a topic has partitions and this consumer reads all of them.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.shared.read().iter().any(|part| part.is_partition())
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
            let ready = self.shared.ready.notified();
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
        self.shared.next()
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
        match self.shared.part(ticket) {
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
    fn open_part_of(&self, ticket: Ticket) -> Result<Arc<Part>, Error> {
        let part = self.shared.part(ticket)?;
        match part.endpoint.health() {
            Health::Ended => Err(part.endpoint.why_ended()),
            _ => Ok(part),
        }
    }

    /// Moves the subscription to another place, on all topics and partitions; to a message, on the one where it lies.
    ///
    /// What was received before is dropped, also where it is settled: all that lies behind the new place comes (again).
    /// Messages that are being handled can no longer be settled ([`ErrorKind::SessionLost`]); other consumers of the
    /// subscription are moved too.
    ///
    /// # Errors
    ///
    /// The broker refuses or does not answer in time; with several partitions some may have been moved.
    /// [`ErrorKind::InvalidOption`]: there are several topics or partitions and the message does not tell in which it
    /// lies.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves it open whether the subscription is moved.
    pub async fn seek(&self, to: Seek) -> Result<(), Error> {
        for part in concerned(self.parts(), to)? {
            part.seek(to).await?;
        }
        Ok(())
    }

    /// The last message of each topic or partition; none where it has no message.
    ///
    /// # Errors
    ///
    /// The broker refuses or does not answer in time.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn last_message_ids(&self) -> Result<Vec<(Arc<str>, Option<MessageId>)>, Error> {
        let mut last = Vec::new();
        for part in self.parts() {
            last.push((part.topic.clone(), part.end().await?.last));
        }
        Ok(last)
    }

    /// Deletes the subscription, on all topics and partitions, and closes the consumer, at most within `patience`.
    ///
    /// # Errors
    ///
    /// The broker refuses, since the subscription has other consumers, or does not answer in time; with several
    /// partitions it may be deleted on some. The consumer is still open then.
    pub async fn unsubscribe(&self, patience: Duration) -> Result<(), Error> {
        for part in self.parts() {
            part.unsubscribe().await?;
        }
        self.close(patience).await;
        Ok(())
    }

    pub(crate) fn parts(&self) -> Vec<Arc<Part>> {
        self.shared.read().iter().cloned().collect()
    }

    /// How the consumer is, partition by partition.
    #[must_use]
    pub fn stats(&self) -> Vec<ConsumerStats> {
        self.shared.read().iter().map(|part| part.stats()).collect()
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
        let parts = self.parts();
        let mut stats = Vec::with_capacity(parts.len());
        for part in parts {
            stats.push(part.broker_stats().await?);
        }
        Ok(stats)
    }

    /// Confirms the acknowledgements that are on their way and closes, at most within `patience`.
    ///
    /// Works in any state and more than once. What is received and not settled goes to other
    /// consumers or comes again; no redelivery count rises by it.
    pub async fn close(&self, patience: Duration) {
        if let Some(watch) = &self.watch {
            watch.end();
        }
        let parts = self.shared.begin_to_close();
        for part in &parts {
            part.endpoint.close_soon(patience);
        }
        for part in &parts {
            part.endpoint.close(patience).await;
        }
        // Who waits learns of the end also where there was nothing to close.
        self.shared.ready.notify_waiters();
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("topics", &self.shared.topics)
            .field("subscription", &self.subscription)
            .field("type", &self.subscription_type)
            .finish_non_exhaustive()
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
