//! A broker for development and tests that speaks Apache Pulsar's binary protocol, in memory and in
//! the process. Pulsar clients of any language can connect to it.
//!
//! It is **not for production** and is not Pulsar: one node, and nothing is kept when it ends. Its
//! behaviour follows Apache Pulsar 4.0.7 with default settings where this crate does a thing at
//! all; what it does not do, it refuses with an error that says so.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use pulsar_devbroker::{CommandKind, DevBroker, Position};
//!
//! let broker = DevBroker::builder().start().await?;
//! println!("clients connect to {}", broker.url());
//!
//! // What an administrator does.
//! broker.create_partitioned("orders", 3).unwrap();
//! broker.create_subscription("orders", "billing", Position::Earliest).unwrap();
//! assert_eq!(broker.partitions("orders"), Some(3));
//! // What goes wrong: this receipt is never sent, and its connection is cut.
//! let lost = broker.next(CommandKind::SendReceipt).cut();
//! assert!(!lost.has_happened());
//!
//! broker.shutdown().await;
//! # Ok::<(), pulsar_devbroker::StartError>(())
//! # }).unwrap();
//! ```
//!
//! | there | not there |
//! |---|---|
//! | handshake, keep-alive, lookup, partitions, producers with access modes, deduplication as an option | TLS |
//! | Exclusive, Failover, Shared and Key_Shared subscriptions, durable and not | authentication: accepted and ignored |
//! | permits, acknowledgements, batch members as an option, redelivery with Pulsar's counts | storage on disk |
//! | delayed delivery, seek, last message id, unsubscribe, consumer figures | watching topics |
//! | topics of a namespace by pattern; topics that are not persistent; partitioned ones, by a call | transactions, compaction, replication, expiry |
//! | schemas, kept and handed out | whether one schema can follow another: only its kind is compared |
//! | what an administrator does, and mishaps for tests, as calls | quotas, apart from a limit of what is published a second |
//!
//! # The handle
//!
//! All calls of [`DevBroker`] but those marked `async` can be used without a runtime, and none of
//! them waits for a client.
//!
//! | for | calls |
//! |---|---|
//! | start | [`DevBroker::builder`], [`Builder::start`] on the current runtime, [`Builder::start_on_thread`] without one |
//! | where | [`url`](DevBroker::url), [`addr`](DevBroker::addr) |
//! | end and return (`async`) | [`shutdown`](DevBroker::shutdown), [`stop`](DevBroker::stop), [`crash`](DevBroker::crash), [`start_again`](DevBroker::start_again); dropping it ends it too |
//! | the next frame of a kind | [`next`](DevBroker::next), then [`discard`](Next::discard), [`delay`](Next::delay), [`hold`](Next::hold), [`fail`](Next::fail) or [`cut`](Next::cut) |
//! | connections | [`cut_connections`](DevBroker::cut_connections), [`refuse_connections`](DevBroker::refuse_connections), [`accept_connections`](DevBroker::accept_connections) |
//! | topics | [`create_topic`](DevBroker::create_topic), [`create_partitioned`](DevBroker::create_partitioned), [`grow_partitions`](DevBroker::grow_partitions), [`unload`](DevBroker::unload), [`terminate`](DevBroker::terminate), [`delete_topic`](DevBroker::delete_topic), [`delete_unused_topic`](DevBroker::delete_unused_topic), [`set_schema`](DevBroker::set_schema) |
//! | subscriptions | [`create_subscription`](DevBroker::create_subscription), [`reset_cursor`](DevBroker::reset_cursor), [`store_acks`](DevBroker::store_acks), [`forget_recent_acks`](DevBroker::forget_recent_acks) |
//! | namespaces | [`create_namespace`](DevBroker::create_namespace), [`delete_namespace`](DevBroker::delete_namespace), [`set_deduplication`](DevBroker::set_deduplication), [`set_topic_creation`](DevBroker::set_topic_creation), [`limit_publishing`](DevBroker::limit_publishing), [`keep_acknowledged`](DevBroker::keep_acknowledged), [`enforce_schema`](DevBroker::enforce_schema) |
//! | time | [`advance_clock`](DevBroker::advance_clock) |
//! | figures | [`stats`](DevBroker::stats), [`entries`](DevBroker::entries), [`topics`](DevBroker::topics), [`partitions`](DevBroker::partitions), [`summary`](DevBroker::summary), [`counters`](DevBroker::counters), [`connections`](DevBroker::connections), [`client_addr`](DevBroker::client_addr) |
//!
//! # The core
//!
//! [`Broker`] is a state machine. Decoded frames and the time go in, frames to send come out; it
//! opens no socket, reads no clock, starts no thread and draws no random number, so the same
//! inputs always give the same outputs. A simulation drives it directly; `server` puts sockets
//! around it.
//!
//! ```
//! use std::time::Instant;
//! use pulsar_devbroker::{Broker, Config, Output};
//! use pulsar_wire::Command;
//! use pulsar_wire::proto::CommandConnect;
//!
//! let now = Instant::now();
//! let mut broker = Broker::new(Config::new(now, 1_700_000_000_000));
//! let peer = broker.connect(now);
//! let hello = CommandConnect { client_version: "orders".into(), ..Default::default() };
//! broker.receive(now, peer, hello.into(), None);
//! let Some(Output::Send { command: Command::Connected(welcome), .. }) = broker.poll_output() else {
//!     panic!("a broker greets");
//! };
//! assert!(welcome.server_version.starts_with("BabelQueue embedded"));
//! ```
//!
//! How an event runs through the crate: a task in `server/connection` reads a frame and hands it to
//! `broker`, a file in `commands` changes the `topic` and its `subscription`s, `dispatch` decides
//! (as pure functions) which entries go to which consumers now, the subscription carries that out,
//! and `server/hub` hands what is to be sent to the tasks of the connections.

mod admin;
mod broker;
mod catalog;
mod clock;
mod commands;
mod config;
mod context;
mod control;
mod control_error;
mod cursor;
mod delay;
mod dispatch;
mod hash;
mod hidden;
mod log;
mod metadata;
mod meter;
mod name;
mod outbox;
mod peer;
mod policies;
mod producers;
mod refusal;
mod restart;
mod room;
mod schemas;
mod server;
mod stats;
mod subscription;
mod topic;
mod topic_list;

pub use broker::Broker;
pub use config::Config;
pub use control::Position;
pub use control_error::{ControlError, ControlErrorKind};
pub use outbox::Output;
pub use peer::PeerId;
pub use server::{Builder, Caught, CommandKind, DevBroker, Held, Next, StartError};
pub use stats::{
    Acknowledged, ConsumerStats, Counters, ProducerStats, StoredEntry, SubscriptionStats, Summary, TopicStats,
};
