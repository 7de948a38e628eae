//! SEND: stores an entry as it came, or passes it on where nothing is stored. What can't be
//! stored is answered, so that a client does not repeat it for ever; an unknown producer ends the
//! connection, as in Pulsar, unless the broker closed it a moment ago.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;
use pulsar_wire::proto::{CommandSend, CommandSendError, CommandSendReceipt, MessageIdData};
use pulsar_wire::{Checksum, MessageFrame, ServerError};

use crate::broker::Broker;
use crate::log::Entry;
use crate::metadata::Metadata;
use crate::peer::{Key, PeerId};
use crate::refusal::Refusal;
use crate::topic::Topic;

/// What the ids of a message say that was not stored.
const NOWHERE: u64 = u64::MAX;

impl Broker {
    pub(super) fn on_send(&mut self, peer: PeerId, send: &CommandSend, message: Option<Bytes>) {
        let producer = Key {
            peer,
            id: send.producer_id,
        };
        let Some((topic, name)) = self.publishing(producer) else {
            self.on_stray(producer, send);
            return;
        };
        self.publish(producer, &topic, &name, send, message);
    }

    /// The producer is not open: perhaps not any more.
    fn on_stray(&mut self, producer: Key, send: &CommandSend) {
        let peer = self.peers.get(&producer.peer);
        let Some(topic) = peer.and_then(|peer| peer.straggling(producer.id, self.now.at)) else {
            self.close(producer.peer, "SEND of a producer that is not open");
            return;
        };
        let topic = self.catalog.topics.get(topic);
        if topic.is_some_and(|topic| topic.terminated) {
            self.refuse_send(producer.peer, send, terminated());
        }
    }

    fn publish(
        &mut self,
        key: Key,
        name: &Arc<str>,
        producer: &Arc<str>,
        send: &CommandSend,
        message: Option<Bytes>,
    ) {
        let stored = self.check(send, message).and_then(|(bytes, metadata)| {
            let entry = Entry::new(bytes, &metadata);
            self.store(name, producer, send, &metadata, entry)
        });
        let (message_id, passing) = match stored {
            Ok(stored) => stored,
            Err(refusal) => {
                self.refuse_send(key.peer, send, refusal);
                return;
            }
        };
        let receipt = CommandSendReceipt {
            producer_id: send.producer_id,
            sequence_id: send.sequence_id,
            message_id: Some(message_id),
            highest_sequence_id: Some(highest(send).unwrap_or(NOWHERE)),
        };
        self.out.send(key.peer, receipt);
        let (catalog, mut context) = self.split();
        let Some(topic) = catalog.topics.get_mut(name) else {
            return;
        };
        match passing {
            Passing::Stored => topic.deliver_new(&mut context),
            Passing::On(entry) => topic.pass_on(&entry, &mut context),
            Passing::Duplicate => {}
        }
    }

    fn publishing(&self, key: Key) -> Option<(Arc<str>, Arc<str>)> {
        let publishing = self.peers.get(&key.peer)?.producers.get(&key.id)?;
        let topic = self.catalog.topics.get(&publishing.topic)?;
        let is_ready = topic.producers.is_ready(key, &publishing.name);
        is_ready.then(|| (publishing.topic.clone(), publishing.name.clone()))
    }

