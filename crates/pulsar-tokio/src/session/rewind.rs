//! Rewinding a subscription that delivers in order (`Exclusive` and `Failover`).
//!
//! Every rewind begins a new epoch, and a delivery of an older one is dropped. That alone is not
//! enough: a broker whose read is under way when it is asked to rewind may afterwards go on behind
//! that read, so that what it brought never comes in the new epoch, or may read twice from the
//! same place, so that what is confirmed meanwhile comes once more. Both are noticed here.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::message::EntryKey;

/// How long what a broker owes may stay away while nothing hinders it.
const PATIENCE: Duration = Duration::from_secs(2);

/// For how many confirmations after a rewind an echo is expected: more than a broker reads at once.
const ECHOES: usize = 2_000;

/// The rewinds of one consumer.
#[derive(Debug, Default)]
pub(crate) struct Rewind {
    epoch: u64,
    /// The broker has not been asked yet.
    asked_for: bool,
    /// Entries that were dropped since they came from before a rewind, and have not come again.
    owed: BTreeSet<EntryKey>,
    check: Option<Instant>,
    /// Entries that were confirmed after a rewind.
    confirmed: BTreeSet<EntryKey>,
    /// How many confirmations are still noted.
    noting: usize,
}

impl Rewind {
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn is_old(&self, epoch: Option<u64>) -> bool {
        epoch.is_some_and(|epoch| epoch < self.epoch)
    }

    /// Begins an epoch; where a session is open the broker has to be asked. Nothing is owed from
    /// before: what the broker still has of it comes, or is swallowed again and so owed again.
    pub(crate) fn begin(&mut self, is_open: bool) {
        self.epoch += 1;
        self.owed.clear();
        self.check = None;
        self.asked_for = is_open;
        self.noting = ECHOES;
    }

    /// True once for each rewind: now the broker is asked.
    pub(crate) fn ask(&mut self) -> bool {
        std::mem::take(&mut self.asked_for)
    }

    /// A delivery of an older epoch is dropped, so the broker owes it.
    pub(crate) fn owe(&mut self, now: Instant, key: EntryKey) {
        self.owed.insert(key);
        self.check = Some(now + PATIENCE);
    }

    /// Deliveries of an epoch come in order: one from behind an owed one tells of a gap.
    pub(crate) fn is_gap(&mut self, key: EntryKey) -> bool {
        self.owed.remove(&key);
        self.owed.first().is_some_and(|owed| *owed < key)
    }

    /// The entry is settled: it is not owed any more.
    pub(crate) fn settled(&mut self, key: EntryKey) {
        self.owed.remove(&key);
    }

    pub(crate) fn confirmed(&mut self, key: EntryKey) {
        if self.noting > 0 {
            self.noting -= 1;
            self.confirmed.insert(key);
        }
        if self.noting == 0 {
            self.confirmed.clear();
        }
    }

    /// True for an entry that was confirmed shortly after a rewind.
    pub(crate) fn is_echo(&self, key: EntryKey) -> bool {
        self.confirmed.contains(&key)
    }

    /// True if something is owed for too long.
    pub(crate) fn is_overdue(&mut self, now: Instant) -> bool {
        if self.check.take_if(|at| now >= *at).is_none() || self.owed.is_empty() {
            return false;
        }
        // In case that the caller cannot rewind now.
        self.check = Some(now + PATIENCE);
        true
    }

    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.check
    }

    /// The broker begins anew by itself.
    pub(crate) fn forget(&mut self) {
        *self = Self {
            epoch: self.epoch,
            ..Self::default()
        };
    }
}
