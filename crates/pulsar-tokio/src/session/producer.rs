//! A producer's sends from the call to the receipt, across sessions.
//!
//! A message leaves alone, or in a batch of its key ([`batches`]); either way it is one entry with consecutive sequence
//! numbers, given when the entry leaves, so that a broker that drops duplicates sees them rise.
//!
//! Everything that has no receipt yet stays in `pending`, in order, with the frame as it was
//! encoded, and is sent again with the same sequence numbers when the next session opens. A send
//! ends only with a receipt, with the broker's refusal of that message, or with its time running
//! out, and the latter says that the message may be there all the same.

mod batches;
mod entry;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pulsar_wire::compression::Codec;
use pulsar_wire::proto::{
    CommandCloseProducer, CommandProducer, CommandProducerSuccess, CommandSendError, CommandSendReceipt,
};
use pulsar_wire::{Command, SendFrame, ServerError};

pub(crate) use self::batches::Batching;
use self::batches::{Batches, Group, Member};
use self::entry::{Sender, TooLarge};
use super::attach::Attach;
use crate::error::{Error, ErrorKind};
use crate::message::{MessageId, NewMessage, Stored};

/// What a producer is opened with.
#[derive(Clone, Debug)]
pub(crate) struct ProducerSetup {
    pub(crate) topic: String,
    pub(crate) name: Option<String>,
    pub(crate) initial_subscription: Option<String>,
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) send_timeout: Option<Duration>,
    pub(crate) persistent: bool,
    pub(crate) partition: i32,
    pub(crate) codec: Codec,
    pub(crate) batching: Option<Batching>,
}

/// The sends of one producer; `R` is what gets the receipt.
#[derive(Debug)]
pub(crate) struct Producer<R> {
    pub(crate) attach: Attach,
    setup: ProducerSetup,
    id: u64,
    /// The name in use: the caller's, or the one the broker gave, which is kept for good.
    name: Bytes,
    /// Counts the attempts to open, so that the broker can tell a successor from the one before.
    epoch: u64,
    is_first: bool,
    next_sequence: u64,
    max_message_size: usize,
    /// What waits for others of its key, where messages are batched.
    batches: Option<Batches<R>>,
    /// What is on its way, an entry each.
    pending: VecDeque<Pending<R>>,
    /// How many messages that are.
    pending_messages: usize,
    /// The number of the request that opens, while its answer is awaited.
    opening: Option<u64>,
    closing: bool,
    pub(crate) out: Vec<Bytes>,
    pub(crate) done: Vec<(R, Result<Stored, Error>)>,
}

#[derive(Debug)]
struct Pending<R> {
    sequence: u64,
    frame: SendFrame,
    receipts: Receipts<R>,
    /// Whether it was sent in the current session.
    sent: bool,
    /// Whether an earlier session sent it and ended before the receipt: it may be stored.
    unsure: bool,
    /// Whether the broker refused a transmission of it as damaged. What was sent behind it may be
    /// stored, and a broker that deduplicates then drops this one however often it comes.
    damaged: bool,
    deadline: Option<Instant>,
}

/// Who waits for the receipt of an entry.
#[derive(Debug)]
enum Receipts<R> {
    Single(R),
    /// In the order of the batch.
    Batch(Vec<R>),
}

impl<R> Receipts<R> {
    fn count(&self) -> usize {
        match self {
            Self::Single(_) => 1,
            Self::Batch(receipts) => receipts.len(),
        }
    }
}

impl<R> Pending<R> {
    /// The number under which the broker refuses the entry.
    fn highest_sequence(&self) -> u64 {
        self.sequence + self.receipts.count() as u64 - 1
    }
}

/// What a receipt or refusal means for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Go on.
    Fine,
    /// Leave this session and open another one: what was sent and what is confirmed do not agree.
    Reopen,
}

