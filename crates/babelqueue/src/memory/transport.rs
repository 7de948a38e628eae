//! The port, on a broker inside the process.

use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use babelqueue_core::{Body, Delivery, Destination, Outgoing};
use tokio::time::{Instant, sleep_until};

use super::store::Next;
use super::{Broker, Call, Stored};
use crate::clock::Clock;
use crate::message::{Message, MessageParts};
use crate::transport::{
    Capabilities, Outbound, Received, Redelivery, Sink, Transport, TransportError, WriteError,
};

/// The broker's answer to come.
pub struct Confirmation<E>(Pin<Box<dyn Future<Output = Result<(), E>> + Send>>);

impl<E: Send + 'static> Confirmation<E> {
    fn new(broker: Broker, call: Call, answer: Result<(), E>) -> Self {
        Self(Box::pin(async move {
            broker.released(call).await;
            answer
        }))
    }
}

impl<E> Future for Confirmation<E> {
    type Output = Result<(), E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<E> fmt::Debug for Confirmation<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Confirmation")
    }
}

/// A topic to publish to.
#[derive(Clone, Debug)]
pub struct MemorySink {
    broker: Broker,
    topic: String,
}

impl MemorySink {
    pub(super) fn new(broker: Broker, topic: &str) -> Self {
        Self {
            broker,
            topic: topic.to_owned(),
        }
    }
}

impl Sink for MemorySink {
    type Receipt = Confirmation<WriteError>;

    fn send(&self, outbound: Outbound) -> Self::Receipt {
        let Outbound {
            body,
            properties,
            key,
            deliver_at_ms,
        } = outbound;
        let body = Body::Bytes(body);
        let ready_at = ready_at(deliver_at_ms);
        let stored = Stored {
            properties,
            key,
            deliver_at_ms,
            ready_at,
            ..Stored::new(body)
        };
        let answer = self.broker.write(&self.topic, stored);
        Confirmation::new(self.broker.clone(), Call::Write, answer)
    }

    fn queue(&self) -> &str {
        short_name(&self.topic)
    }
}

/// The one subscription of a topic.
#[derive(Clone, Debug)]
pub struct MemoryTransport {
    broker: Broker,
    topic: Arc<str>,
    queue: Arc<str>,
    capabilities: Capabilities,
}

/// Which message of the topic a delivery is, and its key.
#[derive(Clone)]
pub struct Origin {
    position: u64,
    key: Option<String>,
}

impl fmt::Debug for Origin {
    /// The position only: the key may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl MemoryTransport {
    pub(super) fn new(broker: Broker, topic: &str, redelivery: Redelivery) -> Self {
        let capabilities = Capabilities::new(redelivery)
            .with_retry(true)
            .with_dead_letter(true);
        Self {
            broker,
            topic: topic.into(),
            queue: short_name(topic).into(),
            capabilities,
        }
    }

    /// Says what a negative acknowledgement does. Delays are honoured with counted redelivery only.
    #[must_use]
    pub fn redelivery(mut self, redelivery: Redelivery) -> Self {
        self.capabilities.redelivery = redelivery;
        self
    }

    /// Switches the publishing of retries off, so that failures are given back.
    #[must_use]
    pub fn without_retry(mut self) -> Self {
        self.capabilities.retry = false;
        self
    }

    /// Switches dead-lettering off.
    #[must_use]
    pub fn without_dead_letter(mut self) -> Self {
        self.capabilities.dead_letter = false;
        self
    }

    fn received(&self, position: u64, stored: Stored) -> Received<Origin> {
        let Stored {
            body,
            properties,
            key,
            redelivery_count,
            publish_time_ms,
            ..
        } = stored;
        let message = Message::new(MessageParts {
            topic: Arc::clone(&self.topic),
            id: position.to_string(),
            properties: properties.clone(),
            redelivery_count,
            publish_time_ms,
            key: key.clone(),
        });
        let delivery = Delivery {
            body,
            properties,
            redelivery_count,
            queue: Arc::clone(&self.queue),
        };
        Received {
            delivery,
            message,
            origin: Origin { position, key },
        }
    }
}

impl Transport for MemoryTransport {
    type Origin = Origin;
    type Ack = Confirmation<TransportError>;

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn receive(&self) -> Result<Received<Origin>, TransportError> {
        let honour_delays = self.capabilities.redelivery == Redelivery::Counted;
        loop {
            self.broker.released(Call::Receive).await;
            let changed = self.broker.shared.changed.notified();
            self.broker.state().script.fault(Call::Receive)?;
            let next = self.broker.state().topics.next(&self.topic, honour_delays);
            let ready_at = match next {
                Next::Message(position, stored) => return Ok(self.received(position, stored)),
                Next::ReadyAt(at) => Some(at),
                Next::Nothing => None,
            };
            tokio::select! {
                () = changed => {}
                () = sleep_until_some(ready_at) => {}
            }
        }
    }

    async fn publish(&self, origin: &Origin, outgoing: &Outgoing) -> Result<(), WriteError> {
        let topic = match outgoing.target {
            Destination::WorkTopic => self.topic.to_string(),
            Destination::DeadLetter => format!("{}.dlq", self.topic),
        };
        let body = Body::Bytes(outgoing.body.clone());
        let stored = Stored {
            properties: outgoing.properties.clone(),
            key: origin.key.clone(),
            ..Stored::new(body)
        };
        let answer = self.broker.write(&topic, stored);
        self.broker.released(Call::Write).await;
        answer
    }

    fn ack(&self, origin: &Origin) -> Self::Ack {
        let answer = self.broker.change(|state| {
            state.script.fault(Call::Ack)?;
            state.topics.settle(&self.topic, origin.position);
            Ok(())
        });
        Confirmation::new(self.broker.clone(), Call::Ack, answer)
    }

    async fn nack(&self, origin: &Origin) -> Result<(), TransportError> {
        let answer = self.broker.change(|state| {
            state.script.fault(Call::Nack)?;
            match self.capabilities.redelivery {
                Redelivery::Counted => state.topics.give_back(&self.topic, origin.position),
                Redelivery::Rewind => state.topics.rewind(&self.topic),
            }
            Ok(())
        });
        self.broker.released(Call::Nack).await;
        answer
    }

    async fn close(&self) -> Result<(), TransportError> {
        let answer = self.broker.change(|state| {
            state.topics.rewind(&self.topic);
            state.script.fault(Call::Close)
        });
        self.broker.released(Call::Close).await;
        answer
    }
}

impl Broker {
    fn write(&self, topic: &str, stored: Stored) -> Result<(), WriteError> {
        self.change(|state| {
            state.script.write_fault(topic)?;
            state.topics.append(topic, stored);
            Ok(())
        })
    }
}

fn short_name(topic: &str) -> &str {
    topic.rsplit('/').next().unwrap_or(topic)
}

fn ready_at(deliver_at_ms: Option<i64>) -> Instant {
    let wait = deliver_at_ms.map_or(0, |at| at.saturating_sub(Clock::System.now_ms()));
    let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
    let now = Instant::now();
    // A delivery so far away never comes in a test; a day is as good.
    now.checked_add(wait).unwrap_or(now + Duration::from_secs(86_400))
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