    fn store(
        &mut self,
        name: &Arc<str>,
        producer: &Arc<str>,
        send: &CommandSend,
        metadata: &Metadata,
        entry: Entry,
    ) -> Result<(MessageIdData, Passing), Refusal> {
        let policies = &self.catalog.policies;
        let Some(topic) = self.catalog.topics.get_mut(name) else {
            return Err(Refusal::new(ServerError::TopicNotFound, "Topic was deleted"));
        };
        if topic.terminated {
            return Err(terminated());
        }
        let is_stored = topic.name.persistent;
        let policies = policies.get(&topic.name.namespace);
        let max_delay_ms = policies.and_then(|policies| policies.max_delay_ms);
        if let (Some(due_ms), Some(max_delay_ms)) = (entry.deliver_at, max_delay_ms)
            && due_ms > self.now.unix_ms.saturating_add(max_delay_ms)
        {
            let message = format!("Exceeds max allowed delivery delay of {max_delay_ms} milliseconds");
            return Err(Refusal::new(ServerError::NotAllowedError, message));
        }
        let deduplicates = policies.and_then(|policies| policies.deduplication);
        let deduplicates = deduplicates.unwrap_or(self.config.deduplication);
        if is_stored && deduplicates && !is_new(topic, producer, send, metadata) {
            self.counters.duplicate_entries += 1;
            let nowhere = MessageIdData {
                ledger_id: NOWHERE,
                entry_id: NOWHERE,
                ..Default::default()
            };
            return Ok((nowhere, Passing::Duplicate));
        }
        self.counters.published_entries += 1;
        self.counters.published_messages += u64::from(entry.messages);
        let (id, passing) = if is_stored {
            (topic.append(entry), Passing::Stored)
        } else {
            (0, Passing::On(entry))
        };
        let message_id = MessageIdData {
            partition: None,
            ..topic.log.id(id)
        };
        Ok((message_id, passing))
    }

    fn check(&self, send: &CommandSend, message: Option<Bytes>) -> Result<(Bytes, Metadata), Refusal> {
        let not_allowed = |message: &str| Refusal::new(ServerError::NotAllowedError, message);
        let frame = MessageFrame::parse(message.unwrap_or_default());
        if send.message_id.is_some() {
            return Err(not_allowed(
                "Only shadow topic supports sending messages with messageId",
            ));
        }
        if frame.checksum == Checksum::Invalid {
            let message = "Checksum failed on the broker";
            return Err(Refusal::new(ServerError::ChecksumError, message));
        }
        if send.txnid_least_bits.is_some() || send.txnid_most_bits.is_some() {
            return Err(not_allowed("Transactions are not enabled."));
        }
        // Clients fill a chunk so far that its metadata go into the slack of the frame.
        if frame.payload.len() > self.config.max_message_size {
            return Err(not_allowed("Exceed maximum message size"));
        }
        let metadata = Metadata::decode(frame.metadata);
        match metadata {
            Ok(metadata) if !frame.cut => Ok((frame.headers_and_payload, metadata)),
            _ => Err(not_allowed("The message's metadata can't be read")),
        }
    }

    fn refuse_send(&mut self, peer: PeerId, send: &CommandSend, refusal: Refusal) {
        let error = CommandSendError {
            producer_id: send.producer_id,
            sequence_id: send.sequence_id,
            error: refusal.error.code(),
            message: refusal.message,
        };
        self.out.send(peer, error);
    }
}

/// What becomes of an entry.
enum Passing {
    /// It is in the log.
    Stored,
    /// It goes to who is ready, and nowhere else.
    On(Entry),
    /// It was there before.
    Duplicate,
}

fn terminated() -> Refusal {
    Refusal::new(ServerError::TopicTerminatedError, "Topic was already terminated")
}

/// A batch has the sequence ids from its first to its last message.
fn highest(send: &CommandSend) -> Option<u64> {
    send.highest_sequence_id
        .filter(|highest| *highest >= send.sequence_id)
}

/// Whether the sequence id was not used before; notes it. Chunks of a message share one id, so
/// only the last of them counts.
fn is_new(topic: &mut Topic, producer: &Arc<str>, send: &CommandSend, metadata: &Metadata) -> bool {
    let chunks = metadata.num_chunks_from_msg.unwrap_or(0);
    if send.is_chunk()
        && metadata
            .chunk_id
            .is_some_and(|chunk| chunk != chunks.saturating_sub(1))
    {
        return true;
    }
    let used = topic.sequences.get(producer);
    if used.is_some_and(|used| send.sequence_id <= *used) {
        return false;
    }
    let highest = highest(send).unwrap_or(send.sequence_id);
    topic.sequences.insert(producer.clone(), highest);
    true
}
