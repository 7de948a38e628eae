//! What really happened, kept beside the machines, and what must never happen.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use pulsar_devbroker::{PeerId, StoredEntry};
use pulsar_wire::MessageFrame;
use pulsar_wire::batch::BatchReader;
use pulsar_wire::compression::{Codec, decompress};
use pulsar_wire::proto::SubType;

use super::endpoint::{Reader, Token};
use super::world::Check;
use crate::error::{Error, ErrorKind};
use crate::message::{MessageId, Stored, Ticket};

/// A message of an entry: entry id and index.
pub(super) type Place = (u64, u32);

/// How a future ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Done(Option<MessageId>),
    Failed { kind: ErrorKind, is_ambiguous: bool },
}

impl From<Result<Stored, Error>> for Outcome {
    fn from(result: Result<Stored, Error>) -> Self {
        result.map_or_else(Self::failed, |stored| Self::Done(stored.id))
    }
}

impl From<Result<(), Error>> for Outcome {
    fn from(result: Result<(), Error>) -> Self {
        result.map_or_else(Self::failed, |()| Self::Done(None))
    }
}

impl Outcome {
    #[expect(clippy::needless_pass_by_value, reason = "it ends a result")]
    fn failed(error: Error) -> Self {
        Self::Failed {
            kind: error.kind(),
            is_ambiguous: error.is_ambiguous(),
        }
    }
}

#[derive(Debug)]
enum Promise {
    /// A receipt for this message.
    Receipt(u64),
    Ack,
}

#[derive(Debug, Default)]
struct Published {
    key: Option<Bytes>,
    /// The sessions in which it was sent.
    sessions: BTreeSet<(usize, u32)>,
    outcome: Option<Outcome>,
}

/// An acknowledgement request at the broker.
#[derive(Debug)]
struct Request {
    entries: Vec<u64>,
    /// How often the cursor had been set back when the broker took it; none before.
    taken: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Truth {
    kind: SubType,
    is_deduplicating: bool,
    /// How often the cursor was set back: by an operator, or by a crash.
    pub(super) epoch: u32,
    published: Vec<Published>,
    promises: Vec<(Promise, Option<Outcome>)>,
    requests: BTreeMap<(PeerId, u64), Request>,
    /// What the broker has acknowledged.
    acked: BTreeSet<u64>,
    /// What was handed out at least once.
    first: BTreeMap<Place, Option<u64>>,
    /// From which index on an entry could not be cut.
    rests: BTreeMap<u64, u32>,
    newest: BTreeMap<Option<Bytes>, Place>,
    pub(super) handed: u64,
    /// Messages that were damaged on their way: what is behind them may be stored before them.
    damaged: BTreeSet<u64>,
}

impl Truth {
    pub(super) fn new(kind: SubType, is_deduplicating: bool) -> Self {
        Self {
            kind,
            is_deduplicating,
            epoch: 0,
            published: Vec::new(),
            promises: Vec::new(),
            requests: BTreeMap::new(),
            acked: BTreeSet::new(),
            first: BTreeMap::new(),
            rests: BTreeMap::new(),
            newest: BTreeMap::new(),
            handed: 0,
            damaged: BTreeSet::new(),
        }
    }

    // Publishing.

    /// The number and payload of a new message.
    pub(super) fn publish(&mut self, key: Option<Bytes>) -> (u64, Bytes) {
        let number = self.published.len() as u64;
        self.published.push(Published {
            key,
            ..Published::default()
        });
        (number, Bytes::copy_from_slice(&number.to_be_bytes()))
    }

    pub(super) fn damage(&mut self, message: &MessageFrame) {
        self.damaged.extend(numbers_of(message).into_iter().flatten());
    }

    pub(super) fn promise_receipt(&mut self, message: u64) -> Token {
        self.promise(Promise::Receipt(message))
    }

    pub(super) fn promise_ack(&mut self) -> Token {
        self.promise(Promise::Ack)
    }

    fn promise(&mut self, promise: Promise) -> Token {
        self.promises.push((promise, None));
        self.promises.len() - 1
    }

    /// A message leaves in a session of an endpoint.
    pub(super) fn transmitted(&mut self, message: &MessageFrame, session: (usize, u32)) -> Check {
        for number in numbers_of(message) {
            self.transmitted_one(number.ok_or("a payload of nobody was sent")?, session)?;
        }
        Ok(())
    }

