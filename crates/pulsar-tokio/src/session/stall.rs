//! Noticing a subscription that stands still because permits went missing.
//!
//! A broker sends nothing to a consumer without permits and says nothing about it, so if an
//! account went wrong somewhere, both sides wait for each other for ever. After an interval in
//! which nothing came although the broker should have permits, it is asked what it has; when it
//! twice says "none" with nothing arriving in between, that is a stall.
//!
//! What looks like one and is none: a standby on `Failover`, messages that wait for their time, a
//! `Key_Shared` subscription that drains. There the broker's permits are ours, so no check ever
//! differs. A consumer that is blocked for too much unacknowledged collects its permits elsewhere,
//! and says so.

use std::time::{Duration, Instant};

/// What a broker has to differ in before it is a stall, and how often.
const SUSPICIONS: u32 = 2;

/// The watch over one consumer.
#[derive(Debug)]
pub(crate) struct StallWatch {
    interval: Duration,
    check: Option<Instant>,
    /// Something arrived since the last check.
    is_busy: bool,
    /// The request whose answer is awaited.
    asked: Option<u64>,
    suspicions: u32,
}

/// A broker's account of one consumer, as far as a stall shows in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) permits: i64,
    pub(crate) is_blocked: bool,
}

impl StallWatch {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            check: None,
            is_busy: false,
            asked: None,
            suspicions: 0,
        }
    }

    /// A session is open.
    pub(crate) fn begin(&mut self, now: Instant) {
        *self = Self::new(self.interval);
        self.check = Some(now + self.interval);
    }

    /// The session is over.
    pub(crate) fn end(&mut self) {
        *self = Self::new(self.interval);
    }

    pub(crate) fn arrived(&mut self) {
        self.is_busy = true;
    }

    /// True when the broker has to be asked; `is_waiting` says that by our account it could send.
    pub(crate) fn is_due(&mut self, now: Instant, is_waiting: bool) -> bool {
        if self.check.is_none_or(|at| now < at) {
            return false;
        }
        self.check = Some(now + self.interval);
        if std::mem::take(&mut self.is_busy) || !is_waiting {
            self.suspicions = 0;
            return false;
        }
        self.asked.is_none()
    }

    pub(crate) fn asked(&mut self, request_id: u64) {
        self.asked = Some(request_id);
    }

    /// The broker's answer; true if this is a stall.
    pub(crate) fn answered(&mut self, request_id: u64, account: Option<Account>, is_waiting: bool) -> bool {
        if self.asked.take_if(|asked| *asked == request_id).is_none() {
            return false;
        }
        let is_suspect = account.is_some_and(|account| account.permits <= 0 && !account.is_blocked);
        if !is_suspect || self.is_busy || !is_waiting {
            self.suspicions = 0;
            return false;
        }
        self.suspicions += 1;
        self.suspicions >= SUSPICIONS
    }

    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.check
    }
}