impl<R> Producer<R> {
    pub(crate) fn new(id: u64, setup: ProducerSetup, attach: Attach) -> Self {
        Self {
            attach,
            name: setup.name.clone().unwrap_or_default().into(),
            batches: setup.batching.map(Batches::new),
            setup,
            id,
            epoch: 0,
            is_first: true,
            next_sequence: 0,
            max_message_size: 0,
            pending: VecDeque::new(),
            pending_messages: 0,
            opening: None,
            closing: false,
            out: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The name that the broker knows the producer by; empty before the first session.
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// How many messages have no receipt yet.
    pub(crate) fn pending(&self) -> usize {
        self.pending_messages + self.batches.as_ref().map_or(0, Batches::messages)
    }

    /// The command that opens a session.
    pub(crate) fn open(&mut self, request_id: u64, max_message_size: usize) {
        self.opening = Some(request_id);
        self.max_message_size = max_message_size;
        let command = CommandProducer {
            topic: self.setup.topic.clone(),
            producer_id: self.id,
            request_id,
            producer_name: (!self.name.is_empty()).then(|| self.name()),
            metadata: self
                .setup
                .properties
                .iter()
                .map(|(key, value)| pulsar_wire::proto::KeyValue {
                    key: key.clone().into(),
                    value: value.clone().into(),
                })
                .collect(),
            epoch: Some(self.epoch),
            user_provided_producer_name: Some(self.setup.name.is_some()),
            initial_subscription_name: self.setup.initial_subscription.clone(),
            ..CommandProducer::default()
        };
        self.epoch += 1;
        self.transmit(&Command::Producer(Box::new(command)));
    }

    /// The session is open: what is pending goes out again, in order.
    pub(crate) fn opened(&mut self, request_id: u64, success: &CommandProducerSuccess) {
        if self.opening != Some(request_id) {
            return;
        }
        self.opening = None;
        self.attach.opened();
        self.name = success.producer_name.clone().into();
        if std::mem::take(&mut self.is_first) {
            // -1 on a fresh topic; a broker that deduplicates reports the last number that it has
            // of this name and drops what does not go beyond it.
            self.next_sequence = success
                .last_sequence_id
                .unwrap_or(-1)
                .saturating_add(1)
                .max(0)
                .unsigned_abs();
        }
        for pending in &mut self.pending {
            pending.sent = true;
            put(&mut self.out, &pending.frame);
        }
    }

    /// The broker refused to open.
    pub(crate) fn refused(&mut self, request_id: u64, now: Instant, chance: f64, error: &Error) {
        if self.opening == Some(request_id) {
            self.opening = None;
            let has_ended = self.attach.failed(now, chance, error.clone());
            // Whoever set this quota wants messages to fail now instead of waiting for room.
            let quota = ServerError::ProducerBlockedQuotaExceededException;
            if has_ended || error.kind() == ErrorKind::Refused(quota) {
                self.fail_all(error);
            }
        }
    }

    /// Takes a message. It goes out at once, or with others of its key; when no session is open, with the next one.
    ///
    /// # Errors
    ///
    /// The message was not taken and will not be sent: it is too large or the producer has ended.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        now_ms: u64,
        message: NewMessage,
        receipt: R,
    ) -> Result<(), (R, Error)> {
        if self.attach.is_ended() || self.closing {
            return Err((receipt, self.ended_error()));
        }
        let member = Member {
            message,
            at_ms: now_ms,
            deadline: self.setup.send_timeout.map(|timeout| now + timeout),
            receipt,
        };
        let Some(batches) = &mut self.batches else {
            return self.send_alone(member);
        };
        if !batches.may_hold(&member.message, self.max_message_size) {
            // What came before it leaves before it.
            self.flush();
            return self.send_alone(member);
        }
        if self.pending() == 0 {
            return self.send_alone(member);
        }
        let filled = match &mut self.batches {
            Some(batches) => batches.push(now, member, self.max_message_size),
            None => [None, None],
        };
        for group in filled.into_iter().flatten() {
            self.send_group(group);
        }
        Ok(())
    }

    fn send_alone(&mut self, member: Member<R>) -> Result<(), (R, Error)> {
        let Member {
            message,
            at_ms,
            deadline,
            receipt,
        } = member;
        match self.sender().single(at_ms, message) {
            Ok(frame) => {
                self.push(frame, Receipts::Single(receipt), deadline);
                Ok(())
            }
            Err(too_large) => Err((receipt, self.too_large(too_large))),
        }
    }

    /// Sends messages of one key together.
    fn send_group(&mut self, mut group: Group<R>) {
        if group.members.len() == 1 {
            let Some(member) = group.members.pop() else { return };
            if let Err((receipt, error)) = self.send_alone(member) {
                self.done.push((receipt, Err(error)));
            }
            return;
        }
        let frame = self.sender().batch(&mut group.members, group.bytes);
        let deadline = group.members.first().and_then(|first| first.deadline);
        let receipts = group.members.into_iter().map(|member| member.receipt);
        match frame {
            Ok(frame) => self.push(frame, Receipts::Batch(receipts.collect()), deadline),
            Err(too_large) => {
                let error = self.too_large(too_large);
                self.done
                    .extend(receipts.map(|receipt| (receipt, Err(error.clone()))));
            }
        }
    }

    /// Sends all that waits for others.
    fn flush(&mut self) {
        let groups = self.batches.as_mut().map(Batches::take_all);
        for group in groups.into_iter().flatten() {
            self.send_group(group);
        }
    }

    fn push(&mut self, frame: SendFrame, receipts: Receipts<R>, deadline: Option<Instant>) {
        let is_open = self.attach.is_open();
        if is_open {
            put(&mut self.out, &frame);
        }
        let sequence = self.next_sequence;
        self.next_sequence += receipts.count() as u64;
        self.pending_messages += receipts.count();
        self.pending.push_back(Pending {
            sequence,
            frame,
            receipts,
            sent: is_open,
            unsure: false,
            damaged: false,
            deadline,
        });
    }

    fn sender(&self) -> Sender<'_> {
        Sender {
            producer: self.id,
            name: &self.name,
            codec: self.setup.codec,
            first_sequence: self.next_sequence,
            most: self.max_message_size,
        }
    }