    fn transmitted_one(&mut self, number: u64, session: (usize, u32)) -> Check {
        let message = &mut self.published[usize::try_from(number).expect("a small number")];
        if message.outcome.is_some() {
            return Err(format!("message {number} is sent after its end"));
        }
        if !message.sessions.insert(session) {
            return Err(format!("message {number} is sent twice in one session"));
        }
        Ok(())
    }

    pub(super) fn resolve(&mut self, token: Token, outcome: Outcome) -> Check {
        let (promise, known) = &mut self.promises[token];
        if known.replace(outcome).is_some() {
            return Err(format!("promise {token} ends twice"));
        }
        if let Promise::Receipt(message) = promise {
            let message = usize::try_from(*message).expect("a small number");
            self.published[message].outcome = Some(outcome);
        }
        if let Outcome::Failed { kind, .. } = outcome {
            let is_fair = match promise {
                Promise::Receipt(_) if kind == ErrorKind::NotStored => !self.damaged.is_empty(),
                Promise::Receipt(_) => matches!(
                    kind,
                    ErrorKind::TimedOut | ErrorKind::Closed | ErrorKind::Refused(_)
                ),
                Promise::Ack => matches!(
                    kind,
                    ErrorKind::TimedOut | ErrorKind::Closed | ErrorKind::SessionLost
                ),
            };
            if !is_fair {
                return Err(format!("promise {token}: no reason to end with {kind:?}"));
            }
        }
        Ok(())
    }

    // The broker.

    pub(super) fn ack_arrives(&mut self, peer: PeerId, request: u64, entries: Vec<u64>) {
        let request = (peer, request);
        self.requests.insert(request, Request { entries, taken: None });
    }

    pub(super) fn ack_taken(&mut self, peer: PeerId, request: u64) {
        if let Some(request) = self.requests.get_mut(&(peer, request)) {
            request.taken = Some(self.epoch);
            self.acked.extend(&request.entries);
        }
    }

    /// What the broker took with a request, and when.
    pub(super) fn ack_answered(&mut self, peer: PeerId, request: u64) -> Option<(Vec<u64>, u32)> {
        let request = self.requests.remove(&(peer, request))?;
        Some((request.entries, request.taken?))
    }

    pub(super) fn delivered(&self, entry: u64) -> Check {
        if self.acked.contains(&entry) {
            return Err(format!(
                "the broker delivers entry {entry}, which is acknowledged"
            ));
        }
        Ok(())
    }

    /// Everything from an entry on may come again.
    pub(super) fn set_back(&mut self, entry: u64) {
        self.epoch += 1;
        self.acked.split_off(&entry);
    }

    /// Members of an entry were acknowledged by a consumer of another client.
    pub(super) fn acked_elsewhere(&mut self, entry: u64, members: &[(u32, Option<u64>)]) {
        for (index, number) in members {
            self.first.insert((entry, *index), *number);
        }
    }

    // The application.

    /// A message is handed out to the application of a consumer.
    pub(super) fn handed_out(&mut self, reader: &mut Reader, handed: &Handed<'_>) -> Check {
        let Handed { ticket, .. } = *handed;
        let place = (ticket.key.entry, ticket.index);
        let entry = place.0;
        if reader
            .in_hand
            .iter()
            .any(|other| (other.key.entry, other.index) == place)
        {
            return Err(format!("{place:?} is handed out twice at once"));
        }
        let arrived = reader.arrived.get(&entry).copied().unwrap_or_default();
        if let Some(confirmed) = reader.confirmed.get(&entry) {
            if arrived <= *confirmed {
                return Err(format!("{place:?} is confirmed and runs again"));
            }
            reader.confirmed.remove(&entry);
        }
        if reader.settled.contains(&place) {
            return Err(format!("{place:?} is settled and runs again"));
        }
        reader.in_hand.push(ticket);
        self.handed += 1;
        if ticket.rest {
            self.rests.insert(entry, ticket.index);
        }
        match self.first.get(&place) {
            Some(before) if *before != handed.number => {
                Err(format!("{place:?} has another payload than before"))
            }
            Some(_) => Ok(()),
            None => {
                self.first.insert(place, handed.number);
                self.check_order(place, handed)
            }
        }
    }

    fn check_order(&mut self, place: Place, handed: &Handed<'_>) -> Check {
        let key = match self.kind {
            SubType::Shared => return Ok(()),
            SubType::KeyShared if handed.is_delayed || handed.key.is_none() => return Ok(()),
            SubType::KeyShared => handed.key.cloned(),
            SubType::Exclusive | SubType::Failover => None,
        };
        match self.newest.insert(key, place) {
            Some(before) if before > place => {
                Err(format!("{place:?} comes for the first time after {before:?}"))
            }
            _ => Ok(()),
        }
    }

