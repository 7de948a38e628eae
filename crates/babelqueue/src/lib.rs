//! Runtime of the BabelQueue SDK: a [`Publisher`] that writes envelopes, a [`Consumer`] that hands them to
//! handlers and settles them, and the port ([`Transport`], [`Sink`]) that a broker's adapter implements.
//! This crate knows no broker; users of Apache Pulsar add `babelqueue-pulsar`, which re-exports it.
//!
//! ```
//! use babelqueue::{Consumer, Envelope, Failure, Message, Publisher, memory::Broker};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Order {
//!     id: u32,
//! }
//!
//! async fn issue_invoice(envelope: Envelope, _message: Message) -> Result<(), Failure> {
//!     let order: Order = envelope.data()?;
//!     println!("invoice for order {}", order.id);
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = Broker::new();
//!
//! let orders = Publisher::new(broker.sink("orders"));
//! orders.publish("urn:babel:orders:created", &Order { id: 7 }).key("customer-12").await?;
//!
//! let consumer = Consumer::builder()
//!     .handler("urn:babel:orders:created", issue_invoice)
//!     .on_error(|error, _envelope, _message| eprintln!("{error}"))
//!     .build(broker.subscribe("orders"))?;
//! assert_eq!(consumer.poll().await?, 1);
//! # Ok(()) }
//! ```
//!
//! A worker calls [`run`](Consumer::run) instead of [`poll`](Consumer::poll), with a future that resolves
//! when it shall stop.
//!
//! # What becomes of a delivery
//!
//! | the delivery | is |
//! |---|---|
//! | handled | acknowledged |
//! | failed, and tries are left | published again with its attempts raised, then acknowledged; without a retry producer given back |
//! | failed at the last try | dead-lettered, then acknowledged; without a dead-letter producer dropped with a log line |
//! | for a URN nobody handles | given to `on_unknown_urn` and acknowledged; without that hook a failure |
//! | poison (no handler can ever read it) | dead-lettered at once; without a dead-letter producer treated as a failure |
//! | of an unknown schema version | dead-lettered as it came; without a dead-letter producer dropped with a log line |
//! | too large for the dead-letter topic in every form | held: neither acknowledged nor given back, for the next consumer |
//!
//! Nothing is acknowledged before the record that replaces it was confirmed. A crash between the two gives a
//! duplicate with the same `meta.id`, never a loss: delivery is at least once. A handler's panic is a failure
//! like an error, as long as the program is built to unwind. A crash of the whole process is not counted.
//!
//! # How a message flows
//!
//! Publishing:
//!
//! | step | file | value |
//! |---|---|---|
//! | 1 | `publisher.rs` | URN, data and options |
//! | 2 | core: `envelope/build.rs` | + id, time and trace: an envelope |
//! | 3 | core: `envelope/encode.rs`, `properties.rs` | body and properties |
//! | 4 | `transport.rs` | [`Sink::send`], the adapter's work |
//!
//! Consuming; each arrow is one function:
//!
//! | step | file | value |
//! |---|---|---|
//! | 1 | `transport.rs` | [`Transport::receive`] gives a delivery |
//! | 2 | `consumer/process.rs` | where all steps stand together |
//! | 3 | core: `decide/plan.rs` | delivery → plan |
//! | 4 | `router.rs`, `handler.rs` | work → verdict |
//! | 5 | core: `decide/conclude.rs` | work and verdict → settlement |
//! | 6 | `consumer/settle.rs` | the settlement carried out: at most one write, then one ack or nack |
//!
//! `consumer/run.rs` is the loop around it, [`inspect`] tells what a consumer would do, and [`memory`] is a
//! broker inside the process for tests.

mod clock;
mod consumer;
mod failure;
mod handler;
pub mod inspect;
pub mod memory;
mod message;
mod publisher;
mod router;
mod transport;

pub use babelqueue_core::{
    Body, Data, DataError, DataErrorKind, DecodeError, DecodeErrorKind, Delivery, Destination, Envelope,
    EnvelopeError, EnvelopeErrorKind, Meta, NewEnvelope, NotAccepted, Outgoing, Properties, Record, Stamp,
    Warning, dead_letter, properties, trim_urn,
};

pub use clock::Clock;
pub use consumer::{BuildError, BuildErrorKind, Consumer, ConsumerBuilder, ConsumerError, ConsumerErrorKind};
pub use failure::Failure;
pub use message::{Message, MessageParts};
pub use publisher::{MessageId, Publish, PublishError, PublishErrorKind, Publisher, Receipt};
pub use transport::{
    Capabilities, Outbound, Received, Redelivery, Sink, Transport, TransportError, TransportErrorKind,
    WriteError, WriteErrorKind,
};
