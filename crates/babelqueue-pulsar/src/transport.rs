//! The runtime's port on a Pulsar subscription. Nothing is decided here: values are mapped, and
//! what the runtime asks for is done.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use babelqueue::{
    Body, Capabilities, Delivery, Destination, Message, MessageParts, Outgoing, Properties, Received,
    Redelivery, Transport, TransportError, TransportErrorKind, WriteError, WriteErrorKind,
};
use bytes::Bytes;
use pulsar_tokio::{Consumer, Error, ErrorKind, Key, NewMessage, Payload, Producer, Ticket};

use crate::producers::Producers;
use crate::sink::write_error;
use crate::topic::{dead_letter_topic, short_name};

/// How long closing a subscription may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A subscription with the producers that settling its messages needs.
#[derive(Debug)]
pub struct PulsarTransport {
    pub(crate) subscription: Arc<Consumer>,
    /// Whether closing the transport closes the subscription.
    pub(crate) owned: bool,
    pub(crate) retry: Writer,
    pub(crate) dead_letter: Writer,
    /// The producers that are ours to make and to close.
    pub(crate) producers: Option<Producers>,
    /// The work topic, where there is one by name.
    only: Option<Work>,
    /// What the subscription was opened on, in words.
    name: Arc<str>,
}

/// A work topic and the short name that its envelopes bear.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) topic: Arc<str>,
    queue: Arc<str>,
}

impl Work {
    fn new(topic: Arc<str>) -> Self {
        let queue = short_name(&topic).into();
        Self { topic, queue }
    }
}

/// Where a record is written.
#[derive(Debug)]
pub(crate) enum Writer {
    /// Nowhere.
    None,
    /// Through the user's producer, which stays theirs.
    Given(Arc<Producer>),
    /// To a topic, through a producer of our own.
    Own {
        topic: Target,
        initial_subscription: Option<Arc<str>>,
    },
}

/// A topic that is written to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// This one, whatever topic a message came from.
    Fixed(Arc<str>),
    /// The topic that the message came from.
    Work,
    /// The dead-letter topic of the topic that the message came from.
    DeadLetter,
}

impl Target {
    fn of(&self, work: &Arc<str>) -> Arc<str> {
        match self {
            Self::Fixed(topic) => topic.clone(),
            Self::Work => work.clone(),
            Self::DeadLetter => dead_letter_topic(work).into(),
        }
    }
}

impl PulsarTransport {
    pub(crate) fn new(subscription: Arc<Consumer>) -> Self {
        let only = subscription.topic().map(|topic| Work::new(topic.as_str().into()));
        let name = match &only {
            Some(work) => work.topic.clone(),
            None => format!("the subscription {:?}", subscription.subscription()).into(),
        };
        Self {
            only,
            name,
            subscription,
            owned: false,
            retry: Writer::None,
            dead_letter: Writer::None,
            producers: None,
        }
    }

    /// The subscription below, for its figures.
    #[must_use]
    pub fn subscription(&self) -> &Consumer {
        &self.subscription
    }

    async fn producer(&self, target: Destination, work: &Arc<str>) -> Result<Arc<Producer>, WriteError> {
        let writer = match target {
            Destination::WorkTopic => &self.retry,
            Destination::DeadLetter => &self.dead_letter,
        };
        match (writer, &self.producers) {
            (Writer::Given(producer), _) => Ok(producer.clone()),
            (
                Writer::Own {
                    topic,
                    initial_subscription,
                },
                Some(producers),
            ) => {
                let topic = topic.of(work);
                let made = producers.to(&topic, initial_subscription.as_deref()).await;
                made.map_err(|error| write_error(&topic, error))
            }
            _ => Err(WriteError::new(WriteErrorKind::Closed, work.to_string())),
        }
    }

    /// The work topic of a message.
    fn work(&self, base_topic: Arc<str>) -> Work {
        match &self.only {
            Some(work) => work.clone(),
            None => Work::new(base_topic),
        }
    }

