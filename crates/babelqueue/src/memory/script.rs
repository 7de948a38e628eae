//! What a test wants to go wrong.

use std::collections::VecDeque;

use crate::transport::{TransportError, TransportErrorKind, WriteError, WriteErrorKind};

/// What a consumer or publisher asks of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// The next delivery.
    Receive,
    /// A message, retry or dead letter.
    Write,
    /// An acknowledgement.
    Ack,
    /// A negative acknowledgement.
    Nack,
    /// The closing of a subscription.
    Close,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) writes: VecDeque<Option<WriteErrorKind>>,
    pub(super) faults: VecDeque<(Call, TransportErrorKind)>,
    pub(super) held: Vec<Call>,
}

impl Script {
    pub(super) fn write_fault(&mut self, topic: &str) -> Result<(), WriteError> {
        match self.writes.pop_front().flatten() {
            Some(kind) => Err(WriteError::new(kind, topic).with_source("fault by script")),
            None => Ok(()),
        }
    }

    pub(super) fn fault(&mut self, call: Call) -> Result<(), TransportError> {
        let Some(index) = self.faults.iter().position(|(of, _)| *of == call) else {
            return Ok(());
        };
        match self.faults.remove(index) {
            Some((_, kind)) => Err(TransportError::new(kind, "fault by script")),
            None => Ok(()),
        }
    }
}
