//! The connections of a client: one for each broker and role, made when it is first needed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::error::{Error, ErrorKind};
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
    options: DialOptions,
    slots: Mutex<HashMap<(Target, Role), Slot>>,
    numbers: AtomicU64,
}

impl Pool {
    pub(crate) fn new(options: DialOptions) -> Self {
        Self {
            options,
            slots: Mutex::default(),
            numbers: AtomicU64::new(1),
        }
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
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let dialled = Link::dial(number, target, &self.options).await;
        place.failed = dialled
            .as_ref()
            .err()
            .map(|error| (Instant::now(), error.clone()));
        place.link = dialled.as_ref().ok().cloned();
        dialled
    }
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
