//! Settings, and the start.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::hub::Hub;
use super::{DevBroker, accept, hub};
use crate::admin;
use crate::clock::AGES;
use crate::config::Config;

/// When a connection is given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long a peer may take to say CONNECT.
    pub(super) handshake: Duration,
    /// How long it may be quiet before it gets a PING, and how long its answer may take.
    pub(super) keep_alive: Duration,
}

/// Settings for a [`DevBroker`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    config: Config,
    address: SocketAddr,
    partitioned: Vec<(String, u32)>,
    patience: Patience,
}

impl Default for Builder {
    fn default() -> Self {
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_ms = unix_ms.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        Self {
            config: Config::new(Instant::now(), unix_ms),
            address: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
            partitioned: Vec::new(),
            patience: Patience {
                handshake: Duration::from_secs(30),
                keep_alive: Duration::from_secs(30),
            },
        }
    }
}

impl Builder {
    /// The port to listen on; 0, the default, takes a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.address.set_port(port);
        self
    }

    /// The address to listen on; 127.0.0.1 by default, which other machines cannot reach.
    pub fn listen(mut self, address: impl Into<IpAddr>) -> Self {
        self.address.set_ip(address.into());
        self
    }

    /// Whether acknowledgements of single members of a batch have an effect, as with Pulsar's
    /// `acknowledgmentAtBatchIndexLevelEnabled`; off by default.
    pub fn batch_index_acks(mut self, on: bool) -> Self {
        self.config.batch_index_acks = on;
        self
    }

    /// Whether messages with a sequence id that their producer's name has used are dropped; off by
    /// default.
    pub fn deduplication(mut self, on: bool) -> Self {
        self.config.deduplication = on;
        self
    }

    /// Makes a topic with this many partitions at the start.
    pub fn partitioned(mut self, topic: impl Into<String>, partitions: u32) -> Self {
        self.partitioned.push((topic.into(), partitions));
        self
    }

    /// Another namespace, such as `acme/shop`, beside `public/default`.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.config.namespaces.insert(name.into());
        self
    }

    /// Whether delayed messages never come before their time; by default they may come up to a
    /// second early, as with Pulsar.
    pub fn strict_delay(mut self, on: bool) -> Self {
        self.config.strict_delay = on;
        self
    }

    /// How long a Failover subscription waits before a new active consumer takes over; one second
    /// by default.
    pub fn failover_delay(mut self, delay: Duration) -> Self {
        self.config.failover_delay = delay;
        self
    }

    /// How large the payload of an entry may be, in bytes; 5 MiB by default, 2 GiB at most.
    pub fn max_message_size(mut self, bytes: usize) -> Self {
        // Clients are told as a signed number of 32 bits.
        self.config.max_message_size = bytes.min(i32::MAX as usize);
        self
    }

    /// How long a peer may be quiet before it gets a PING, and how long after that it may stay
    /// quiet before its connection is closed; 30 seconds each by default.
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.patience.keep_alive = time.min(AGES);
        self
    }

    /// How long a peer may take to say CONNECT before its connection is closed; 30 seconds by
    /// default.
    pub fn handshake_timeout(mut self, time: Duration) -> Self {
        self.patience.handshake = time.min(AGES);
        self
    }

    /// Starts the broker on the current runtime.
    ///
    /// # Errors
    /// When the address cannot be listened on, or a topic or namespace cannot be made.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    ///
    /// # Cancel safety
    /// It either runs or it does not.
    pub async fn start(self) -> Result<DevBroker, StartError> {
        self.open().await
    }

    /// Starts the broker on a thread of its own, for programs and tests without a runtime, or with
    /// several.
    ///
    /// # Errors
    /// When the address cannot be listened on, a topic or namespace cannot be made, or there can be
    /// no thread.
    pub fn start_on_thread(self) -> Result<DevBroker, StartError> {
        let address = self.address;
        let failed = move |source| StartError { address, source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (started, has_started) = mpsc::sync_channel(1);
        let run = move || {
            runtime.block_on(async {
                match self.open().await {
                    Ok(mut broker) => {
                        let stop = broker.stop.clone();
                        let (lifetime, dropped) = oneshot::channel();
                        broker.lifetime = Some(lifetime);
                        // Should nobody take it, it is dropped, which ends it.
                        let _ = started.send(Ok(broker));
                        let _ = dropped.await;
                        stop.closed().await;
                    }
                    Err(error) => drop(started.send(Err(error))),
                }
            });
        };
        let thread = thread::Builder::new().name("pulsar-devbroker".to_owned());
        thread.spawn(run).map_err(failed)?;
        has_started.recv().unwrap_or_else(|_| {
            let source = io::Error::other("the broker's thread ended");
            Err(failed(source))
        })
    }

    async fn open(mut self) -> Result<DevBroker, StartError> {
        let address = self.address;
        let failed = |source| StartError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        self.config.service_url = hub::url(addr);
        let impossible = |error| failed(io::Error::new(io::ErrorKind::InvalidInput, error));
        for name in &self.config.namespaces {
            admin::check_namespace(name).map_err(impossible)?;
        }
        let hub = Arc::new(Hub::new(self.config, self.patience));
        for (topic, partitions) in &self.partitioned {
            hub.with(|broker, _| broker.create_partitioned_topic(topic, *partitions))
                .map_err(impossible)?;
        }
        let (stop, stopped) = watch::channel(false);
        accept::spawn(&hub, listener, stopped);
        tracing::info!(%addr, "development broker is listening");
        Ok(DevBroker {
            hub,
            addr,
            stop,
            runtime: Handle::current(),
            lifetime: None,
        })
    }
}

/// The broker could not be started.
#[derive(Debug)]
pub struct StartError {
    pub(super) address: SocketAddr,
    pub(super) source: io::Error,
}

impl StartError {
    /// Whether something else listens there already.
    #[must_use]
    pub fn is_address_in_use(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the broker cannot start on {}", self.address)
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
