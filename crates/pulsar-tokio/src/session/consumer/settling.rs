//! What becomes of a message that was handed out: acknowledged, given back, or rewound to.

use std::time::{Duration, Instant};

use pulsar_wire::Command;
use pulsar_wire::proto::{
    CommandAckResponse, CommandFlow, CommandRedeliverUnacknowledgedMessages, MessageIdData,
};

use super::Consumer;
use crate::error::{Error, ErrorKind};
use crate::message::{EntryKey, Ticket};
use crate::session::entries::Settled;

impl<A> Consumer<A> {
    /// A message is settled; `waiter` learns when the broker has confirmed it. A member of a batch
    /// is settled when it is noted; the entry is acknowledged with its last member.
    pub(crate) fn ack(&mut self, now: Instant, ticket: Ticket, waiter: A) {
        if self.is_from_before_seek(ticket) {
            let text = format!(
                "the subscription on {} was moved since the message came",
                self.setup.topic
            );
            self.done
                .push((waiter, Err(Error::new(ErrorKind::SessionLost, text))));
            return;
        }
        let settled = if ticket.rest {
            self.entries.settle_rest(ticket.key, ticket.index)
        } else {
            self.entries.settle(ticket.key, ticket.index)
        };
        if settled != Settled::Unknown {
            self.return_permit(ticket);
        }
        if settled == Settled::Complete {
            self.rewind.settled(ticket.key);
        }
        match settled {
            Settled::Noted => self.done.push((waiter, Ok(()))),
            Settled::Complete if self.attach.is_open() => self.push_ack(ticket.key, Some(waiter)),
            Settled::Complete => {
                self.entries.unanswered(ticket.key);
                self.done.push((waiter, Err(self.not_connected())));
            }
            // Nothing is known of a single message that an earlier session settled: to acknowledge
            // it again does no harm.
            Settled::Unknown if ticket.of == 1 && self.attach.is_open() => {
                self.push_ack(ticket.key, Some(waiter))
            }
            Settled::Unknown => self.done.push((waiter, Err(self.not_connected()))),
        }
        self.flush(now);
    }

    /// Acknowledges an entry, behind what belongs to it: who waits for it waits for all.
    pub(super) fn push_ack(&mut self, key: EntryKey, waiter: Option<A>) {
        for chunk in self.chunks.with(key) {
            self.acks.push(*chunk, None);
        }
        self.acks.push(key, waiter);
    }

    fn not_connected(&self) -> Error {
        if self.attach.is_ended() {
            return Error::new(
                ErrorKind::Closed,
                format!("the consumer on {} is closed", self.setup.topic),
            );
        }
        Error::new(
            ErrorKind::SessionLost,
            format!(
                "no session on {} to acknowledge in; the message is acknowledged when it comes again",
                self.setup.topic
            ),
        )
    }

    /// A message is given back: the broker is asked for it again after the nack delay.
    ///
    /// Only on `Shared` and `Key_Shared`: elsewhere a broker would resend everything.
    pub(crate) fn nack(&mut self, now: Instant, ticket: Ticket) {
        if self.release(ticket) && self.attach.is_open() {
            let nacks = self.nacks.entry(now + self.setup.nack_delay).or_default();
            nacks.extend_from_slice(self.chunks.with(ticket.key));
            nacks.push(ticket.key);
        }
        self.redeliver(now);
        self.flush(now);
    }

    /// A message and everything unacknowledged behind it come again, in order.
    ///
    /// Only on `Exclusive` and `Failover`. What comes from before the rewind is dropped: it
    /// carries the older epoch.
    pub(crate) fn rewind(&mut self, now: Instant, ticket: Ticket) {
        self.release(ticket);
        self.rewind_all(now);
    }

    pub(super) fn rewind_all(&mut self, now: Instant) {
        self.rewind.begin(self.attach.is_open());
        self.drop_queue();
        self.flush(now);
    }

    /// Asks for the rewind once no acknowledgement is on its way: what the broker reads again
    /// before it takes one would come after the confirmation, and run twice.
    fn rewind_if_due(&mut self) {
        if self.acks.unanswered() == 0 && self.rewind.ask() {
            let command = CommandRedeliverUnacknowledgedMessages {
                consumer_id: self.id,
                message_ids: Vec::new(),
                consumer_epoch: Some(self.rewind.epoch()),
            };
            self.transmit(&Command::RedeliverUnacknowledgedMessages(command));
        }
    }

