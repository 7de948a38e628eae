//! An asynchronous client for Apache Pulsar on tokio.
//!
//! Built for workers that must not lose messages: sends end with the broker's receipt,
//! acknowledgements with its confirmation, members of a batch are settled one by one, an entry
//! that cannot be decoded is a delivery like any other, and a lost connection is a pause, not an
//! end.
//!
//! ```no_run
//! # async fn demo() -> Result<(), pulsar_tokio::Error> {
//! use pulsar_tokio::{Client, NewMessage, SubscriptionType};
//!
//! let client = Client::new("pulsar://localhost:6650")?;
//! let producer = client.producer("orders").open().await?;
//! let stored = producer.send(NewMessage::new("hello").property("lang", "rust")).await?;
//! println!("stored as {:?}", stored.id);
//!
//! let consumer = client.consumer("orders", "billing").subscription_type(SubscriptionType::Shared).open().await?;
//! let message = consumer.receive().await?;
//! consumer.ack(message.ticket).await?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `session` | the protocol's state as machines: frames and time in, frames and results out |
//! | `link`, `pool`, `lookup` | one socket and its two tasks; all sockets; who serves a topic |
//! | `hosts`, `tls`, `auth` | the hosts of a service URL; encryption; who the client is |
//! | [`Settings`] | where a cluster is and how it is reached, from code, environment or file |
//! | `endpoint` | the task that brings a producer or consumer to its broker, and back |
//! | [`Producer`], [`Consumer`], [`Client`] | what users hold |
//!
//! Not there: transactions, encryption, schemas, sending of chunked messages.

mod auth;
mod background;
mod client;
mod consumer;
mod endpoint;
mod error;
mod hosts;
mod link;
mod lookup;
mod message;
mod pool;
mod producer;
mod reader;
mod secret;
mod seek;
mod service_url;
mod session;
mod settings;
mod tls;
mod topic;
mod topic_watch;
mod topics;

pub use auth::{Authentication, OAuth2};
pub use client::{Client, ClientBuilder};
pub use consumer::{
    Ack, BrokerStats, Consumer, ConsumerBuilder, ConsumerStats, InitialPosition, SubscriptionType,
};
pub use endpoint::Health;
pub use error::{Error, ErrorKind};
pub use message::{Key, Message, MessageId, NewMessage, Payload, Stored, Ticket, Undecodable};
pub use producer::{Batching, Compression, Full, Producer, ProducerBuilder, Receipt};
pub use pulsar_wire::ServerError;
pub use reader::{Reader, ReaderBuilder, Start};
pub use secret::Secret;
pub use seek::Seek;
pub use settings::Settings;
pub use tls::Pem;
pub use topic::TopicName;
pub use topics::Topics;
