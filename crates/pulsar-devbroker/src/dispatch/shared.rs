//! Shared: each entry to the next consumer that has permits, what came back first.

use super::{Delivery, Permits, Plan, cost, must_wait_until};
use crate::log::Log;
use crate::subscription::Subscription;

pub(super) fn plan(subscription: &Subscription, log: &Log, now_ms: u64, plan: &mut Plan) {
    let mut permits = Permits::of(subscription);
    for entry in &subscription.replay {
        let Some(consumer) = next_consumer(subscription, &permits, plan.turn) else {
            return;
        };
        plan.looked_at += 1;
        deliver(subscription, log, plan, &mut permits, consumer, *entry);
    }
    while plan.read < log.end() {
        let Some(consumer) = next_consumer(subscription, &permits, plan.turn) else {
            return;
        };
        let entry = plan.read;
        plan.read += 1;
        plan.looked_at += 1;
        if subscription.cursor.is_acked(entry) {
            continue;
        }
        match must_wait_until(subscription, log, entry, now_ms) {
            Some(due_ms) => plan.delay.push((due_ms, entry)),
            None => deliver(subscription, log, plan, &mut permits, consumer, entry),
        }
    }
}

fn deliver(
    subscription: &Subscription,
    log: &Log,
    plan: &mut Plan,
    permits: &mut Permits,
    consumer: usize,
    entry: u64,
) {
    permits.spend(consumer, cost(subscription, log, entry));
    plan.deliveries.push(Delivery { consumer, entry });
    plan.turn = consumer + 1;
}

/// Among those with permits and the best priority, the first from `turn` on.
pub(super) fn next_consumer(subscription: &Subscription, permits: &Permits, turn: usize) -> Option<usize> {
    let count = subscription.consumers.len();
    let priority = |index: usize| subscription.consumers[index].priority;
    let ready = (0..count).filter(|index| permits.has(*index));
    let best = ready.map(priority).min()?;
    (0..count)
        .map(|step| (turn + step) % count)
        .find(|index| permits.has(*index) && priority(*index) == best)
}
