//! What the core wants sent on a connection and its task has not taken yet.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pulsar_wire::Command;
use tokio::sync::Notify;

/// A command, and with MESSAGE what stands behind it.
pub(super) type Outgoing = (Command, Option<Bytes>);

pub(super) struct Outlet {
    /// The peer's address.
    pub(super) remote: SocketAddr,
    queue: Mutex<Queue>,
    filled: Notify,
}

#[derive(Default)]
struct Queue {
    frames: Vec<Outgoing>,
    closed: Option<String>,
}

impl Outlet {
    pub(super) fn new(remote: SocketAddr) -> Self {
        Self {
            remote,
            queue: Mutex::default(),
            filled: Notify::new(),
        }
    }

    /// `quietly`: the connection's task is the one that calls.
    pub(super) fn push(&self, command: Command, message: Option<Bytes>, quietly: bool) {
        let mut queue = self.lock();
        let was_empty = queue.frames.is_empty();
        queue.frames.push((command, message));
        drop(queue);
        if was_empty && !quietly {
            self.filled.notify_one();
        }
    }

    /// The connection is to end after what was pushed so far.
    pub(super) fn close(&self, why: impl Into<String>) {
        self.lock().closed.get_or_insert(why.into());
        self.filled.notify_one();
    }

    /// Moves all that was pushed to `frames`; says why the connection is to end, if it is.
    pub(super) fn take(&self, frames: &mut impl Extend<Outgoing>) -> Option<String> {
        let mut queue = self.lock();
        frames.extend(queue.frames.drain(..));
        queue.closed.clone()
    }

    /// Resolves when there is something to take.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
