//! Where everything begins: the cluster, and what is opened on it.

use std::sync::Arc;
use std::time::Duration;

use pulsar_tokio::{Client, ClientBuilder, Producer, Settings, Topics};

use crate::open_error::OpenError;
use crate::publisher::PublisherBuilder;
use crate::subscription::Subscription;

/// A Pulsar cluster. Cheap to clone; all clones share the connections.
#[derive(Clone, Debug)]
pub struct Pulsar {
    client: Client,
}

/// Settings of [`Pulsar`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PulsarBuilder {
    client: ClientBuilder,
}

impl Pulsar {
    /// The cluster at `url`: `pulsar://localhost:6650`, `pulsar+ssl://host:6651`, or several hosts,
    /// `pulsar://a:6650,b:6650`. Nothing is dialled yet.
    ///
    /// # Errors
    ///
    /// The URL cannot be used; the error says what was expected.
    pub fn new(url: &str) -> Result<Self, OpenError> {
        Self::builder(url).build()
    }

    /// The cluster that the environment names, with TLS and authentication as it says: `PULSAR_URL` and
    /// the other variables of [`Settings::from_environment`]. Nothing is dialled yet.
    ///
    /// # Errors
    ///
    /// No URL is given or none that can be used, or variables contradict each other; the error names
    /// them.
    pub fn from_environment() -> Result<Self, OpenError> {
        let settings = Settings::from_environment()
            .map_err(|error| OpenError::pulsar("use the settings of the environment", error))?;
        Self::with_settings(settings).build()
    }

    /// A cluster with settings of its own.
    pub fn builder(url: &str) -> PulsarBuilder {
        PulsarBuilder {
            client: Client::builder(url),
        }
    }

    /// The cluster that `settings` tell, with TLS and authentication as they say; for example those
    /// of the environment, [`Settings::from_environment`].
    pub fn with_settings(settings: Settings) -> PulsarBuilder {
        PulsarBuilder {
            client: Client::with_settings(settings),
        }
    }

    /// The cluster of a client that is already there.
    #[must_use]
    pub fn from_client(client: Client) -> Self {
        Self { client }
    }

    /// The client below.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A publisher to `topic`, in any of Pulsar's forms; awaiting it opens it.
    pub fn publisher(&self, topic: &str) -> PublisherBuilder {
        PublisherBuilder::new(self, topic)
    }

    /// Prepares to consume a topic, several, or those of a namespace whose names match a pattern ([`Topics`]), with the
    /// subscription of this name. Retries go to the topic that the message came from.
    pub fn subscription(&self, topics: impl Into<Topics>, name: &str) -> Subscription {
        Subscription::new(self.clone(), topics.into(), name)
    }

    /// Opens a producer that waits for room rather than failing, without batches: confirmed means stored.
    pub(crate) async fn producer(
        &self,
        topic: &str,
        initial_subscription: Option<&str>,
    ) -> Result<Arc<Producer>, pulsar_tokio::Error> {
        let mut builder = self.client.producer(topic);
        if let Some(name) = initial_subscription {
            builder = builder.initial_subscription(name);
        }
        builder.open().await.map(Arc::new)
    }
}

impl PulsarBuilder {
    /// Lays `settings` over those that are there: what they say goes first.
    pub fn settings(self, settings: Settings) -> Self {
        let client = self.client.settings(settings);
        Self { client }
    }

    /// How long opening, looking up and other requests may take. Default 30 s.
    pub fn operation_timeout(self, operation_timeout: Duration) -> Self {
        let client = self
            .client
            .operation_timeout(operation_timeout)
            .connect_timeout(operation_timeout.min(Duration::from_secs(10)));
        Self { client }
    }

    /// The cluster.
    ///
    /// # Errors
    ///
    /// There is no URL or none that can be used, settings contradict each other, or the timeout is
    /// zero.
    pub fn build(self) -> Result<Pulsar, OpenError> {
        let client = self
            .client
            .build()
            .map_err(|error| OpenError::pulsar("use these settings", error))?;
        Ok(Pulsar { client })
    }
}
