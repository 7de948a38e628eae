//! Sockets around the core: a broker that clients of any language can connect to.
//!
//! | file | what it is for |
//! |---|---|
//! | `builder` | settings, and the start |
//! | `accept` | takes connections, and the timer that drives what waits for its time |
//! | `hub` | the core behind its lock; hands what it wants sent to the connections |
//! | `connection` | one task a connection: reads frames, gives them to the core, writes |
//! | `outlet`, `writer` | what waits to be written to a connection |
//! | `lane` | one direction of it, where tests can hold frames back |
//! | `liveness` | who is quiet for too long |
//! | `next`, `kind`, `answer` | what tests arrange to happen to the next frame of a kind |
//! | `stopping` | stopping it and starting it again |
//! | `topics` | what an administrator does, as calls |

mod accept;
mod answer;
mod builder;
mod connection;
mod hub;
mod kind;
mod lane;
mod liveness;
mod next;
mod outlet;
mod stopping;
mod topics;
mod writer;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

pub use self::builder::{Builder, StartError};
use self::hub::Hub;
pub use self::kind::CommandKind;
pub use self::next::{Caught, Held, Next};

/// A broker that runs in this process and listens on a port; it ends when this is dropped.
///
/// It is for development and tests: all is in memory and gone at the end. Production is Apache
/// Pulsar.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use pulsar_devbroker::DevBroker;
///
/// let broker = DevBroker::builder().start().await?;
/// assert!(broker.url().starts_with("pulsar://127.0.0.1:"));
/// broker.shutdown().await;
/// # Ok::<(), pulsar_devbroker::StartError>(())
/// # }).unwrap();
/// ```
pub struct DevBroker {
    hub: Arc<Hub>,
    addr: SocketAddr,
    /// All that runs holds receivers of this.
    stop: watch::Sender<bool>,
    /// Where it runs.
    runtime: Handle,
    /// Ends with it the thread that was started for it.
    lifetime: Option<oneshot::Sender<()>>,
}

impl DevBroker {
    /// Settings for a new broker: by default on a free port of 127.0.0.1, otherwise as a Pulsar
    /// with default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The service URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        hub::url(self.addr)
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// All that it stores would be too much, and is nobody's business.
impl fmt::Debug for DevBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevBroker")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

impl Drop for DevBroker {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