    fn received(&self, message: pulsar_tokio::Message) -> Received<PulsarOrigin> {
        let work = self.work(message.base_topic);
        let properties = Properties::from_pairs(message.properties);
        let key = message
            .key
            .as_ref()
            .map(|key| String::from_utf8_lossy(&key.text).into_owned());
        let parts = MessageParts {
            topic: message.topic,
            id: message.id.to_text(),
            properties: properties.clone(),
            redelivery_count: message.redelivery_count,
            publish_time_ms: i64::try_from(message.publish_time_ms).unwrap_or(i64::MAX),
            key,
        };
        let body = match message.payload {
            Payload::Bytes(bytes) => Body::Bytes(bytes),
            Payload::Undecodable { received, cause } => Body::Undecodable {
                received,
                cause: cause.to_string(),
            },
        };
        let redelivery_count = message.redelivery_count;
        Received {
            delivery: Delivery {
                body,
                properties,
                redelivery_count,
                queue: work.queue,
            },
            message: Message::new(parts),
            origin: PulsarOrigin {
                ticket: message.ticket,
                work_topic: work.topic,
                key: message.key,
                ordering_key: message.ordering_key,
            },
        }
    }
}

/// What it takes to settle a delivery: its ticket, the topic that it came from, and the routing keys that every record of it keeps.
#[derive(Clone)]
pub struct PulsarOrigin {
    ticket: Ticket,
    work_topic: Arc<str>,
    key: Option<Key>,
    ordering_key: Option<Bytes>,
}

impl fmt::Debug for PulsarOrigin {
    /// The ticket only: a key may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PulsarOrigin")
            .field("ticket", &self.ticket)
            .finish_non_exhaustive()
    }
}

impl Transport for PulsarTransport {
    type Origin = PulsarOrigin;
    type Ack = PulsarAck;

    fn capabilities(&self) -> Capabilities {
        let redelivery = if self.subscription.subscription_type().redelivers_singly() {
            Redelivery::Counted
        } else {
            Redelivery::Rewind
        };
        Capabilities::new(redelivery)
            .with_retry(!matches!(self.retry, Writer::None))
            .with_dead_letter(!matches!(self.dead_letter, Writer::None))
    }

    async fn receive(&self) -> Result<Received<PulsarOrigin>, TransportError> {
        match self.subscription.receive().await {
            Ok(message) => Ok(self.received(message)),
            Err(error) => Err(self.error("receive from", error)),
        }
    }

    async fn publish(&self, origin: &PulsarOrigin, outgoing: &Outgoing) -> Result<(), WriteError> {
        let producer = self.producer(outgoing.target, &origin.work_topic).await?;
        let mut message =
            NewMessage::new(outgoing.body.clone()).properties(outgoing.properties.clone().into_pairs());
        if let Some(key) = &origin.key {
            message = message.key(key.clone());
        }
        if let Some(key) = &origin.ordering_key {
            message = message.ordering_key(key.clone());
        }
        let sent = producer.send(message).await;
        sent.map(|_| ())
            .map_err(|error| write_error(producer.topic().as_str(), error))
    }

    fn ack(&self, origin: &PulsarOrigin) -> PulsarAck {
        PulsarAck {
            topic: self.name.clone(),
            ack: self.subscription.ack(origin.ticket),
        }
    }

    async fn nack(&self, origin: &PulsarOrigin) -> Result<(), TransportError> {
        let result = if self.subscription.subscription_type().redelivers_singly() {
            self.subscription.nack(origin.ticket)
        } else {
            self.subscription.rewind(origin.ticket)
        };
        result.map_err(|error| self.error("give a message back to", error))
    }

    async fn close(&self) -> Result<(), TransportError> {
        if self.owned {
            self.subscription.close(PATIENCE).await;
        }
        if let Some(producers) = &self.producers {
            producers.close().await;
        }
        Ok(())
    }
}

impl PulsarTransport {
    fn error(&self, doing: &str, error: Error) -> TransportError {
        transport_error(format!("cannot {doing} {}", self.name), error)
    }
}

fn transport_error(text: String, error: Error) -> TransportError {
    let kind = match error.kind() {
        ErrorKind::Closed => TransportErrorKind::Closed,
        ErrorKind::Refused(_) if !error.is_transient() => TransportErrorKind::Rejected,
        _ if error.is_transient() => TransportErrorKind::Disconnected,
        _ => TransportErrorKind::Other,
    };
    TransportError::new(kind, text).with_source(error)
}

/// The broker's confirmation of an acknowledgement, to come.
pub struct PulsarAck {
    topic: Arc<str>,
    ack: pulsar_tokio::Ack,
}

impl Future for PulsarAck {
    type Output = Result<(), TransportError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.ack).poll(context).map(|result| {
            result.map_err(|error| transport_error(format!("cannot acknowledge on {}", self.topic), error))
        })
    }
}

impl fmt::Debug for PulsarAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PulsarAck")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}
