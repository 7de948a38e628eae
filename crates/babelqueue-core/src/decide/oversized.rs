//! What to do when the broker finds a record too large. That is permanent, so the same write is
//! not repeated: each answer here is smaller than the one before.

use super::conclude::{Verdict, give_up, give_up_poison, recounted};
use super::delivery::Delivery;
use super::plan::{Refusal, Work};
use super::policy::Policy;
use super::settlement::{Destination, Outgoing, Record, Settlement};
use crate::dead_letter::Reason;
use crate::properties::DEAD_LETTER_REASON;

/// What the settlement with the record that was too large came from.
#[derive(Clone, Copy, Debug)]
pub enum Basis<'a> {
    /// [`conclude`](super::conclude) was asked.
    Concluded(&'a Work, &'a Verdict),
    /// [`refuse`](super::refuse) was asked.
    Refused(&'a Refusal),
}

/// Decides how a delivery ends whose record was too large for the broker.
///
/// None when there is nothing smaller: the delivery stays unsettled, since giving it back would only
/// repeat what cannot succeed.
#[must_use]
pub fn oversized(
    delivery: &Delivery,
    outgoing: &Outgoing,
    basis: Basis<'_>,
    policy: &Policy,
    now_ms: i64,
) -> Option<Settlement> {
    match (outgoing.record, basis) {
        (Record::Raw, _) => None,
        (Record::DeadLetter, Basis::Concluded(work, _)) => Some(raw(delivery, work.reason())),
        (Record::DeadLetter | Record::Poison, _) => Some(raw(delivery, Reason::Poison)),
        (Record::Retry, Basis::Concluded(work, Verdict::Failed(cause))) => {
            let properties = recounted(&delivery.properties, work.counted());
            if properties == outgoing.properties {
                return Some(give_up(delivery, work, cause, policy, now_ms));
            }
            Some(Settlement::Publish(Outgoing {
                properties,
                ..outgoing.clone()
            }))
        }
        (Record::PoisonRetry, Basis::Refused(Refusal::Poison(poison))) => {
            Some(give_up_poison(delivery, poison, policy, now_ms))
        }
        // Records that do not come from their basis: the caller mixed two deliveries up.
        (Record::Retry | Record::PoisonRetry, _) => None,
    }
}

/// The delivery as it was received, with one property that says why it is there.
fn raw(delivery: &Delivery, reason: Reason) -> Settlement {
    let mut properties = delivery.properties.clone();
    properties.set(DEAD_LETTER_REASON, reason.as_str());
    Settlement::Publish(Outgoing {
        target: Destination::DeadLetter,
        record: Record::Raw,
        body: delivery.body.received().clone(),
        properties,
    })
}