    fn too_large(&self, TooLarge(size): TooLarge) -> Error {
        let text = format!(
            "the message for {} has {size} bytes with its metadata, more than the broker's greatest size of {}",
            self.setup.topic, self.max_message_size
        );
        Error::new(ErrorKind::TooLarge, text)
    }

    /// A receipt arrived.
    pub(crate) fn receipt(&mut self, now: Instant, chance: f64, receipt: &CommandSendReceipt) -> After {
        match self.pending.front() {
            // A receipt behind the head answers a send that has already been given up.
            None => return After::Fine,
            Some(head) if receipt.sequence_id < head.sequence => return After::Fine,
            Some(head) if receipt.sequence_id > head.sequence => {
                let text = format!(
                    "a receipt on {} is for message {}, expected {}",
                    self.setup.topic, receipt.sequence_id, head.sequence
                );
                tracing::warn!("{text}; sending again from there");
                self.session_over(now, chance, None, &Error::new(ErrorKind::ConnectionLost, text));
                return After::Reopen;
            }
            Some(_) => {}
        }
        if let Some(pending) = self.pending.pop_front() {
            let result = self.judge(&pending, receipt);
            self.conclude(pending, result);
        }
        // What came meanwhile has waited long enough.
        if self.pending.is_empty() {
            self.flush();
        }
        After::Fine
    }

    /// Tells everybody in the entry. With a result that stands for all, each gets its place in the batch.
    fn conclude(&mut self, pending: Pending<R>, result: Result<Stored, Error>) {
        self.pending_messages -= pending.receipts.count();
        match pending.receipts {
            Receipts::Single(receipt) => self.done.push((receipt, result)),
            Receipts::Batch(receipts) => self.done.extend(
                (0..)
                    .zip(receipts)
                    .map(|(index, receipt)| (receipt, member(&result, index))),
            ),
        }
    }

    /// What a receipt says. The id (-1, -1) means that nothing was stored under this number.
    fn judge(&self, pending: &Pending<R>, receipt: &CommandSendReceipt) -> Result<Stored, Error> {
        let id = receipt.message_id.as_ref().map(|id| MessageId {
            ledger: id.ledger_id,
            entry: id.entry_id,
            // The broker does not say.
            partition: self.setup.partition,
            batch_index: -1,
        });
        match id {
            Some(id) if id.ledger != u64::MAX => Ok(Stored { id: Some(id) }),
            _ if pending.unsure && self.setup.persistent && !pending.damaged => Ok(Stored { id: None }),
            _ => {
                let text = format!(
                    "the broker dropped the message for {}: {}",
                    self.setup.topic,
                    if self.setup.persistent {
                        "its sequence number is not above the last one of this producer name"
                    } else {
                        "a topic that is not persistent keeps nothing without a ready consumer"
                    }
                );
                Err(if pending.unsure && self.setup.persistent {
                    Error::ambiguous(
                        ErrorKind::NotStored,
                        text + "; an earlier transmission may be stored",
                    )
                } else {
                    Error::new(ErrorKind::NotStored, text)
                })
            }
        }
    }

    /// The broker refused one send.
    pub(crate) fn send_error(&mut self, now: Instant, chance: f64, refusal: &CommandSendError) -> After {
        let code = ServerError::from_i32(refusal.error);
        let error = Error::refused(
            code,
            &refusal.message,
            format_args!("store a message for {}", self.setup.topic),
        );
        match code {
            ServerError::NotAllowedError | ServerError::IncompatibleSchema => {
                if let Some(at) = self
                    .pending
                    .iter()
                    .position(|pending| pending.highest_sequence() == refusal.sequence_id)
                    && let Some(pending) = self.pending.remove(at)
                {
                    self.conclude(pending, Err(error));
                }
                if self.pending.is_empty() {
                    self.flush();
                }
                After::Fine
            }
            ServerError::TopicTerminatedError | ServerError::ProducerFenced => {
                self.attach.end(error.clone());
                self.fail_all(&error);
                After::Fine
            }
            // A checksum that failed on the way is mended by sending the same bytes again, and
            // whatever else the broker has may pass: a new session sends all of it again.
            _ => {
                let damaged = self
                    .pending
                    .iter_mut()
                    .find(|pending| pending.highest_sequence() == refusal.sequence_id);
                if let Some(damaged) = damaged.filter(|_| code == ServerError::ChecksumError) {
                    (damaged.sent, damaged.damaged) = (false, true);
                }
                self.session_over(now, chance, None, &error);
                After::Reopen
            }
        }
    }

