//! A producer or consumer of the simulation: the real machine, and what its driver knows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bytes::Bytes;
use pulsar_wire::{Command, MessageFrame};

use crate::endpoint::After;
use crate::error::Error;
use crate::lookup::{Target, unexpected};
use crate::message::Ticket;
use crate::pool::Role;
use crate::session::attach::Attach;
use crate::session::connection::RequestIds;
use crate::session::consumer::Consumer;
use crate::session::cut::Cut;
use crate::session::producer::{self, Producer};

/// Who waits for a receipt or a confirmation: the number of a promise.
pub(super) type Token = usize;

#[derive(Debug)]
pub(super) enum Machine {
    Producer(Box<Producer<Token>>),
    Consumer(Box<Consumer<Token>>),
}

/// What the driver of an endpoint waits for, other than the time and its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    Nothing,
    /// A connection to look up on.
    LinkToLookUp(u64),
    LookUp {
        link: u64,
        request: u64,
        deadline: Instant,
    },
    /// A connection to open the session on.
    LinkToOpen(u64),
    Close {
        link: u64,
        request: u64,
        deadline: Instant,
    },
    Over,
}

#[derive(Debug)]
pub(super) struct Endpoint {
    /// Which of the producers' names it has.
    pub(super) name: u32,
    pub(super) client: usize,
    pub(super) machine: Machine,
    pub(super) link: Option<u64>,
    /// The request on `link` that opens the session, while its answer is awaited.
    pub(super) request: Option<u64>,
    pub(super) busy: Busy,
    pub(super) closing: Option<Instant>,
    /// How many sessions were asked for.
    pub(super) sessions: u32,
    /// Whether the caller has got it.
    pub(super) was_open: bool,
    pub(super) reader: Reader,
}

/// What the application has of a consumer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) cut: Option<Cut>,
    pub(super) in_hand: Vec<Ticket>,
    /// Members that were acknowledged and whose entry is not confirmed.
    pub(super) settled: BTreeSet<(u64, u32)>,
    /// Confirmed entries, and how often the cursor had been set back before.
    pub(super) confirmed: BTreeMap<u64, u32>,
    /// How often the cursor had been set back when the last arrival of an entry was sent.
    pub(super) arrived: BTreeMap<u64, u32>,
}

impl Endpoint {
    pub(super) fn new(client: usize, machine: Machine, name: u32) -> Self {
        Self {
            name,
            client,
            machine,
            link: None,
            request: None,
            busy: Busy::Nothing,
            closing: None,
            sessions: 0,
            was_open: false,
            reader: Reader::default(),
        }
    }

    pub(super) fn role(&self) -> Role {
        match self.machine {
            Machine::Producer(_) => Role::Publish,
            Machine::Consumer(_) => Role::Consume,
        }
    }

