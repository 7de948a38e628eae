//! What an event has at hand besides the topic that it is about.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::clock::{Clock, Now};
use crate::outbox::Outbox;
use crate::stats::Counters;

#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    pub(crate) clock: &'a Clock,
    pub(crate) out: &'a mut Outbox,
    pub(crate) counters: &'a mut Counters,
    pub(crate) alarms: &'a mut Alarms,
}

/// Who has something to do at a time: a topic's subscription.
pub(crate) type Sleeper = (Arc<str>, Arc<str>);

/// Times at which something happens without an input. One may outlive its reason: waking somebody
/// for nothing does no harm.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    set: BTreeSet<(Instant, Sleeper)>,
    /// Whether something is to happen earlier than was foreseen.
    is_earlier: bool,
}

impl Alarms {
    pub(crate) fn first(&self) -> Option<Instant> {
        self.set.first().map(|(at, _)| *at)
    }

    /// Replaces the alarm `before`, if there was one.
    pub(crate) fn set(&mut self, before: Option<Instant>, at: Option<Instant>, sleeper: Sleeper) {
        if let Some(before) = before {
            self.set.remove(&(before, sleeper.clone()));
        }
        if let Some(at) = at {
            self.is_earlier |= self.first().is_none_or(|first| at < first);
            self.set.insert((at, sleeper));
        }
    }

    /// Whether since the last call something was put off until before all else.
    pub(crate) fn take_earlier(&mut self) -> bool {
        std::mem::take(&mut self.is_earlier)
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<Sleeper> {
        if self.first()? > now {
            return None;
        }
        self.set.pop_first().map(|(_, sleeper)| sleeper)
    }
}
