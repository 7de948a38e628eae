//! What can be set about a broker.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pulsar_wire::DEFAULT_MAX_MESSAGE_SIZE;

/// Settings of a [`Broker`](crate::Broker). The defaults are those of Apache Pulsar 4.0.7.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// A moment of the driver's monotonic time …
    pub started: Instant,
    /// … and the same moment in milliseconds since 1970. Times in messages are on this scale.
    pub started_unix_ms: u64,
    /// The cluster's name; generated producer names begin with it.
    pub cluster: String,
    /// Where LOOKUP sends clients.
    pub service_url: String,
    /// What CONNECTED names as the server.
    pub server_version: String,
    /// How large the payload of an entry may be, in bytes.
    pub max_message_size: usize,
    /// The namespaces that exist.
    pub namespaces: BTreeSet<String>,
    /// Whether producers and consumers are refused until something of their namespace was looked
    /// up, as after a start of Pulsar.
    pub require_lookup: bool,
    /// Whether acknowledgements of single members of a batch have an effect.
    pub batch_index_acks: bool,
    /// Whether sequence ids that a producer's name already used are dropped.
    pub deduplication: bool,
    /// How long a Failover subscription waits before a new active consumer takes over.
    pub failover_delay: Duration,
    /// What is due within this time is delivered at once, unless `strict_delay` is set.
    pub delay_tick: Duration,
    /// Whether delayed messages never come before their time.
    pub strict_delay: bool,
    /// How many entries of a topic stay although every subscription has acknowledged them: about
    /// what a ledger of Pulsar has, …
    pub retained_entries: usize,
    /// … unless they take more bytes than this.
    pub retained_bytes: usize,
    /// How many messages a consumer of a Shared or Key_Shared subscription may hold without
    /// acknowledging them.
    pub max_unacked_per_consumer: u64,
    /// How many all consumers of such a subscription may hold.
    pub max_unacked_per_subscription: u64,
}

impl Config {
    /// The defaults, with `started` being `unix_ms` milliseconds after 1970.
    #[must_use]
    pub fn new(started: Instant, unix_ms: u64) -> Self {
        Self {
            started,
            started_unix_ms: unix_ms,
            cluster: "standalone".to_owned(),
            service_url: "pulsar://127.0.0.1:6650".to_owned(),
            server_version: concat!("BabelQueue embedded broker ", env!("CARGO_PKG_VERSION")).to_owned(),
            max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
            namespaces: BTreeSet::from(["public/default".to_owned()]),
            require_lookup: true,
            batch_index_acks: false,
            deduplication: false,
            failover_delay: Duration::from_secs(1),
            delay_tick: Duration::from_secs(1),
            strict_delay: false,
            retained_entries: 50_000,
            retained_bytes: 64 << 20,
            max_unacked_per_consumer: 50_000,
            max_unacked_per_subscription: 200_000,
        }
    }
}