    pub(super) fn consumer(&mut self) -> Option<(&mut Consumer<Token>, &mut Reader)> {
        match &mut self.machine {
            Machine::Consumer(consumer) => Some((consumer, &mut self.reader)),
            Machine::Producer(_) => None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.busy == Busy::Over
    }

    pub(super) fn machine_is_open(&self) -> bool {
        match &self.machine {
            Machine::Producer(machine) => machine.attach.is_open(),
            Machine::Consumer(machine) => machine.attach.is_open(),
        }
    }

    /// Whether the caller can still use it.
    pub(super) fn is_usable(&mut self) -> bool {
        self.was_open && self.closing.is_none() && !self.machine.attach().is_ended()
    }
}

/// What [`crate::endpoint::Machine`] is to the real driver.
impl Machine {
    pub(super) fn attach(&mut self) -> &mut Attach {
        match self {
            Self::Producer(machine) => &mut machine.attach,
            Self::Consumer(machine) => &mut machine.attach,
        }
    }

    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Producer(machine) => machine.id(),
            Self::Consumer(machine) => machine.id(),
        }
    }

    pub(super) fn open(&mut self, fresh: u64, request_id: u64, ids: RequestIds, max_message_size: usize) {
        match self {
            Self::Producer(machine) => machine.open(request_id, max_message_size),
            Self::Consumer(machine) => machine.open(fresh, request_id, ids, max_message_size),
        }
    }

    pub(super) fn answer(&mut self, now: Instant, chance: f64, command: Command) -> After {
        let request_id = command.request_id().unwrap_or_default();
        match (self, command) {
            (Self::Producer(machine), Command::ProducerSuccess(success)) => {
                machine.opened(success.request_id, &success)
            }
            (Self::Producer(machine), other) => {
                machine.refused(request_id, now, chance, &unexpected(&other, "PRODUCER"));
            }
            (Self::Consumer(machine), Command::Success(success)) => machine.opened(now, success.request_id),
            (Self::Consumer(machine), Command::ConsumerStatsResponse(response)) => {
                if machine.account(now, chance, &response) {
                    return After::Leave;
                }
            }
            (Self::Consumer(machine), other) => {
                machine.refused(request_id, now, chance, unexpected(&other, "SUBSCRIBE"));
            }
        }
        After::Nothing
    }

    pub(super) fn command(
        &mut self,
        now: Instant,
        chance: f64,
        command: Command,
        message: Option<Bytes>,
    ) -> After {
        match (self, command) {
            (Self::Producer(machine), Command::SendReceipt(receipt)) => {
                leave_if(machine.receipt(now, chance, &receipt))
            }
            (Self::Producer(machine), Command::SendError(error)) => {
                leave_if(machine.send_error(now, chance, &error))
            }
            (Self::Producer(_), Command::CloseProducer(close)) => {
                After::Closed(close.assigned_broker_service_url)
            }
            (Self::Consumer(machine), Command::Message(delivery)) => {
                machine.message(now, delivery, MessageFrame::parse(message.unwrap_or_default()));
                After::Nothing
            }
            (Self::Consumer(machine), Command::AckResponse(response)) => {
                machine.ack_response(now, &response);
                After::Nothing
            }
            (Self::Consumer(machine), Command::ActiveConsumerChange(change)) => {
                machine.active_change(change.is_active.unwrap_or_default());
                After::Nothing
            }
            (Self::Consumer(_), Command::CloseConsumer(close)) => {
                After::Closed(close.assigned_broker_service_url)
            }
            _ => After::Nothing,
        }
    }

    pub(super) fn session_over(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error) {
        match self {
            Self::Producer(machine) => machine.session_over(now, chance, target, &error),
            Self::Consumer(machine) => machine.session_over(now, chance, target, error),
        }
    }

    pub(super) fn on_time(&mut self, now: Instant) {
        match self {
            Self::Producer(machine) => machine.on_time(now),
            Self::Consumer(machine) => machine.on_time(now),
        }
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        match self {
            Self::Producer(machine) => machine.next_time(),
            Self::Consumer(machine) => machine.next_time(),
        }
    }

    pub(super) fn close(&mut self) {
        match self {
            Self::Producer(machine) => machine.close(),
            Self::Consumer(machine) => machine.close(),
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        match self {
            Self::Producer(machine) => machine.pending() == 0,
            Self::Consumer(machine) => machine.is_drained(),
        }
    }

    pub(super) fn close_command(&mut self, request_id: u64) {
        match self {
            Self::Producer(machine) => machine.close_command(request_id),
            Self::Consumer(machine) => machine.close_command(request_id),
        }
    }

    pub(super) fn end(&mut self) {
        match self {
            Self::Producer(machine) => machine.end(),
            Self::Consumer(machine) => machine.end(),
        }
    }

    pub(super) fn frames(&mut self) -> &mut Vec<Bytes> {
        match self {
            Self::Producer(machine) => &mut machine.out,
            Self::Consumer(machine) => &mut machine.out,
        }
    }
}

fn leave_if(after: producer::After) -> After {
    match after {
        producer::After::Fine => After::Nothing,
        producer::After::Reopen => After::Leave,
    }
}
