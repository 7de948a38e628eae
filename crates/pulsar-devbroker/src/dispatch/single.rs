//! Exclusive and Failover: everything to the active consumer, in order.

use super::{Delivery, Permits, Plan, cost};
use crate::log::Log;
use crate::subscription::Subscription;

pub(super) fn plan(subscription: &Subscription, log: &Log, plan: &mut Plan) {
    let active = subscription.active.and_then(|key| subscription.index_of(key));
    let Some(consumer) = active.filter(|_| !subscription.is_taking_over()) else {
        return;
    };
    let mut permits = Permits::of(subscription);
    while plan.read < log.end() && permits.has(consumer) {
        let entry = plan.read;
        plan.read += 1;
        plan.looked_at += 1;
        if !subscription.cursor.is_acked(entry) {
            permits.spend(consumer, cost(subscription, log, entry));
            plan.deliveries.push(Delivery { consumer, entry });
        }
    }
}
