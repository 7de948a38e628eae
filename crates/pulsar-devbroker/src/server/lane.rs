//! One direction of a connection: frames in their order, of which the first may be held back.

use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

use tokio::sync::watch;
use tokio::time::sleep_until;

use super::next::{Deed, Rules};

/// One direction: frames on their way, and what the first of them waits for.
pub(super) struct Lane<T> {
    pub(super) frames: VecDeque<T>,
    gate: Option<Gate>,
    /// The first frame was held back already; it passes once the gate opens.
    passes: bool,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self {
            frames: VecDeque::new(),
            gate: None,
            passes: false,
        }
    }
}

impl<T> Lane<T> {
    /// Whether its first frame is held back.
    pub(super) fn is_held(&self) -> bool {
        self.gate.is_some()
    }

    /// Whether its frames need not be looked at one by one.
    pub(super) fn is_free(&self, rules: &Rules) -> bool {
        rules.is_empty() && self.gate.is_none() && !self.passes
    }

    /// Keeps the frame, and those behind it, until the gate opens.
    pub(super) fn hold(&mut self, frame: T, gate: Gate) {
        self.wait(frame, gate);
        self.passes = true;
    }

    /// The same, but what happens to the frame is still open.
    pub(super) fn wait(&mut self, frame: T, gate: Gate) {
        self.frames.push_front(frame);
        self.gate = Some(gate);
    }

    /// The next frame, and what is to happen to it.
    pub(super) fn next(&mut self, rules: &Rules, kind: impl Fn(&T) -> i32) -> Option<(T, Option<Deed>)> {
        if self.gate.is_some() {
            return None;
        }
        let frame = self.frames.pop_front()?;
        let deed = if std::mem::take(&mut self.passes) {
            None
        } else {
            rules.take(kind(&frame))
        };
        Some((frame, deed))
    }

    pub(super) async fn opened(&mut self) {
        match &mut self.gate {
            Some(gate) => gate.opened().await,
            None => std::future::pending().await,
        }
        self.gate = None;
    }
}

/// What one direction of a connection waits for.
pub(super) enum Gate {
    At(Instant),
    Released(watch::Receiver<bool>),
}

impl Gate {
    pub(super) async fn opened(&mut self) {
        match self {
            Self::At(time) => sleep_until((*time).into()).await,
            // Whoever could release it is gone: an error opens it too.
            Self::Released(released) => drop(released.wait_for(|released| *released).await),
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::At(_) => "Gate::At",
            Self::Released(_) => "Gate::Released",
        })
    }
}
