//! The client: where it connects to, and what it opens.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::auth::{Authentication, Authenticator};
use crate::consumer::ConsumerBuilder;
use crate::error::{Error, ErrorKind};
use crate::hosts::Hosts;
use crate::link::DialOptions;
use crate::pool::{Pool, Role};
use crate::producer::ProducerBuilder;
use crate::reader::ReaderBuilder;
use crate::secret::Secret;
use crate::service_url::{Scheme, ServiceUrls};
use crate::settings::Settings;
use crate::tls::{Pem, Tls};
use crate::topic::TopicName;
use crate::topics::Topics;

/// A client of one Pulsar cluster.
///
/// Cheap to clone; all clones share the connections. Nothing is dialled before the first producer
/// or consumer is opened, and the connections end when the last clone, producer and consumer is
/// gone.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<ClientInner>);

pub(crate) struct ClientInner {
    pub(crate) listener: Option<String>,
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
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientBuilder {
    settings: Settings,
    options: ClientOptions,
}

impl Client {
    /// A client for the cluster at `url`: `pulsar://localhost:6650`, `pulsar+ssl://host:6651`, or
    /// several hosts, `pulsar://a:6650,b:6650`.
    ///
    /// # Errors
    ///
    /// The URL cannot be used; the error says what was expected.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// A client with settings of its own.
    pub fn builder(url: &str) -> ClientBuilder {
        Self::with_settings(Settings::new().url(url))
    }

    /// A client for the cluster that `settings` tell, with TLS and authentication as they say.
    pub fn with_settings(settings: Settings) -> ClientBuilder {
        ClientBuilder {
            settings,
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

    /// A consumer of `subscription` on a topic, on several, or on those of a namespace whose names match a pattern
    /// ([`Topics`]), to be opened.
    pub fn consumer(&self, topics: impl Into<Topics>, subscription: &str) -> ConsumerBuilder {
        ConsumerBuilder::new(self.clone(), topics.into(), subscription)
    }

    /// A reader of `topic`, to be opened.
    pub fn reader(&self, topic: &str) -> ReaderBuilder {
        let name = format!("reader-{:016x}", rand::random::<u64>());
        ReaderBuilder::new(ConsumerBuilder::new(self.clone(), topic.into(), &name))
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
            .field("service", self.0.pool.hosts().urls())
            .field("options", &self.0.options)
            .finish()
    }
}

impl ClientBuilder {
    /// Lays `settings` over those that are there: what they say goes first.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings.or(self.settings);
        self
    }

    /// How the client says who it is.
    pub fn authentication(mut self, authentication: Authentication) -> Self {
        self.settings = self.settings.authentication(authentication);
        self
    }

    /// Says who the client is with a token that stays the same.
    pub fn token(mut self, token: impl Into<Secret>) -> Self {
        self.settings = self.settings.token(token);
        self
    }

    /// As [`Settings::trusted_authorities`].
    pub fn trusted_authorities(mut self, authorities: Pem) -> Self {
        self.settings = self.settings.trusted_authorities(authorities);
        self
    }

    /// As [`Settings::client_certificate`].
    pub fn client_certificate(mut self, chain: Pem, key: Pem) -> Self {
        self.settings = self.settings.client_certificate(chain, key);
        self
    }

    /// As [`Settings::listener_name`].
    pub fn listener_name(mut self, name: impl Into<String>) -> Self {
        self.settings = self.settings.listener_name(name);
        self
    }

    /// As [`Settings::danger_accept_wrong_host_names`].
    pub fn danger_accept_wrong_host_names(mut self) -> Self {
        self.settings = self.settings.danger_accept_wrong_host_names();
        self
    }

    /// As [`Settings::danger_accept_any_certificate`].
    pub fn danger_accept_any_certificate(mut self) -> Self {
        self.settings = self.settings.danger_accept_any_certificate();
        self
    }

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
    /// There is no service URL or none that can be used, settings contradict each other, or a time
    /// is zero.
    pub fn build(self) -> Result<Client, Error> {
        let Self { settings, options } = self;
        let times = [
            ("operation_timeout", options.operation_timeout),
            ("connect_timeout", options.connect_timeout),
            ("keep_alive", options.keep_alive),
        ];
        if let Some((name, _)) = times.into_iter().find(|(_, time)| time.is_zero()) {
            return Err(invalid(format!("{name} is zero, expected some time")));
        }
        let Some(url) = settings.service_url() else {
            let text = "no service URL is given, expected pulsar://host:6650 (in code, PULSAR_URL, or brokerServiceUrl of client.conf)";
            return Err(Error::new(ErrorKind::InvalidServiceUrl, text));
        };
        let urls = ServiceUrls::parse(url)?;
        if settings.certificate.is_some() && urls.scheme() == Scheme::Plain {
            let text =
                format!("a client certificate is given, but {urls} is without TLS, expected pulsar+ssl://");
            return Err(invalid(text));
        }
        let tls = Tls::new(&settings);
        tls.warn_of_dangers(&urls);
        let shows_something = settings.authentication.as_ref().is_some_and(|way| !way.is_none());
        if shows_something && urls.leads_out_without_tls() {
            tracing::warn!(service = %urls, "credentials are sent without TLS: others can read them");
        }
        let authenticator = Authenticator::new(
            settings.authentication.as_ref(),
            tls.has_certificate(),
            settings.authorities.as_ref(),
            options.connect_timeout,
        )?;
        let dial = DialOptions {
            timeout: options.connect_timeout,
            keep_alive: options.keep_alive,
            tls,
            authenticator: Arc::new(authenticator),
        };
        Ok(Client(Arc::new(ClientInner {
            pool: Pool::new(Hosts::new(urls, rand::random()), dial),
            listener: settings.listener,
            options,
            session_ids: AtomicU64::new(1),
        })))
    }
}

fn invalid(text: String) -> Error {
    Error::new(ErrorKind::InvalidOption, text)
}

impl ClientInner {
    /// A number that no session of this client has had.
    pub(crate) fn next_session_id(&self) -> u64 {
        self.session_ids.fetch_add(1, Ordering::Relaxed)
    }
}