    // The end.

    pub(super) fn check_promises(&self) -> Check {
        match self.promises.iter().position(|(_, outcome)| outcome.is_none()) {
            Some(token) => Err(format!(
                "promise {token} never ends: {:?}",
                self.promises[token].0
            )),
            None => Ok(()),
        }
    }

    /// Compares what is stored with what was said about it and with what was handed out.
    pub(super) fn check_stored(&self, entries: &[StoredEntry]) -> Check {
        let mut copies = vec![0; self.published.len()];
        let mut newest_of_producer = BTreeMap::new();
        for stored in entries {
            let entry = stored.id.entry_id;
            for (index, number) in (0..).zip(numbers_of(&parsed(stored))) {
                self.check_handed_out((entry, index), number)?;
                let Some(number) = number else { continue };
                let message = usize::try_from(number).expect("a small number");
                copies[message] += 1;
                let producer = self.published[message].sessions.first().map(|(at, _)| *at);
                if copies[message] == 1
                    && let Some(producer) = producer
                    // Batches keep the order of each key.
                    && newest_of_producer.insert((producer, &self.published[message].key), number)
                        > Some(number)
                    && self.damaged.is_empty()
                {
                    return Err(format!("message {number} is stored out of order"));
                }
            }
        }
        for (number, message) in self.published.iter().enumerate() {
            let copies = copies[number];
            let sent = message.sessions.len().max(1);
            if copies > sent || self.is_deduplicating && copies > 1 {
                return Err(format!(
                    "message {number} is stored {copies} times, sent {sent} times"
                ));
            }
            match message.outcome {
                // Deduplication drops it when what is behind it was stored; where the refusal was
                // lost nobody can tell that from a message that was there before.
                Some(Outcome::Done(None)) if self.damaged.contains(&(number as u64)) => {}
                Some(Outcome::Done(_)) if copies == 0 => {
                    return Err(format!("message {number} has a receipt and is not stored"));
                }
                Some(Outcome::Done(Some(id))) => {
                    let stored = entries.iter().find(|stored| stored.id.entry_id == id.entry);
                    let place = usize::try_from(id.batch_index).unwrap_or(0);
                    let is_there = stored.is_some_and(|stored| {
                        numbers_of(&parsed(stored)).get(place) == Some(&Some(number as u64))
                    });
                    if !is_there {
                        return Err(format!("the receipt of message {number} names {id}"));
                    }
                }
                Some(Outcome::Failed {
                    is_ambiguous: false, ..
                }) if copies > 0 => {
                    return Err(format!("message {number} was reported as not stored, but is"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_handed_out(&self, place: Place, number: Option<u64>) -> Check {
        let is_rest = |from: &u32| place.1 > *from;
        if self.rests.get(&place.0).is_some_and(is_rest) {
            return Ok(());
        }
        match self.first.get(&place) {
            None => Err(format!("{place:?}, message {number:?}, was never handed out")),
            Some(handed) if *handed != number => Err(format!(
                "{place:?} was handed out as {handed:?}, stored as {number:?}"
            )),
            Some(_) => Ok(()),
        }
    }
}

/// A message as the application gets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handed<'a> {
    pub(super) ticket: Ticket,
    /// None when it could not be decoded.
    pub(super) number: Option<u64>,
    pub(super) key: Option<&'a Bytes>,
    pub(super) is_delayed: bool,
}

pub(super) fn number_of(payload: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(payload.first_chunk().copied()?))
}

fn parsed(entry: &StoredEntry) -> MessageFrame {
    MessageFrame::parse(entry.headers_and_payload.clone())
}

/// The messages of an entry, one that cannot be read being the last.
pub(super) fn numbers_of(frame: &MessageFrame) -> Vec<Option<u64>> {
    let Ok(metadata) = frame.metadata() else {
        return vec![None];
    };
    let codec = Codec::from_i32(metadata.compression.unwrap_or_default());
    let size = metadata.uncompressed_size.unwrap_or_default() as usize;
    let Ok(payload) = decompress(codec, &frame.payload, size, 1 << 20) else {
        return vec![None];
    };
    let Some(count) = metadata.num_messages_in_batch else {
        return vec![number_of(&payload)];
    };
    BatchReader::new(payload, count.unsigned_abs())
        .map(|member| number_of(&member.ok()?.payload))
        .collect()
}
