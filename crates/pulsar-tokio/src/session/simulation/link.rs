//! A connection of the simulation: two ways for frames, each of which can stall or end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use bytes::Bytes;
use pulsar_devbroker::PeerId;
use pulsar_wire::{Command, Frame};

use crate::pool::Role;
use crate::session::connection::Connection;

/// Who waits for an answer: an endpoint, by its place in the world.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    LookUp(usize),
    Session(usize),
    Close(usize),
}

/// A frame on its way to the client.
#[derive(Debug)]
pub(super) struct Down {
    pub(super) command: Command,
    pub(super) message: Option<Bytes>,
    /// How often the cursor had been set back when the broker sent it.
    pub(super) epoch: u32,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Way<T> {
    pub(super) queue: VecDeque<T>,
    pub(super) stalled: Option<Instant>,
    /// Nothing comes behind what is queued but the end.
    pub(super) ends: bool,
    /// The receiver has seen the end, or went away itself.
    pub(super) over: bool,
}

impl<T> Way<T> {
    fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            stalled: None,
            ends: false,
            over: false,
        }
    }

    pub(super) fn push(&mut self, frame: T) {
        if !self.ends && !self.over {
            self.queue.push_back(frame);
        }
    }

    pub(super) fn is_ready(&self, now: Instant) -> bool {
        self.has_something() && self.stalled.is_none_or(|until| until <= now)
    }

    pub(super) fn has_something(&self) -> bool {
        !self.over && (!self.queue.is_empty() || self.ends)
    }

    /// The sender is gone, and what is queued behind `kept` frames with it.
    pub(super) fn cut(&mut self, kept: usize) {
        self.queue.truncate(kept);
        self.ends = true;
    }

    /// The receiver is gone.
    pub(super) fn abandon(&mut self) {
        self.queue.clear();
        self.over = true;
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: usize,
    pub(super) role: Role,
    pub(super) peer: PeerId,
    pub(super) connection: Connection<Waiter>,
    pub(super) is_up: bool,
    pub(super) handshake_until: Instant,
    /// The endpoints on it by the numbers of their sessions.
    pub(super) sessions: BTreeMap<u64, usize>,
    pub(super) to_broker: Way<Frame>,
    pub(super) to_client: Way<Down>,
    /// Producers that the broker closed unasked: messages may have been on their way to them.
    pub(super) closed_producers: BTreeSet<u64>,
}

impl Link {
    pub(super) fn new(
        client: usize,
        role: Role,
        peer: PeerId,
        connection: Connection<Waiter>,
        until: Instant,
    ) -> Self {
        let mut link = Self {
            client,
            role,
            peer,
            connection,
            is_up: false,
            handshake_until: until,
            sessions: BTreeMap::new(),
            to_broker: Way::new(),
            to_client: Way::new(),
            closed_producers: BTreeSet::new(),
        };
        let hello = link.connection.connect(None);
        link.send(hello);
        link
    }

    pub(super) fn send(&mut self, command: Command) {
        self.to_broker.push(Frame {
            command,
            message: None,
        });
    }

    /// Whether the client has given it up.
    pub(super) fn is_down(&self) -> bool {
        self.to_client.over
    }

    pub(super) fn is_silent(&self) -> bool {
        self.to_broker.queue.is_empty() && self.to_client.queue.is_empty()
    }
}
