//! A producer's sends from the call to the receipt, across sessions.
//!
//! Everything that has no receipt yet stays in `pending`, in order, with the frame as it was
//! encoded, and is sent again with the same sequence numbers when the next session opens. A send
//! ends only with a receipt, with the broker's refusal of that message, or with its time running
//! out, and the latter says that the message may be there all the same.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pulsar_wire::proto::{
    CommandCloseProducer, CommandProducer, CommandProducerSuccess, CommandSend, CommandSendError,
    CommandSendReceipt, MessageMetadata,
};
use pulsar_wire::{Command, ServerError, encode_send, message_size};

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
    pending: VecDeque<Pending<R>>,
    /// The number of the request that opens, while its answer is awaited.
    opening: Option<u64>,
    closing: bool,
    pub(crate) out: Vec<Bytes>,
    pub(crate) done: Vec<(R, Result<Stored, Error>)>,
}

#[derive(Debug)]
struct Pending<R> {
    sequence: u64,
    frame: Bytes,
    receipt: R,
    /// Whether it was sent in the current session.
    sent: bool,
    /// Whether an earlier session sent it and ended before the receipt: it may be stored.
    unsure: bool,
    /// Whether the broker refused a transmission of it as damaged. What was sent behind it may be
    /// stored, and a broker that deduplicates then drops this one however often it comes.
    damaged: bool,
    deadline: Option<Instant>,
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
            setup,
            id,
            epoch: 0,
            is_first: true,
            next_sequence: 0,
            max_message_size: 0,
            pending: VecDeque::new(),
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

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
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
            self.out.push(pending.frame.clone());
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

    /// Takes a message. It goes out at once when a session is open, else when the next one opens.
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
        let payload = message.payload.clone();
        let metadata = self.metadata(now_ms, message);
        let size = message_size(&metadata, payload.len());
        if size > self.max_message_size {
            let text = format!(
                "the message for {} has {size} bytes with its metadata, more than the broker's greatest size of {}",
                self.setup.topic, self.max_message_size
            );
            return Err((receipt, Error::new(ErrorKind::TooLarge, text)));
        }
        let sequence = self.next_sequence;
        let send = CommandSend {
            producer_id: self.id,
            sequence_id: sequence,
            num_messages: None,
            ..CommandSend::default()
        };
        let frame = encode_send(&send, &metadata, &payload);
        self.next_sequence += 1;
        let is_open = self.attach.is_open();
        if is_open {
            self.out.push(frame.clone());
        }
        self.pending.push_back(Pending {
            sequence,
            frame,
            receipt,
            sent: is_open,
            unsure: false,
            damaged: false,
            deadline: self.setup.send_timeout.map(|timeout| now + timeout),
        });
        Ok(())
    }

    fn metadata(&self, now_ms: u64, message: NewMessage) -> MessageMetadata {
        let (partition_key, partition_key_b64_encoded) = match message.key {
            Some(key) => (Some(key.text), key.base64.then_some(true)),
            None => (None, None),
        };
        MessageMetadata {
            producer_name: self.name.clone(),
            sequence_id: self.next_sequence,
            publish_time: now_ms,
            properties: message.properties,
            partition_key,
            partition_key_b64_encoded,
            ordering_key: message.ordering_key,
            deliver_at_time: message.deliver_at_ms,
            event_time: message.event_time_ms,
            ..MessageMetadata::default()
        }
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
            self.done.push((pending.receipt, result));
        }
        After::Fine
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
                    .position(|pending| pending.sequence == refusal.sequence_id)
                    && let Some(pending) = self.pending.remove(at)
                {
                    self.done.push((pending.receipt, Err(error)));
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
                    .find(|pending| pending.sequence == refusal.sequence_id);
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

    /// Fails what has waited too long for its receipt.
    pub(crate) fn timed_out(&mut self, now: Instant) {
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
            self.done.push((pending.receipt, Err(error)));
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.pending.front().and_then(|pending| pending.deadline)
    }

    /// Takes nothing more; what is pending still goes out.
    pub(crate) fn close(&mut self) {
        self.closing = true;
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
        self.done.extend(self.pending.drain(..).map(|pending| {
            let error = if pending.unsure && !error.is_ambiguous() {
                Error::ambiguous(
                    error.kind(),
                    format!("{error}; an earlier transmission may be stored"),
                )
            } else {
                error.clone()
            };
            (pending.receipt, Err(error))
        }));
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

#[cfg(test)]
mod tests;
