//! The core behind its lock, and the way from it to the connections.
//!
//! A connection's task locks the core once for all frames that it read in one go; what the core
//! wants sent goes into the connections' outlets before the lock is released, so each connection
//! sees it in the core's order.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::builder::Patience;
use super::next::Rules;
use super::outlet::Outlet;
use crate::broker::Broker;
use crate::clock::AGES;
use crate::config::Config;
use crate::outbox::Output;
use crate::peer::PeerId;

/// How many bytes of deliveries may be on their way to a connection; more wait in the core.
const ROOM: usize = 2 * 1024 * 1024;

pub(super) struct Hub {
    core: Mutex<Core>,
    /// The core put something off.
    put_off: Notify,
    pub(super) rules: Rules,
    door: AtomicBool,
    pub(super) patience: Patience,
    pub(super) max_message_size: usize,
}

struct Core {
    broker: Broker,
    outlets: HashMap<PeerId, Arc<Outlet>>,
    /// By how much the core's clock is ahead.
    ahead: Duration,
}

impl Hub {
    pub(super) fn new(config: Config, patience: Patience) -> Self {
        Self {
            max_message_size: config.max_message_size,
            core: Mutex::new(Core {
                broker: Broker::new(config),
                outlets: HashMap::new(),
                ahead: Duration::ZERO,
            }),
            put_off: Notify::new(),
            rules: Rules::default(),
            door: AtomicBool::new(true),
            patience,
        }
    }

    /// Does something with the core and sends what it wants sent.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Broker, Instant) -> R) -> R {
        let mut core = self.lock();
        let now = Instant::now() + core.ahead;
        let result = act(&mut core.broker, now);
        self.route(&mut core, None);
        result
    }

    pub(super) fn connect(&self, remote: SocketAddr) -> (PeerId, Arc<Outlet>) {
        let mut core = self.lock();
        let now = Instant::now() + core.ahead;
        let peer = core.broker.connect_bounded(now, remote.to_string(), ROOM);
        let outlet = Arc::new(Outlet::new(remote));
        core.outlets.insert(peer, outlet.clone());
        (peer, outlet)
    }

    /// As [`with`](Self::with), for the task of a connection, which looks at its outlet anyway.
    pub(super) fn with_own<R>(&self, own: PeerId, act: impl FnOnce(&mut Broker, Instant) -> R) -> R {
        let mut core = self.lock();
        let now = Instant::now() + core.ahead;
        let result = act(&mut core.broker, now);
        self.route(&mut core, Some(own));
        result
    }

    pub(super) fn disconnect(&self, peer: PeerId) {
        let mut core = self.lock();
        core.outlets.remove(&peer);
        let now = Instant::now() + core.ahead;
        core.broker.disconnect(now, peer);
        self.route(&mut core, None);
    }

    pub(super) fn remote(&self, peer: PeerId) -> Option<SocketAddr> {
        self.lock().outlets.get(&peer).map(|outlet| outlet.remote)
    }

    pub(super) fn connections(&self) -> usize {
        self.lock().outlets.len()
    }

    /// Moves the core's clock forward, by a thousand years in all.
    pub(super) fn advance_clock(&self, by: Duration) {
        let mut core = self.lock();
        core.ahead = core.ahead.saturating_add(by).min(AGES);
        let now = Instant::now() + core.ahead;
        core.broker.on_time(now);
        self.route(&mut core, None);
        self.put_off.notify_one();
    }

    /// Ends all connections after what is ready for them.
    pub(super) fn cut_connections(&self) {
        let mut core = self.lock();
        let now = Instant::now() + core.ahead;
        for (peer, outlet) in core.outlets.drain().collect::<Vec<_>>() {
            core.broker.disconnect(now, peer);
            outlet.close("cut");
        }
        self.route(&mut core, None);
    }

    /// Whether new connections are welcome.
    pub(super) fn is_open(&self) -> bool {
        self.door.load(Ordering::Relaxed)
    }

    pub(super) fn set_open(&self, open: bool) {
        self.door.store(open, Ordering::Relaxed);
    }

    /// When the core wants to act, on the real clock.
    pub(super) fn next_time(&self) -> Option<Instant> {
        let core = self.lock();
        core.broker.next_time()?.checked_sub(core.ahead)
    }

    /// Resolves when [`next_time`](Self::next_time) may have changed.
    pub(super) async fn put_off(&self) {
        self.put_off.notified().await;
    }

    fn route(&self, core: &mut Core, own: Option<PeerId>) {
        while let Some(output) = core.broker.poll_output() {
            match output {
                Output::Send {
                    peer,
                    command,
                    message,
                } => {
                    if let Some(outlet) = core.outlets.get(&peer) {
                        outlet.push(command, message, own == Some(peer));
                    }
                }
                Output::Close { peer, why } => {
                    if let Some(outlet) = core.outlets.remove(&peer) {
                        outlet.close(why);
                    }
                }
            }
        }
        if core.broker.took_time() {
            self.put_off.notify_one();
        }
    }

    /// A panic elsewhere was reported where it happened; the others go on.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where clients are sent: what listens everywhere is reached here.
pub(super) fn url(addr: SocketAddr) -> String {
    if addr.ip().is_unspecified() {
        return format!("pulsar://127.0.0.1:{}", addr.port());
    }
    format!("pulsar://{addr}")
}
