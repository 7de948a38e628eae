//! A transport that takes notes of how a delivery is settled.

use std::future::{Ready, pending, ready};
use std::sync::{Arc, Mutex, PoisonError};

use babelqueue_core::Outgoing;

use crate::consumer::{ConsumerError, ConsumerErrorKind};
use crate::transport::{Capabilities, Received, Transport, TransportError, WriteError};

/// What happened to the one delivery.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) hooks: Vec<&'static str>,
    pub(super) error: Option<NotedError>,
    pub(super) published: Option<Outgoing>,
    pub(super) nacked: bool,
}

/// What `on_error` was told first.
pub(super) struct NotedError {
    pub(super) kind: ConsumerErrorKind,
    pub(super) text: String,
    pub(super) envelope: bool,
}

impl Notes {
    pub(super) fn error(&mut self, error: &ConsumerError, envelope: bool) {
        self.hooks.push("on_error");
        self.error.get_or_insert(NotedError {
            kind: error.kind(),
            text: error.to_string(),
            envelope,
        });
    }
}

pub(super) struct Recorder {
    pub(super) notes: Arc<Mutex<Notes>>,
    pub(super) capabilities: Capabilities,
}

impl Recorder {
    fn note(&self, note: impl FnOnce(&mut Notes)) {
        note(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Transport for Recorder {
    type Origin = ();
    type Ack = Ready<Result<(), TransportError>>;

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn receive(&self) -> Result<Received<()>, TransportError> {
        pending().await
    }

    async fn publish(&self, (): &(), outgoing: &Outgoing) -> Result<(), WriteError> {
        self.note(|notes| notes.published = Some(outgoing.clone()));
        Ok(())
    }

    fn ack(&self, (): &()) -> Self::Ack {
        ready(Ok(()))
    }

    async fn nack(&self, (): &()) -> Result<(), TransportError> {
        self.note(|notes| notes.nacked = true);
        Ok(())
    }

    async fn close(&self) -> Result<(), TransportError> {
        Ok(())
    }
}
