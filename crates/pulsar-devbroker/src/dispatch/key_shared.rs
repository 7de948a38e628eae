//! Key_Shared: each entry to the owner of its key, and not while a former owner holds some.
//!
//! An entry never goes past an earlier one of its key that waits: it has the same owner, whose
//! permits only become fewer while planning.

use super::{Delivery, Permits, Plan, Scope, cost, must_wait_until};
use crate::log::Log;
use crate::subscription::Subscription;

/// How many entries may wait for their key's owner before reading stops.
const LOOK_AHEAD: usize = 2_000;

pub(super) fn plan(subscription: &Subscription, scope: Scope, log: &Log, now_ms: u64, plan: &mut Plan) {
    let mut round = Round {
        subscription,
        log,
        permits: Permits::of(subscription),
    };
    let waiting = Some(&subscription.replay).filter(|_| scope == Scope::All);
    for entry in waiting.into_iter().flatten() {
        if !round.permits.any() {
            return;
        }
        plan.looked_at += 1;
        round.offer(*entry, plan);
    }
    while plan.read < log.end() && round.permits.any() {
        let entry = plan.read;
        if subscription.replay.len() + plan.hold.len() >= LOOK_AHEAD {
            return;
        }
        plan.read += 1;
        plan.looked_at += 1;
        if subscription.cursor.is_acked(entry) {
            continue;
        }
        match must_wait_until(subscription, log, entry, now_ms) {
            Some(due_ms) => plan.delay.push((due_ms, entry)),
            None if round.offer(entry, plan) => {}
            None => plan.hold.push(entry),
        }
    }
}

struct Round<'a> {
    subscription: &'a Subscription,
    log: &'a Log,
    permits: Permits,
}

impl Round<'_> {
    /// Says whether the entry goes out.
    fn offer(&mut self, entry: u64, plan: &mut Plan) -> bool {
        let Some(key_hash) = self.log.get(entry).map(|entry| entry.key_hash) else {
            return false;
        };
        let slot = self.subscription.slot(key_hash);
        let Some(consumer) = self.taker(slot) else {
            return false;
        };
        self.permits
            .spend(consumer, cost(self.subscription, self.log, entry));
        plan.deliveries.push(Delivery { consumer, entry });
        true
    }

    fn taker(&self, slot: u32) -> Option<usize> {
        let consumer = self.subscription.owner(slot)?;
        let owner = &self.subscription.consumers[consumer];
        let is_free = self.permits.has(consumer) && !self.subscription.is_draining(slot, owner);
        is_free.then_some(consumer)
    }
}
