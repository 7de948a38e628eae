//! A broker inside the process, for tests and examples: topics with one subscription each, redelivery
//! counts, delays, and faults by script. It keeps nothing and has no sockets; for anything about Apache
//! Pulsar itself use a real broker.

mod script;
mod store;
mod transport;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use babelqueue_core::{Body, Properties};
use bytes::Bytes;
use tokio::sync::Notify;

use self::script::Script;
use self::store::Topics;
use crate::transport::{Redelivery, TransportErrorKind, WriteErrorKind};

pub use script::Call;
pub use store::Stored;
pub use transport::{Confirmation, MemorySink, MemoryTransport};

/// The broker. Clones are the same broker.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use babelqueue::{Consumer, Publisher, memory::Broker};
/// # #[derive(serde::Serialize)] struct Order { id: u32 }
///
/// let broker = Broker::new();
/// let orders = Publisher::new(broker.sink("orders"));
/// orders.publish("urn:babel:orders:created", &Order { id: 7 }).await?;
///
/// let consumer = Consumer::builder().build(broker.subscribe("orders"))?;
/// assert_eq!(consumer.poll().await?, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Broker {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Told after every change of the state.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    topics: Topics,
    script: Script,
}

impl Broker {
    /// A broker without topics; they come into being when they are first named.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The sink of a topic, for a publisher.
    #[must_use]
    pub fn sink(&self, topic: &str) -> MemorySink {
        MemorySink::new(self.clone(), topic)
    }

    /// The subscription of a topic, for a consumer: counted redelivery, retries and dead letters (to
    /// `<topic>.dlq`) on.
    #[must_use]
    pub fn subscribe(&self, topic: &str) -> MemoryTransport {
        MemoryTransport::new(self.clone(), topic, Redelivery::Counted)
    }

    /// Puts a message on a topic as any foreign producer might.
    pub fn put(&self, topic: &str, body: impl Into<Bytes>, properties: Properties) {
        let stored = Stored {
            properties,
            ..Stored::new(Body::Bytes(body.into()))
        };
        self.change(|state| state.topics.append(topic, stored));
    }

    /// Puts an entry on a topic that the client cannot decode.
    pub fn put_undecodable(&self, topic: &str, received: impl Into<Bytes>, cause: &str) {
        let body = Body::Undecodable {
            received: received.into(),
            cause: cause.to_owned(),
        };
        self.change(|state| state.topics.append(topic, Stored::new(body)));
    }

    /// What waits on a topic, oldest first, delayed messages included.
    #[must_use]
    pub fn waiting(&self, topic: &str) -> Vec<Stored> {
        self.state().topics.waiting(topic)
    }

    /// How many messages of a topic were delivered and not settled.
    #[must_use]
    pub fn unsettled(&self, topic: &str) -> usize {
        self.state().topics.unsettled(topic)
    }

    /// Lets a future write fail; each call of this adds one failure to the queue.
    pub fn fail_write(&self, kind: WriteErrorKind) {
        self.state().script.writes.push_back(Some(kind));
    }

    /// Lets a future write succeed, between others that fail.
    pub fn pass_write(&self) {
        self.state().script.writes.push_back(None);
    }

    /// Lets a future call fail that is not a write; each call of this adds one failure to the queue.
    pub fn fail(&self, call: Call, kind: TransportErrorKind) {
        self.state().script.faults.push_back((call, kind));
    }

    /// Holds the answers to these calls back until [`release`](Self::release). What the call asks for is
    /// done all the same.
    pub fn hold(&self, call: Call) {
        self.change(|state| state.script.held.push(call));
    }

    /// Gives the answers that were held back.
    pub fn release(&self, call: Call) {
        self.change(|state| state.script.held.retain(|held| *held != call));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.shared.changed.notify_waiters();
        changed
    }

    /// Waits until answers to this call are not held.
    async fn released(&self, call: Call) {
        loop {
            let changed = self.shared.changed.notified();
            if !self.state().script.held.contains(&call) {
                return;
            }
            changed.await;
        }
    }
}
