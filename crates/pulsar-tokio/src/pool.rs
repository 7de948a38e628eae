//! The connections of a client: one for each broker and role, made when it is first needed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::error::{Error, ErrorKind};
use crate::hosts::Hosts;
use crate::link::{DialOptions, Link, lock};
use crate::lookup::Target;

/// What a connection is for.
///
/// A broker stops reading a socket that has too many sends pending or publishes too fast;
/// acknowledgements, permits and pings must not wait behind that, so they have their own socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Publish,
    Consume,
}

/// One connection, or the place where it will be; the lock is held while dialling, so that many
/// who need the same broker wait for one dial.
type Slot = Arc<tokio::sync::Mutex<Place>>;

#[derive(Default)]
struct Place {
    link: Option<Arc<Link>>,
    /// When a dial failed last. Who waited for it meanwhile shares its error instead of dialling
    /// in turn, each with a timeout of its own.
    failed: Option<(Instant, Error)>,
}

pub(crate) struct Pool {
    hosts: Hosts,
    options: DialOptions,
    slots: Mutex<HashMap<(Target, Role), Slot>>,
    numbers: AtomicU64,
}

impl Pool {
    pub(crate) fn new(hosts: Hosts, options: DialOptions) -> Self {
        Self {
            hosts,
            options,
            slots: Mutex::default(),
            numbers: AtomicU64::new(1),
        }
    }

    /// The hosts of the service URL.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// A connection to a host of the service URL, whosever turn it is.
    ///
    /// # Errors
    ///
    /// All of them failed.
    pub(crate) async fn service(&self, role: Role) -> Result<Arc<Link>, Error> {
        let mut errors = Vec::new();
        for host in self.hosts.order(Instant::now()) {
            match self.link(&Target::at(host), role).await {
                Ok(link) => return Ok(link),
                Err(error) if blames_us(&error) => return Err(error),
                Err(error) => errors.push(error),
            }
        }
        Err(self.hosts.all_failed(errors))
    }

    /// The connection to a broker, made if there is none that lives.
    pub(crate) async fn link(&self, target: &Target, role: Role) -> Result<Arc<Link>, Error> {
        let asked = Instant::now();
        let slot = lock(&self.slots)
            .entry((target.clone(), role))
            .or_default()
            .clone();
        let mut place = slot.lock().await;
        if let Some(link) = place.link.as_ref().filter(|link| !link.is_down()) {
            return Ok(link.clone());
        }
        if let Some((at, error)) = &place.failed
            && *at > asked
        {
            return Err(error.clone());
        }
        let dialled = self.dial(target).await;
        place.failed = dialled
            .as_ref()
            .err()
            .map(|error| (Instant::now(), error.clone()));
        place.link = dialled.as_ref().ok().cloned();
        dialled
    }

    /// Connects to a broker: directly, or through any of the hosts of the service URL when those
    /// are proxies.
    async fn dial(&self, target: &Target) -> Result<Arc<Link>, Error> {
        let addresses = if target.is_proxied() {
            self.hosts.order(Instant::now())
        } else {
            vec![target.broker().clone()]
        };
        let mut errors = Vec::new();
        for address in addresses {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            match Link::dial(number, &address, target, &self.options).await {
                Ok(link) => {
                    self.hosts.note(&address, true, Instant::now());
                    return Ok(link);
                }
                Err(error) if blames_us(&error) => return Err(error),
                Err(error) => {
                    self.hosts.note(&address, false, Instant::now());
                    errors.push(error);
                }
            }
        }
        Err(self.hosts.all_failed(errors))
    }
}

/// True for failures that another host would not mend.
fn blames_us(error: &Error) -> bool {
    error.kind() == ErrorKind::Credentials
}

impl Drop for Pool {
    fn drop(&mut self) {
        for slot in lock(&self.slots).values() {
            if let Ok(mut place) = slot.try_lock()
                && let Some(link) = place.link.take()
            {
                link.down(&Error::new(ErrorKind::Closed, "the client is closed"));
            }
        }
    }
}
