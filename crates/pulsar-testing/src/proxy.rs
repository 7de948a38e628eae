//! A way to the broker that a test can cut, stall, slow and censor.
//!
//! The broker tells clients its own address when they look a topic up; the proxy puts its own in
//! place of that, so that whoever came through it stays behind it.

mod pump;
mod rules;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use pulsar_wire::{Command, ServerError};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

pub use self::rules::Direction;
use self::rules::{Alteration, Fate, Rules};
use crate::Broker;

/// A running proxy. Every call takes effect at once, on connections that exist and on new ones; dropping it ends all.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    rules: Arc<watch::Sender<Rules>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy before `broker` that passes everything on.
    ///
    /// # Panics
    /// When no port is free.
    #[track_caller]
    #[must_use]
    pub fn before(broker: &Broker) -> Self {
        Self::to(broker.url())
    }

    #[track_caller]
    fn to(url: &str) -> Self {
        let target = url.strip_prefix("pulsar://").expect("a broker's URL");
        let target: SocketAddr = target.parse().expect("an address with a port");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a listener for tokio");
        let rules = Arc::new(watch::Sender::new(Rules::default()));
        let watched = rules.clone();
        let url = format!("pulsar://{address}");
        let own_url = url.clone();
        let thread = std::thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime");
                runtime.block_on(serve(listener, target, own_url, watched));
            });
        Self {
            url,
            rules,
            thread: Some(thread.expect("a thread")),
        }
    }

    /// Where a client connects: `pulsar://host:port`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.rules.send_modify(|rules| rules.cuts += 1);
    }

    /// Whether nobody listens. Connections that exist go on; [`cut`](Self::cut) them too.
    pub fn refuse(&self, on: bool) {
        self.rules.send_modify(|rules| rules.refuses = on);
    }

    /// Whether new connections end as soon as the client has said its first word.
    pub fn hang_up(&self, on: bool) {
        self.rules.send_modify(|rules| rules.hangs_up = on);
    }

    /// Passes nothing on in this direction until it is [released](Self::release). Held both ways it is a black hole:
    /// connections are accepted, and nothing ever comes of them.
    pub fn hold(&self, direction: Direction) {
        self.rules.send_modify(|rules| rules.hold(direction, true));
    }

    /// Ends [`hold`](Self::hold).
    pub fn release(&self, direction: Direction) {
        self.rules.send_modify(|rules| rules.hold(direction, false));
    }

    /// Makes each frame wait for so long.
    pub fn slow(&self, pause: Duration) {
        self.rules.send_modify(|rules| rules.pause = pause);
    }

    /// Keeps frames of this name (such as `SEND_RECEIPT`) until [`pass`](Self::pass); a cut loses them.
    pub fn withhold(&self, name: &'static str) {
        self.rules
            .send_modify(|rules| _ = rules.fates.insert(name, Fate::Withhold));
    }

    /// Loses frames of this name until [`pass`](Self::pass).
    pub fn lose(&self, name: &'static str) {
        self.rules
            .send_modify(|rules| _ = rules.fates.insert(name, Fate::Lose));
    }

    /// Flips the last bit of frames of this name until [`pass`](Self::pass), as a bad line would.
    pub fn damage(&self, name: &'static str) {
        self.rules
            .send_modify(|rules| _ = rules.fates.insert(name, Fate::Damage));
    }

    /// Puts something else in place of commands of this name until [`pass`](Self::pass). A message behind the command
    /// stays as it is.
    pub fn alter(&self, name: &'static str, alteration: impl Fn(Command) -> Command + Send + Sync + 'static) {
        let fate = Fate::Alter(Alteration::new(alteration));
        self.rules.send_modify(|rules| _ = rules.fates.insert(name, fate));
    }

    /// Passes frames of this name on again as they are, those withheld first.
    pub fn pass(&self, name: &'static str) {
        self.rules.send_modify(|rules| _ = rules.fates.remove(name));
    }

    /// Turns the answers to lookups into errors with this code, or no longer.
    pub fn fail_lookups(&self, code: Option<ServerError>) {
        self.rules.send_modify(|rules| rules.lookup_error = code);
    }

    /// How many frames of this name were not passed on as they are so far.
    #[must_use]
    pub fn kept_back(&self, name: &str) -> usize {
        self.rules.borrow().kept_back(name)
    }

    /// How many connections were accepted so far.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.rules.borrow().accepted()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.rules.send_modify(|rules| rules.is_over = true);
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed already.
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: std::net::TcpListener,
    target: SocketAddr,
    own_url: String,
    rules: Arc<watch::Sender<Rules>>,
) {
    let address = listener.local_addr().expect("an address");
    let mut listener = Some(TcpListener::from_std(listener).expect("a listener"));
    let mut changes = rules.subscribe();
    loop {
        let (refuses, is_over) = {
            let now = changes.borrow_and_update();
            (now.refuses, now.is_over)
        };
        if is_over {
            return;
        }
        match (&listener, refuses) {
            (Some(_), true) => listener = None,
            (None, false) => listener = Some(listen(address)),
            _ => {}
        }
        tokio::select! {
            changed = changes.changed() => changed.expect("the proxy keeps its rules"),
            accepted = accept(listener.as_ref()) => {
                rules.borrow().note_accepted();
                tokio::spawn(connection(accepted, target, own_url.clone(), rules.subscribe()));
            }
        }
    }
}

/// Listens again where others may still have connections.
fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("an address that is used again");
    socket.bind(address).expect("the same port again");
    socket.listen(64).expect("a listener")
}

async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    match listener {
        Some(listener) => listener.accept().await.expect("a connection").0,
        None => std::future::pending().await,
    }
}

async fn connection(
    mut client: TcpStream,
    target: SocketAddr,
    own_url: String,
    rules: watch::Receiver<Rules>,
) {
    let (cuts, hangs_up) = {
        let now = rules.borrow();
        (now.cuts, now.hangs_up)
    };
    let passing = async {
        if hangs_up {
            // The first word is read, so that the end comes without a reset.
            let _ = client.read(&mut [0; 4096]).await;
            return;
        }
        let Ok(broker) = TcpStream::connect(target).await else {
            return;
        };
        // Delays are the rules' business alone.
        let _ = (client.set_nodelay(true), broker.set_nodelay(true));
        let (from_client, to_client) = client.into_split();
        let (from_broker, to_broker) = broker.into_split();
        let there = pump::Pump::new(Direction::ToBroker, &own_url, rules.clone());
        let back = pump::Pump::new(Direction::ToClient, &own_url, rules.clone());
        tokio::select! {
            () = there.run(from_client, to_broker) => {}
            () = back.run(from_broker, to_client) => {}
        }
    };
    let mut cutting = rules.clone();
    tokio::select! {
        () = passing => {}
        _ = cutting.wait_for(|rules| rules.cuts != cuts || rules.is_over) => {}
    }
}

#[cfg(test)]
mod tests;
