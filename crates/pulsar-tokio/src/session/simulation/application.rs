//! What the users of producers and consumers do.

use std::time::Duration;

use bytes::Bytes;
use pulsar_wire::proto::InitialPosition;
use rand::Rng;

use super::endpoint::{Endpoint, Machine};
use super::truth::{Handed, Outcome, number_of};
use super::world::{Check, SUBSCRIPTION, TOPIC, World};
use crate::message::{Key, NewMessage, Payload, Ticket};
use crate::session::attach::Attach;
use crate::session::consumer::{Consumer, ConsumerSetup, HandOut, Kept};
use crate::session::cut::{Cut, Next};
use crate::session::permits::Window;
use crate::session::producer::{Producer, ProducerSetup};

const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
const NACK_DELAY: Duration = Duration::from_secs(1);
const STALL_CHECK: Duration = Duration::from_secs(60);

impl World {
    // Publishing.

    pub(super) fn publish(&mut self) -> Check {
        let Some(at) = self.any(|endpoint| matches!(endpoint.machine, Machine::Producer(_))) else {
            return Ok(());
        };
        let key = self.any_key();
        let (number, payload) = self.truth.publish(key.clone());
        let mut message = NewMessage::new(payload);
        if let Some(text) = key {
            message = message.key(Key { text, base64: false });
        }
        if self.rng.random_bool(0.1) {
            let ahead = self.rng.random_range(0..6_000);
            message = message.deliver_at_ms((self.unix_ms() + ahead).cast_signed());
        }
        let (now, now_ms) = (self.now, self.unix_ms());
        let token = self.truth.promise_receipt(number);
        self.note(|| format!("producer {at} sends message {number}, promise {token}"));
        if let Machine::Producer(producer) = &mut self.endpoints[at].machine
            && let Err((token, error)) = producer.send(now, now_ms, message, token)
        {
            self.truth.resolve(token, Outcome::from(Err::<(), _>(error)))?;
        }
        self.carry_out(at)
    }

    pub(super) fn any_key(&mut self) -> Option<Bytes> {
        let key = self.rng.random_range(0..=self.plan.keys);
        (key > 0).then(|| format!("key-{key}").into())
    }

    /// Opens a producer unless there are enough. Each name is used by one at a time; who comes
    /// after one that was closed may still find the name taken.
    pub(super) fn open_producer(&mut self) {
        let client = self.rng.random_range(0..self.plan.clients);
        let used: Vec<u32> = self
            .endpoints
            .iter()
            .filter(|endpoint| !endpoint.is_over() && matches!(endpoint.machine, Machine::Producer(_)))
            .map(|endpoint| endpoint.name)
            .collect();
        let Some(free) = (0..3).find(|name| !used.contains(name)) else {
            return;
        };
        let name = self.plan.named_producers.then(|| format!("producer-{free}"));
        let setup = ProducerSetup {
            topic: TOPIC.to_owned(),
            name,
            initial_subscription: Some(SUBSCRIPTION.to_owned()),
            properties: Vec::new(),
            send_timeout: self.plan.send_timeout,
            persistent: true,
            partition: -1,
            codec: self.plan.codec,
            batching: self.plan.batching,
        };
        let id = self.next_session[client];
        self.next_session[client] += 1;
        let attach = Attach::new(self.now, OPERATION_TIMEOUT);
        let machine = Machine::Producer(Box::new(Producer::new(id, setup, attach)));
        self.add(client, machine, free);
    }

    // Consuming.

    pub(super) fn open_consumer(&mut self) {
        let client = self.rng.random_range(0..self.plan.clients);
        let setup = ConsumerSetup {
            topic: TOPIC.to_owned(),
            subscription: SUBSCRIPTION.to_owned(),
            sub_type: self.plan.kind,
            name: self
                .rng
                .random_bool(0.5)
                .then(|| format!("consumer-{}", self.rng.random_range(0..3))),
            initial_position: InitialPosition::Earliest,
            properties: Vec::new(),
            subscription_properties: Vec::new(),
            priority: None,
            key_ranges: Vec::new(),
            window: Window {
                messages: self.plan.window,
                bytes: self.plan.window_bytes,
            },
            nack_delay: NACK_DELAY,
            stall_check: STALL_CHECK,
            partition: -1,
            creates_topic: true,
            kept: Kept::Durably,
        };
        let attach = Attach::new(self.now, OPERATION_TIMEOUT);
        let machine = Machine::Consumer(Box::new(Consumer::new(setup, attach)));
        self.add(client, machine, 0);
    }

    fn add(&mut self, client: usize, machine: Machine, name: u32) {
        let at = self.endpoints.len();
        let what = match machine {
            Machine::Producer(_) => "producer",
            Machine::Consumer(_) => "consumer",
        };
        self.note(|| format!("{what} {at} of client {client} is made"));
        self.endpoints.push(Endpoint::new(client, machine, name));
    }