    /// Takes a message back that was handed out and not settled. False if it was no longer.
    fn release(&mut self, ticket: Ticket) -> bool {
        if self.is_from_before_seek(ticket) {
            return false;
        }
        let was_handed = self.entries.release(ticket.key, ticket.index);
        if was_handed {
            self.return_permit(ticket);
        }
        was_handed
    }

    /// Once for each message: what is settled twice must not let in one more than there is room for.
    fn return_permit(&mut self, ticket: Ticket) {
        if ticket.session == self.session {
            self.give_back(1);
        }
    }

    /// The broker's answer to a group of acknowledgements.
    pub(crate) fn ack_response(&mut self, now: Instant, response: &CommandAckResponse) {
        let Some(answered) = self.acks.answer(response) else {
            return;
        };
        let mut group = answered.group;
        match answered.result {
            Ok(()) => {
                for (key, waiter) in group.drain(..) {
                    self.entries.confirmed(key);
                    self.chunks.confirmed(key);
                    self.rewind.confirmed(key);
                    self.done.extend(waiter.map(|waiter| (waiter, Ok(()))));
                }
                self.acks.recycle(group);
            }
            Err(error) => self.unanswered(group, &error),
        }
        self.flush(now);
    }

    /// Sends what has gathered: acknowledgements, and permits for what has been settled.
    pub(crate) fn flush(&mut self, now: Instant) {
        if !self.attach.is_open() {
            return;
        }
        self.replenish();
        let Some(ids) = &self.ids else { return };
        if let Some(ack) = self.acks.next(now, self.id, || ids.next()) {
            self.transmit(&Command::Ack(ack));
        }
        self.rewind_if_due();
    }

    pub(super) fn replenish(&mut self) {
        if self.closing || !self.attach.is_open() {
            return;
        }
        if let Some(grant) = self.permits.grant() {
            self.flow(grant);
        }
    }

    pub(super) fn give_back(&mut self, count: u32) {
        if self.attach.is_open() {
            self.permits.give_back(count);
        }
    }

    pub(super) fn flow(&mut self, message_permits: u32) {
        self.transmit(&Command::Flow(CommandFlow {
            consumer_id: self.id,
            message_permits,
        }));
    }

    /// Does what is due.
    pub(crate) fn on_time(&mut self, now: Instant) {
        self.redeliver(now);
        if self.rewind.is_overdue(now) && self.queue.is_empty() && self.permits.outstanding() > 0 {
            self.rewind_all(now);
        }
        if let Some(group) = self.acks.overdue(now) {
            let error = Error::ambiguous(
                ErrorKind::TimedOut,
                format!(
                    "the broker did not confirm an acknowledgement on {} in time",
                    self.setup.topic
                ),
            );
            self.unanswered(group, &error);
        }
        self.flush(now);
    }

    fn redeliver(&mut self, now: Instant) {
        let later = self.nacks.split_off(&(now + Duration::from_nanos(1)));
        let due = std::mem::replace(&mut self.nacks, later);
        if due.is_empty() || !self.attach.is_open() {
            return;
        }
        let mut keys: Vec<EntryKey> = due.into_values().flatten().collect();
        keys.sort_unstable();
        keys.dedup();
        let message_ids = keys
            .into_iter()
            .map(|key| MessageIdData {
                ledger_id: key.ledger,
                entry_id: key.entry,
                ..MessageIdData::default()
            })
            .collect();
        let consumer_id = self.id;
        self.transmit(&Command::RedeliverUnacknowledgedMessages(
            CommandRedeliverUnacknowledgedMessages {
                consumer_id,
                message_ids,
                consumer_epoch: None,
            },
        ));
    }

    /// When [`Consumer::on_time`] wants to be called.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        let nack = self.nacks.keys().next().copied();
        let times = [
            nack,
            self.acks.deadline(),
            self.rewind.next_check(),
            self.stall.next_check(),
        ];
        times.into_iter().flatten().min()
    }
}
