//! The partitions and topics that a consumer reads, each with its session; more can come and some can go.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::{Notify, oneshot};

use super::ConsumerStats;
use crate::endpoint::{Guard, Health};
use crate::error::{Error, ErrorKind};
use crate::link::lock;
use crate::message::{Message, MessageId, Ticket};
use crate::session::consumer as session;
use crate::session::consumer::HandOut;
use crate::session::cut::{Arrived, Cut, Member, Next};
use crate::topic::TopicName;
use crate::topics::Topics;

pub(crate) type Receiving = session::Consumer<oneshot::Sender<Result<(), Error>>>;

/// What a consumer and the task that follows its topics share.
pub(super) struct Shared {
    pub(super) topics: Topics,
    /// The topic, where it is one by name.
    pub(super) only: Option<TopicName>,
    /// Whether the end of one topic is the end of the consumer.
    pub(super) ends_with_a_part: bool,
    pub(super) parts: RwLock<Parts>,
    pub(super) ready: Arc<Notify>,
    pub(super) cutting: Mutex<Cutting>,
}

/// The parts by their numbers, which tickets bear: a number is never used again.
pub(super) struct Parts {
    list: Vec<Option<Arc<Part>>>,
    /// Takes no new ones.
    closing: bool,
}

/// One topic without partitions, or one partition.
pub(crate) struct Part {
    pub(crate) topic: Arc<str>,
    pub(super) base_topic: Arc<str>,
    pub(crate) endpoint: Guard<Receiving>,
    partition: i32,
}

/// The entries being cut, one for each part, and whose turn it is.
#[derive(Default)]
pub(super) struct Cutting {
    cuts: Vec<Option<Cut>>,
    turn: usize,
}

impl Parts {
    pub(super) fn holding(parts: Vec<Part>) -> Self {
        Self {
            list: parts.into_iter().map(Arc::new).map(Some).collect(),
            closing: false,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Part>> {
        self.list.iter().flatten()
    }
}

impl Shared {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Parts> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Parts> {
        self.parts.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the topic or partition of this name is read.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.read().iter().any(|part| *part.topic == *name)
    }

    /// Reads one more; when the consumer is closing it is closed.
    pub(super) fn add(&self, part: Part) {
        let mut parts = self.write();
        if !parts.closing {
            parts.list.push(Some(Arc::new(part)));
        }
        drop(parts);
        self.ready.notify_waiters();
    }

    /// Lets go of what is no partition of these topics and none of them.
    pub(super) fn retain(&self, topics: &[TopicName]) {
        let names: BTreeSet<&str> = topics.iter().map(TopicName::as_str).collect();
        for slot in &mut self.write().list {
            if let Some(gone) = slot.take_if(|part| !names.contains(&*part.base_topic)) {
                tracing::info!(topic = %gone.topic, "the topic is gone; it is not consumed any more");
            }
        }
    }

    /// All parts, which take no others from now on.
    pub(super) fn begin_to_close(&self) -> Vec<Arc<Part>> {
        let mut parts = self.write();
        parts.closing = true;
        parts.iter().cloned().collect()
    }

    pub(super) fn part(&self, ticket: Ticket) -> Result<Arc<Part>, Error> {
        let parts = self.read();
        match parts.list.get(ticket.part as usize) {
            Some(Some(part)) => Ok(part.clone()),
            Some(None) => Err(Error::new(
                ErrorKind::Closed,
                format!("the topic of the message is gone from {}", self.topics),
            )),
            None => Err(Error::new(
                ErrorKind::InvalidOption,
                format!("the ticket is not from the consumer on {}", self.topics),
            )),
        }
    }

    /// The next message, if one is there.
    pub(super) fn next(&self) -> Result<Option<Message>, Error> {
        let mut cutting = lock(&self.cutting);
        let parts = self.read();
        let Cutting { cuts, turn } = &mut *cutting;
        let count = parts.list.len();
        cuts.resize_with(count, || None);
        for _ in 0..count {
            let index = *turn % count;
            let Some(part) = &parts.list[index] else {
                cuts[index] = None;
                *turn = index + 1;
                continue;
            };
            let message = part.next(index, &mut cuts[index]);
            if message.is_none() || cuts[index].is_none() {
                // The next part has its turn when an entry is through.
                *turn = index + 1;
            }
            if let Some(message) = message {
                // Another receiver may be waiting for what is behind this one.
                if count > 1 || cuts[index].is_some() || part.has_arrived() {
                    self.ready.notify_one();
                }
                return Ok(Some(message));
            }
        }
        drop(cutting);
        let ended = parts.iter().find(|part| part.endpoint.health() == Health::Ended);
        match ended {
            Some(ended) if self.ends_with_a_part => Err(ended.endpoint.why_ended()),
            _ if parts.closing => Err(Error::closed(format!(
                "the consumer on {} is closed",
                self.topics
            ))),
            _ => Ok(None),
        }
    }
}

impl Part {
    pub(super) fn new(topic: &TopicName, base_topic: &TopicName, endpoint: Guard<Receiving>) -> Self {
        Self {
            topic: topic.as_str().into(),
            base_topic: base_topic.as_str().into(),
            partition: topic.partition_index(),
            endpoint,
        }
    }

    /// Which partition it is, -1 for a topic without.
    pub(crate) fn partition(&self) -> i32 {
        self.partition
    }

    pub(super) fn is_partition(&self) -> bool {
        self.topic != self.base_topic
    }

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
            base_topic: self.base_topic.clone(),
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

    pub(super) fn stats(&self) -> ConsumerStats {
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