    /// Takes one step of what a receiver does; others can come between any two of them. Says
    /// whether there was something to do.
    pub(super) fn read(&mut self, at: usize) -> Result<bool, String> {
        let now = self.now;
        let sessions = self.endpoints[at].sessions;
        let Some((machine, reader)) = self.endpoints[at].consumer() else {
            return Ok(false);
        };
        let Some(cut) = &mut reader.cut else {
            reader.cut = machine.next_arrived().map(Cut::new);
            return Ok(reader.cut.is_some());
        };
        let next = cut.next();
        let is_over = cut.is_over();
        let arrived = &mut cut.arrived;
        let handed = match &next {
            Next::Member(member) => machine.hand_out(arrived, member.index),
            Next::Gone(index) => {
                machine.gone(arrived, *index);
                HandOut::Skip
            }
            Next::End => HandOut::Stale,
        };
        let is_through = is_over || handed == HandOut::Stale;
        if is_through {
            machine.cut_over(arrived);
            machine.flush(now);
        }
        let mut told = None;
        if let (Next::Member(member), HandOut::Yes) = (&next, handed) {
            let ticket = Ticket {
                part: 0,
                key: arrived.key,
                index: member.index,
                of: arrived.of,
                rest: member.rest,
                session: arrived.session,
            };
            let metadata = arrived.metadata.as_ref();
            let handed = Handed {
                ticket,
                number: match &member.payload {
                    Payload::Bytes(payload) => number_of(payload),
                    Payload::Undecodable { .. } => None,
                },
                key: member.key.as_ref().map(|key| &key.text),
                is_delayed: metadata.is_some_and(|metadata| metadata.deliver_at_time.is_some()),
            };
            if !machine.snapshot().active {
                return Err("a standby hands something out".to_owned());
            }
            self.truth.handed_out(reader, &handed)?;
            let of_session = reader.in_hand.iter().filter(|ticket| ticket.session == sessions);
            if of_session.count() > machine.snapshot().held as usize {
                return Err("more is in hand than permits are held".to_owned());
            }
            told = Some((ticket.key.entry, ticket.index, handed.number));
        }
        if is_through {
            reader.cut = None;
        }
        self.note(|| match told {
            Some((entry, index, number)) => {
                format!("consumer {at} gets ({entry}, {index}), message {number:?}")
            }
            None => format!("consumer {at} cuts: {handed:?}"),
        });
        self.carry_out(at)?;
        Ok(true)
    }

    pub(super) fn ack(&mut self, at: usize, which: usize) -> Check {
        let now = self.now;
        let token = self.truth.promise_ack();
        let Some((machine, reader)) = self.endpoints[at].consumer() else {
            return Ok(());
        };
        let ticket = reader.in_hand.remove(which);
        let from = ticket.index;
        let to = if ticket.rest { ticket.of } else { from + 1 };
        reader
            .settled
            .extend((from..to).map(|index| (ticket.key.entry, index)));
        machine.ack(now, ticket, token);
        if self.rng.random_bool(0.05) {
            // An application may acknowledge twice.
            machine.ack(now, ticket, self.truth.promise_ack());
        }
        let place = (ticket.key.entry, ticket.index);
        self.note(|| format!("consumer {at} acknowledges {place:?}, promise {token}"));
        self.carry_out(at)
    }

    /// A nack or, where all goes back together, a rewind.
    pub(super) fn give_back(&mut self, at: usize, which: usize) -> Check {
        let now = self.now;
        let is_single = self.plan.redelivers_singly();
        let endpoint = &mut self.endpoints[at];
        let has_ended = endpoint.machine.attach().is_ended();
        let Some((machine, reader)) = endpoint.consumer() else {
            return Ok(());
        };
        let ticket = reader.in_hand.remove(which);
        if !has_ended && is_single {
            machine.nack(now, ticket);
        } else if !has_ended {
            machine.rewind(now, ticket);
        }
        let place = (ticket.key.entry, ticket.index);
        self.note(|| format!("consumer {at} gives {place:?} back"));
        self.carry_out(at)
    }

    /// Any usable endpoint of the kind.
    pub(super) fn any(&mut self, is_wanted: impl Fn(&Endpoint) -> bool) -> Option<usize> {
        let usable: Vec<usize> = (0..self.endpoints.len())
            .filter(|at| is_wanted(&self.endpoints[*at]) && self.endpoints[*at].is_usable())
            .collect();
        (!usable.is_empty()).then(|| usable[self.rng.random_range(0..usable.len())])
    }

    /// Any consumer that a message is in hand of, and which of them.
    pub(super) fn any_in_hand(&mut self) -> Option<(usize, usize)> {
        let holding: Vec<usize> = (0..self.endpoints.len())
            .filter(|at| !self.endpoints[*at].reader.in_hand.is_empty())
            .collect();
        if holding.is_empty() {
            return None;
        }
        let at = holding[self.rng.random_range(0..holding.len())];
        let count = self.endpoints[at].reader.in_hand.len();
        Some((at, self.rng.random_range(0..count)))
    }
}