    /// The session is over. Nothing that is pending is lost.
    pub(crate) fn session_over(
        &mut self,
        now: Instant,
        chance: f64,
        target: Option<crate::lookup::Target>,
        error: &Error,
    ) {
        self.opening = None;
        self.out.clear();
        for pending in &mut self.pending {
            pending.unsure |= pending.sent;
            pending.sent = false;
        }
        if self.attach.lost(now, chance, target, error.clone()) {
            self.fail_all(error);
        }
    }

    /// Sends what has waited long enough for others, and fails what has waited too long for its receipt.
    pub(crate) fn on_time(&mut self, now: Instant) {
        let due = self.batches.as_mut().map(|batches| batches.take_due(now));
        for group in due.into_iter().flatten() {
            self.send_group(group);
        }
        self.time_out(now);
    }

    fn time_out(&mut self, now: Instant) {
        while let Some(head) = self.pending.front() {
            if head.deadline.is_none_or(|deadline| now < deadline) {
                return;
            }
            let Some(pending) = self.pending.pop_front() else {
                return;
            };
            let text = format!("no receipt from {} in time", self.setup.topic);
            let error = if pending.sent || pending.unsure {
                Error::ambiguous(ErrorKind::TimedOut, text + "; the message may be stored")
            } else {
                Error::new(ErrorKind::TimedOut, text + "; it was never sent")
            };
            self.conclude(pending, Err(error));
        }
    }

    /// When [`Producer::on_time`] has something to do.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        let deadline = self.pending.front().and_then(|pending| pending.deadline);
        let due = self.batches.as_ref().and_then(Batches::due);
        deadline.into_iter().chain(due).min()
    }

    /// Takes nothing more; what is pending still goes out.
    pub(crate) fn close(&mut self) {
        self.closing = true;
        self.flush();
    }

    pub(crate) fn topic(&self) -> &str {
        &self.setup.topic
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The command that ends the session.
    pub(crate) fn close_command(&mut self, request_id: u64) {
        let producer_id = self.id;
        self.transmit(&Command::CloseProducer(CommandCloseProducer {
            producer_id,
            request_id,
            ..CommandCloseProducer::default()
        }));
    }

    /// Ends it all: what is still pending fails.
    pub(crate) fn end(&mut self) {
        let error = self.ended_error();
        self.attach.end(error);
        let error = Error::ambiguous(
            ErrorKind::Closed,
            format!(
                "the producer on {} was closed before the receipt; the message may be stored",
                self.setup.topic
            ),
        );
        self.fail_all(&error);
    }

    fn fail_all(&mut self, error: &Error) {
        self.flush();
        while let Some(pending) = self.pending.pop_front() {
            let error = if pending.unsure && !error.is_ambiguous() {
                Error::ambiguous(
                    error.kind(),
                    format!("{error}; an earlier transmission may be stored"),
                )
            } else {
                error.clone()
            };
            self.conclude(pending, Err(error));
        }
    }

    fn ended_error(&self) -> Error {
        match self.attach.last_error() {
            Some(error) if self.attach.is_ended() => error.clone(),
            _ => Error::new(
                ErrorKind::Closed,
                format!("the producer on {} is closed", self.setup.topic),
            ),
        }
    }

    fn transmit(&mut self, command: &Command) {
        let mut frame = bytes::BytesMut::new();
        pulsar_wire::encode_frame(command, &mut frame);
        self.out.push(frame.freeze());
    }
}

/// Lets a frame out, without copying it.
fn put(out: &mut Vec<Bytes>, frame: &SendFrame) {
    out.push(frame.head.clone());
    if !frame.payload.is_empty() {
        out.push(frame.payload.clone());
    }
}

/// What the result of an entry is for its member at `index`.
fn member(result: &Result<Stored, Error>, index: i32) -> Result<Stored, Error> {
    let stored = result.as_ref().map_err(Clone::clone)?;
    let at = |id: MessageId| MessageId {
        batch_index: index,
        ..id
    };
    Ok(Stored {
        id: stored.id.map(at),
    })
}

#[cfg(test)]
mod tests;
