//! Test support: a broker and its administration
//!
//! A test asks for a broker and always gets one: a development broker in its process, fresh for each test, or the real
//! Apache Pulsar that `PULSAR_URL` and `PULSAR_ADMIN_URL` name.
//!
//! ```
//! let broker = pulsar_testing::broker!();
//! let topic = broker.topic("orders");
//! broker.admin().create_partitioned(&topic, 2);
//! // ... a client is given broker.url() ...
//! assert_eq!(broker.admin().stats(&topic).producers.len(), 0);
//! ```
//!
//! Everything blocks and everything that fails panics with a text that names the thing: this is for tests only. A
//! test on tokio whose client has to go on meanwhile uses a runtime with several threads, or `spawn_blocking`.
//!
//! `scripts/with-pulsar` runs a command on a real broker. What only that can show begins with
//! [`real_broker_or_skip!`].
//!
//! | module | content |
//! |---|---|
//! | `broker` | [`Broker`]: the one of the environment, or one of the test's own |
//! | `profile` | [`Profile`]: how one of the test's own is configured |
//! | `embedded` | the development broker, and [`Admin`] for it |
//! | `cluster` | [`Cluster`]: two real brokers, of which one can be killed |
//! | `instance` | a real broker that `scripts/pulsar` runs |
//! | `admin` | [`Admin`]: what tests ask of an administration, whoever implements it |
//! | `rest` | Pulsar's REST interface behind [`Admin`] |
//! | `stats` | what a topic says about itself |
//! | [`secure`] | a real broker with TLS and authentication, and tokens for it |
//! | [`certificates`] | authorities and what they issue, good and bad |
//! | `proxy` | [`Proxy`]: a way to the broker that a test can cut, stall, slow and censor |
//! | `python` | the interpreter with the Python peer |
//! | [`program`] | Pulsar's clients for other languages, as programs; the one module that does not block |

mod admin;
mod broker;
pub mod certificates;
mod cluster;
mod embedded;
mod http;
mod instance;
mod profile;
pub mod program;
mod proxy;
mod python;
mod rest;
pub mod secure;
mod skip;
mod stats;

pub use admin::{Admin, OverQuota, Position, Schema};
pub use broker::Broker;
pub use cluster::Cluster;
pub use profile::Profile;
pub use proxy::{Direction, Proxy};
pub use python::python;
pub use skip::{eventually, skip};
pub use stats::{ConsumerStats, ProducerStats, SubscriptionStats, TopicStats};
