//! `BabelQueue` for Apache Pulsar: share queues with services in other languages.
//!
//! A queue is a Pulsar topic. What this crate publishes, every other `BabelQueue` SDK reads, and the
//! other way round.
//!
//! ```no_run
//! use std::time::Duration;
//! use babelqueue_pulsar::{Consumer, Envelope, Failure, Message, Pulsar, SubscriptionType};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Order {
//!     id: u64,
//! }
//!
//! async fn bill(envelope: Envelope, _message: Message) -> Result<(), Failure> {
//!     let order: Order = envelope.data()?;
//!     println!("billing order {}", order.id);
//!     Ok(())
//! }
//!
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! let pulsar = Pulsar::new("pulsar://localhost:6650")?;
//!
//! let orders = pulsar.publisher("orders").await?;
//! let id = orders.publish("urn:babel:orders:created", &Order { id: 7 }).key("customer-12").await?;
//! println!("published {id}");
//!
//! let consumer = pulsar
//!     .subscription("orders", "billing")
//!     .subscription_type(SubscriptionType::Shared)
//!     .dead_letters()
//!     .open(Consumer::builder().handler("urn:babel:orders:created", bill))
//!     .await?;
//! consumer.run(tokio::time::sleep(Duration::from_secs(60))).await;
//! consumer.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Publishing
//!
//! Everything that one message may have is said on the same call. `enqueue` instead of `await` sends a
//! message and returns its receipt, so that many are under way at once, in the order of the calls.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use babelqueue_pulsar::{Envelope, Publisher};
//! # async fn demo(orders: Publisher, cause: Envelope) -> Result<(), Box<dyn std::error::Error>> {
//! # #[derive(serde::Serialize)] struct Order { id: u64 }
//! orders
//!     .publish("urn:babel:orders:reminded", &Order { id: 7 })
//!     .in_trace_of(&cause)                       // a follow-up of the message that a handler got
//!     .delay(Duration::from_secs(60))            // on Shared and Key_Shared subscriptions
//!     .key("customer-12")
//!     .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
//!     .await?;
//!
//! let receipts: Vec<_> = (0..1_000)
//!     .map(|id| orders.publish("urn:babel:orders:created", &Order { id }).enqueue())
//!     .collect();
//! for receipt in receipts {
//!     println!("published {}", receipt.await?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Hooks
//!
//! `on_error` is told everything that goes wrong, before the message is settled. `on_unknown_urn` takes
//! what no handler is for, `on_routing_mismatch` is told when property and body name different URNs.
//!
//! ```
//! # use babelqueue_pulsar::Consumer;
//! let builder = Consumer::builder()
//!     .max_attempts(5)
//!     .on_error(|error, _envelope, message| {
//!         eprintln!("{} at {:?}", error, message.map(|message| message.id()));
//!     })
//!     .on_unknown_urn(|envelope, _message| async move {
//!         println!("nobody handles {}", envelope.urn());
//!         Ok(())
//!     });
//! ```
//!
//! A consumer on a subscription and with producers that you opened yourself is made by
//! [`GivenSubscription`].
//!
//! # Modules
//!
//! | module | what it is for |
//! |---|---|
//! | `topic` | short names, the dead-letter topic of a topic |
//! | `publisher` | a publisher to be opened |
//! | `sink` | publishing: a producer as the runtime's port |
//! | `subscription` | consuming, with everything opened and owned by us |
//! | `given` | consuming from a subscription and with producers that the user opened |
//! | `transport` | the runtime's port on a subscription: nothing but mapping |
//! | `producers` | the producers that a consumer makes when it first needs them |

mod given;
mod open_error;
mod producers;
mod publisher;
mod pulsar;
mod sink;
mod subscription;
mod topic;
mod transport;

pub use babelqueue::{
    Body, BuildError, BuildErrorKind, Capabilities, Clock, ConsumerBuilder, ConsumerError, ConsumerErrorKind,
    Data, DataError, DataErrorKind, DecodeError, DecodeErrorKind, Delivery, Destination, Envelope,
    EnvelopeError, EnvelopeErrorKind, Failure, Message, MessageId, MessageParts, Meta, NewEnvelope,
    NotAccepted, Outbound, Outgoing, Properties, PublishError, PublishErrorKind, Received, Record,
    Redelivery, Sink, Stamp, Transport, TransportError, TransportErrorKind, Warning, WriteError,
    WriteErrorKind, dead_letter, inspect, memory, properties, trim_urn,
};
pub use given::GivenSubscription;
pub use open_error::{OpenError, OpenErrorKind};
pub use publisher::PublisherBuilder;
pub use pulsar::{Pulsar, PulsarBuilder};
pub use pulsar_tokio::{self, Batching, Compression, InitialPosition, Settings, SubscriptionType, Topics};
pub use sink::{PulsarReceipt, PulsarSink};
pub use subscription::{DEAD_LETTER_SUBSCRIPTION, Subscription};
pub use topic::{dead_letter_topic, short_name};
pub use transport::{PulsarAck, PulsarOrigin, PulsarTransport};

/// Publishes envelopes to a topic; see [`Pulsar::publisher`].
pub type Publisher<S = PulsarSink> = babelqueue::Publisher<S>;

/// Receives messages, hands them to handlers and settles them; see [`Pulsar::subscription`].
pub type Consumer<T = PulsarTransport> = babelqueue::Consumer<T>;

/// One message to publish; see [`Publisher`].
pub type Publish<'a, S = PulsarSink> = babelqueue::Publish<'a, S>;

/// The receipt of a publish, to come; see [`Publisher`].
pub type Receipt<R = PulsarReceipt> = babelqueue::Receipt<R>;

/// The code in the README and the guide has to compile, and what needs no Pulsar has to run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/guide/delivery.md")]
#[doc = include_str!("../../../docs/guide/dev-broker.md")]
#[doc = include_str!("../../../docs/guide/reaching.md")]
struct Guide;
