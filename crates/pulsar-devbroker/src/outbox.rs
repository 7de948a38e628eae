//! What the broker wants sent.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use pulsar_wire::Command;
use pulsar_wire::proto::{CommandCloseConsumer, CommandCloseProducer, CommandMessage, CommandSuccess};

use crate::hidden::Hidden;
use crate::peer::{Key, PeerId};
use crate::refusal::{Refusal, brief};

/// The request id of what the broker says unasked.
pub(crate) const UNASKED: u64 = u64::MAX;

/// Something for the driver to do.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Send a frame, unless the connection is gone by now.
    Send {
        /// To whom.
        peer: PeerId,
        /// The command.
        command: Command,
        /// With MESSAGE: the message part of the frame, as it was received.
        message: Option<Bytes>,
    },
    /// Close the connection. The broker has already forgotten it.
    Close {
        /// Whose.
        peer: PeerId,
        /// What the peer did.
        why: String,
    },
}

/// Of a message only the length: the content may be personal.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send {
                peer,
                command,
                message,
            } => f
                .debug_struct("Send")
                .field("peer", peer)
                .field("command", command)
                .field("message", &message.as_deref().map(Hidden))
                .finish(),
            Self::Close { peer, why } => f
                .debug_struct("Close")
                .field("peer", peer)
                .field("why", why)
                .finish(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Output>,
}

impl Outbox {
    pub(crate) fn send(&mut self, peer: PeerId, command: impl Into<Command>) {
        self.queue.push_back(Output::Send {
            peer,
            command: command.into(),
            message: None,
        });
    }

    pub(crate) fn message(&mut self, peer: PeerId, command: CommandMessage, message: Bytes) {
        self.queue.push_back(Output::Send {
            peer,
            command: command.into(),
            message: Some(message),
        });
    }

    pub(crate) fn success(&mut self, peer: PeerId, request_id: u64) {
        self.send(
            peer,
            CommandSuccess {
                request_id,
                schema: None,
            },
        );
    }

    pub(crate) fn refuse(&mut self, peer: PeerId, request_id: u64, refusal: Refusal) {
        self.send(peer, refusal.answer(request_id));
    }

    pub(crate) fn close_consumer(&mut self, key: Key) {
        self.send(
            key.peer,
            CommandCloseConsumer {
                consumer_id: key.id,
                request_id: UNASKED,
                ..Default::default()
            },
        );
    }

    pub(crate) fn close_producer(&mut self, key: Key) {
        self.send(
            key.peer,
            CommandCloseProducer {
                producer_id: key.id,
                request_id: UNASKED,
                ..Default::default()
            },
        );
    }

    pub(crate) fn close(&mut self, peer: PeerId, why: impl Into<String>) {
        self.queue.push_back(Output::Close {
            peer,
            why: brief(why.into()),
        });
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }
}
