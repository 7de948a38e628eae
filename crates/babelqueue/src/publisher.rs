//! Publishing: a URN and data become an envelope, its properties and a send. The rules are those of
//! `pulsar-binding.md` section 2; the envelope itself is made in `babelqueue-core`.

mod error;
mod receipt;

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use babelqueue_core::{Data, Envelope, EnvelopeError, NewEnvelope, Properties, properties};
use serde::Serialize;

use crate::clock::Clock;
use crate::transport::{Outbound, Sink};

pub use error::{PublishError, PublishErrorKind};
pub use receipt::{MessageId, Receipt};

/// Publishes to one topic. Usable from many tasks at once; the order of the calls is kept.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use babelqueue::{Publisher, memory::Broker};
/// # #[derive(serde::Serialize)] struct Invoice { number: u32, total: f64 }
///
/// let broker = Broker::new();
/// let publisher = Publisher::new(broker.sink("invoices"));
///
/// let invoice = Invoice { number: 7, total: 19.5 };
/// let id = publisher.publish("urn:babel:invoices:issued", &invoice).delay(Duration::from_secs(60)).await?;
/// println!("published {id}");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Publisher<S> {
    sink: S,
    clock: Clock,
}

impl<S: Sink> Publisher<S> {
    /// A publisher that writes to the topic of `sink`.
    pub fn new(sink: S) -> Self {
        Self {
            sink,
            clock: Clock::System,
        }
    }

    /// Takes the time from `clock`; for tests.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The topic's short name, which becomes `meta.queue`.
    pub fn queue(&self) -> &str {
        self.sink.queue()
    }

    /// What this publisher writes to.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Prepares a message. Nothing is sent before the request is awaited or [enqueued](Publish::enqueue).
    /// The data is serialised at once.
    pub fn publish<'a, T: Serialize + ?Sized>(
        &'a self,
        urn: impl Into<Cow<'a, str>>,
        data: &T,
    ) -> Publish<'a, S> {
        Publish {
            publisher: self,
            urn: urn.into(),
            data: Data::from_serialize(data),
            trace_id: None,
            delay: Duration::ZERO,
            key: None,
            meta: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Like [`publish`](Self::publish) with data that already is JSON text, which is kept as it stands.
    pub fn publish_data<'a>(&'a self, urn: impl Into<Cow<'a, str>>, data: Data) -> Publish<'a, S> {
        Publish {
            data: Ok(data),
            ..self.publish(urn, &())
        }
    }
}

/// One message to publish; await it to send it and to wait for the broker's confirmation.
///
/// # Errors
/// Awaiting it gives a [`PublishError`]. Errors of the message itself come before anything is sent.
///
/// # Cancel safety
/// The message is sent by the first poll. Dropping the future later does not take it back.
#[must_use = "nothing is sent before the request is awaited or enqueued"]
pub struct Publish<'a, S> {
    publisher: &'a Publisher<S>,
    urn: Cow<'a, str>,
    data: Result<Data, EnvelopeError>,
    trace_id: Option<Cow<'a, str>>,
    delay: Duration,
    key: Option<String>,
    meta: Vec<(String, Result<Data, EnvelopeError>)>,
    headers: Vec<(String, String)>,
}

impl<'a, S: Sink> Publish<'a, S> {
    /// Continues this trace. Without one, or with a blank one, a fresh id is made.
    pub fn trace_id(self, trace_id: impl Into<Cow<'a, str>>) -> Self {
        Self {
            trace_id: Some(trace_id.into()),
            ..self
        }
    }

    /// Continues the trace of an envelope; for what a handler publishes as a follow-up.
    pub fn in_trace_of(self, envelope: &Envelope) -> Self {
        self.trace_id(envelope.trace_id().to_owned())
    }

    /// Delivers the message after this time at the earliest, counted from now by our clock. Less than a
    /// millisecond is no delay. Honoured on Shared and Key_Shared subscriptions only.
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Sets the message key.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// Adds an entry to the envelope's `meta`. The keys of the contract are refused.
    pub fn meta<T: Serialize + ?Sized>(mut self, key: impl Into<String>, value: &T) -> Self {
        self.meta.push((key.into(), Data::from_serialize(value)));
        self
    }

    /// Adds a property beside those of the contract, such as `traceparent`. An empty key or value and a
    /// key that is already there are left out.
    pub fn header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((key.into(), value.into()));
        self
    }

    /// Sends the message now and returns its receipt, so that many can be under way at once.
    #[must_use = "the receipt tells whether the message arrived"]
    pub fn enqueue(self) -> Receipt<S::Receipt> {
        let sink = &self.publisher.sink;
        match self.prepare() {
            Ok((id, outbound)) => Receipt::sent(id, sink.send(outbound)),
            Err(error) => Receipt::refused(error),
        }
    }

    fn prepare(self) -> Result<(MessageId, Outbound), PublishError> {
        let stamp = self.publisher.clock.stamp();
        let delay = Delay::new(self.delay, stamp.now_ms)?;
        let mut new = NewEnvelope::new(self.urn, self.data?).queue(self.publisher.sink.queue());
        if let Some(trace_id) = self.trace_id {
            new = new.trace_id(trace_id);
        }
        for (key, value) in self.meta {
            new = new.meta(key, value?);
        }
        let envelope = new.build(&stamp)?;
        let mut properties = Properties::project(&envelope);
        if let Some(delay) = &delay {
            properties.set(properties::DELAY, delay.millis.to_string());
        }
        add_headers(&mut properties, self.headers);
        let id = MessageId::new(properties.shared(properties::MESSAGE_ID).unwrap_or_default());
        let deliver_at_ms = delay.map(|delay| delay.deliver_at_ms);
        Ok((
            id,
            Outbound {
                body: envelope.encode()?,
                properties,
                key: self.key,
                deliver_at_ms,
            },
        ))
    }
}

impl<S> fmt::Debug for Publish<'_, S> {
    /// Names only: key, trace id and values may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meta: Vec<_> = self.meta.iter().map(|(key, _)| key).collect();
        let headers: Vec<_> = self.headers.iter().map(|(key, _)| key).collect();
        f.debug_struct("Publish")
            .field("urn", &self.urn)
            .field("data", &self.data)
            .field("delay", &self.delay)
            .field("meta", &meta)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

impl<S: Sink> IntoFuture for Publish<'_, S> {
    type Output = Result<MessageId, PublishError>;
    type IntoFuture = Receipt<S::Receipt>;

    fn into_future(self) -> Self::IntoFuture {
        self.enqueue()
    }
}

struct Delay {
    millis: i64,
    deliver_at_ms: i64,
}

impl Delay {
    fn new(delay: Duration, now_ms: i64) -> Result<Option<Self>, PublishError> {
        let too_long = || PublishError::delay_too_long(delay);
        let millis = i64::try_from(delay.as_millis()).map_err(|_| too_long())?;
        let deliver_at_ms = now_ms.checked_add(millis).ok_or_else(too_long)?;
        Ok((millis > 0).then_some(Self {
            millis,
            deliver_at_ms,
        }))
    }
}

fn add_headers(properties: &mut Properties, headers: Vec<(String, String)>) {
    for (key, value) in headers {
        if !key.is_empty() && !value.is_empty() && properties.get(&key).is_none() {
            properties.set(key, value);
        }
    }
}
