//! What a proxy does to what passes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pulsar_wire::{Command, ServerError};

/// A way through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the broker.
    ToBroker,
    /// From the broker to the client.
    ToClient,
    /// Both.
    Both,
}

/// What becomes of frames of a name.
#[derive(Debug)]
pub(super) enum Fate {
    Withhold,
    Lose,
    Damage,
    Alter(Alteration),
}

/// What is put in place of a command.
pub(super) struct Alteration(Box<dyn Fn(Command) -> Command + Send + Sync>);

impl Alteration {
    pub(super) fn new(alteration: impl Fn(Command) -> Command + Send + Sync + 'static) -> Self {
        Self(Box::new(alteration))
    }

    pub(super) fn of(&self, command: Command) -> Command {
        (self.0)(command)
    }
}

impl fmt::Debug for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alteration")
    }
}

#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) cuts: u64,
    pub(super) refuses: bool,
    pub(super) hangs_up: bool,
    pub(super) pause: Duration,
    pub(super) fates: BTreeMap<&'static str, Fate>,
    pub(super) lookup_error: Option<ServerError>,
    pub(super) is_over: bool,
    holds_to_broker: bool,
    holds_to_client: bool,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicUsize,
    kept_back: Mutex<BTreeMap<&'static str, usize>>,
}

impl Rules {
    pub(super) fn hold(&mut self, direction: Direction, on: bool) {
        if direction != Direction::ToClient {
            self.holds_to_broker = on;
        }
        if direction != Direction::ToBroker {
            self.holds_to_client = on;
        }
    }

    pub(super) fn holds(&self, direction: Direction) -> bool {
        match direction {
            Direction::ToBroker => self.holds_to_broker,
            Direction::ToClient => self.holds_to_client,
            Direction::Both => self.holds_to_broker && self.holds_to_client,
        }
    }

    pub(super) fn note_accepted(&self) {
        self.counts.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn accepted(&self) -> usize {
        self.counts.accepted.load(Ordering::Relaxed)
    }

    pub(super) fn note_kept_back(&self, name: &'static str) {
        let mut kept_back = self
            .counts
            .kept_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *kept_back.entry(name).or_default() += 1;
    }

    pub(super) fn kept_back(&self, name: &str) -> usize {
        let kept_back = self
            .counts
            .kept_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept_back.get(name).copied().unwrap_or_default()
    }
}
