//! The client: where it connects to, and what it opens.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::consumer::ConsumerBuilder;
use crate::error::{Error, ErrorKind};
use crate::link::DialOptions;
use crate::lookup::Target;
use crate::pool::{Pool, Role};
use crate::producer::ProducerBuilder;
use crate::service_url::without_secrets;
use crate::topic::TopicName;

/// A client of one Pulsar cluster.
///
/// Cheap to clone; all clones share the connections. Nothing is dialled before the first producer
/// or consumer is opened, and the connections end when the last clone, producer and consumer is
/// gone.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<ClientInner>);

pub(crate) struct ClientInner {
    pub(crate) service: Target,
    pub(crate) options: ClientOptions,
    pub(crate) pool: Pool,
    session_ids: AtomicU64,
}

#[derive(Clone, Debug)]
pub(crate) struct ClientOptions {
    pub(crate) operation_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) close_timeout: Duration,
    pub(crate) keep_alive: Duration,
}

/// Settings of a [`Client`].
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    url: String,
    options: ClientOptions,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("url", &without_secrets(&self.url))
            .field("options", &self.options)
            .finish()
    }
}

impl Client {
    /// A client for the broker at `url`, such as `pulsar://localhost:6650`.
    ///
    /// # Errors
    ///
    /// The URL cannot be used; the error says what was expected.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// A client with settings of its own.
    pub fn builder(url: &str) -> ClientBuilder {
        ClientBuilder {
            url: url.to_owned(),
            options: ClientOptions {
                operation_timeout: Duration::from_secs(30),
                connect_timeout: Duration::from_secs(10),
                close_timeout: Duration::from_secs(5),
                keep_alive: Duration::from_secs(30),
            },
        }
    }

    /// A producer on `topic`, to be opened.
    pub fn producer(&self, topic: &str) -> ProducerBuilder {
        ProducerBuilder::new(self.clone(), topic)
    }

    /// A consumer of `subscription` on `topic`, to be opened.
    pub fn consumer(&self, topic: &str, subscription: &str) -> ConsumerBuilder {
        ConsumerBuilder::new(self.clone(), topic, subscription)
    }

    /// How many partitions `topic` has; 0 for a topic without partitions.
    ///
    /// # Errors
    ///
    /// The name is no topic's, or the broker refuses or cannot be reached.
    pub async fn partitions(&self, topic: &str) -> Result<u32, Error> {
        self.0.partitions(&TopicName::parse(topic)?, Role::Consume).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("service", &self.0.service)
            .field("options", &self.0.options)
            .finish()
    }
}

impl ClientBuilder {
    /// How long opening, looking up and other requests may take. Default 30 s.
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.options.operation_timeout = timeout;
        self
    }

    /// How long connecting and the handshake may take. Default 10 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// How long a close in the background may take. Default 5 s.
    pub fn close_timeout(mut self, timeout: Duration) -> Self {
        self.options.close_timeout = timeout;
        self
    }

    /// After how much silence the broker is asked for a sign of life; after as much again the
    /// connection counts as lost. Default 30 s.
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.options.keep_alive = interval;
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// The URL cannot be used, or a time is zero.
    pub fn build(self) -> Result<Client, Error> {
        let service = Target::direct(&self.url)?;
        let times = [
            ("operation_timeout", self.options.operation_timeout),
            ("connect_timeout", self.options.connect_timeout),
            ("keep_alive", self.options.keep_alive),
        ];
        if let Some((name, _)) = times.into_iter().find(|(_, time)| time.is_zero()) {
            return Err(Error::new(
                ErrorKind::InvalidOption,
                format!("{name} is zero, expected some time"),
            ));
        }
        let dial = DialOptions {
            timeout: self.options.connect_timeout,
            keep_alive: self.options.keep_alive,
        };
        Ok(Client(Arc::new(ClientInner {
            service,
            pool: Pool::new(dial),
            options: self.options,
            session_ids: AtomicU64::new(1),
        })))
    }
}

impl ClientInner {
    /// A number that no session of this client has had.
    pub(crate) fn next_session_id(&self) -> u64 {
        self.session_ids.fetch_add(1, Ordering::Relaxed)
    }
}
