//! `Work` + `Verdict` → `Settlement`, and `Refusal` → `Settlement`.

use std::borrow::Cow;

use super::delivery::{Body, Delivery};
use super::plan::{Refusal, Target, Work};
use super::poison::Poison;
use super::policy::Policy;
use super::settlement::{Destination, Dropped, Outgoing, Record, Settlement, Why};
use crate::dead_letter::{DeadLetter, Reason, poison_record, undecodable_record};
use crate::properties::{ATTEMPTS, Properties};

/// What the handler says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The work is done.
    Done,
    /// It failed.
    Failed(Cause),
}

/// Why work failed, as a dead letter reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The cause in words.
    pub error: String,
    /// The cause's type.
    pub exception: Option<Cow<'static, str>>,
}

impl Work {
    /// The cause when nobody handles the URN.
    #[must_use]
    pub fn unknown_urn(&self) -> Cause {
        let error = format!("no handler for {}", self.route());
        Cause {
            error,
            exception: Some("UnknownUrnError".into()),
        }
    }

    pub(super) fn reason(&self) -> Reason {
        if self.target() == Target::Nobody {
            Reason::UnknownUrn
        } else {
            Reason::Failed
        }
    }
}

/// Decides how a delivery ends after its handler, or the hook, has answered.
#[must_use]
pub fn conclude(
    delivery: &Delivery,
    work: &Work,
    verdict: &Verdict,
    policy: &Policy,
    now_ms: i64,
) -> Settlement {
    let Verdict::Failed(cause) = verdict else {
        return Settlement::Ack;
    };
    if policy.exhausted(work.counted()) {
        return give_up(delivery, work, cause, policy, now_ms);
    }
    if !policy.retry {
        return Settlement::Nack;
    }
    Settlement::Publish(Outgoing {
        target: Destination::WorkTopic,
        record: Record::Retry,
        body: work.envelope().rewritten(work.counted(), None),
        properties: filled(delivery, work),
    })
}

/// Decides how a delivery ends that no handler may see.
#[must_use]
pub fn refuse(delivery: &Delivery, refusal: &Refusal, policy: &Policy, now_ms: i64) -> Settlement {
    match refusal {
        Refusal::Gated(_) if policy.dead_letter => Settlement::Publish(Outgoing {
            target: Destination::DeadLetter,
            record: Record::Raw,
            body: delivery.body.received().clone(),
            properties: delivery.properties.clone(),
        }),
        Refusal::Gated(gated) => Settlement::Drop(Dropped::new(Why::Gated, gated.counted())),
        Refusal::Poison(poison) if policy.dead_letter || policy.exhausted(poison.counted()) => {
            give_up_poison(delivery, poison, policy, now_ms)
        }
        Refusal::Poison(poison) if policy.retry => Settlement::Publish(Outgoing {
            target: Destination::WorkTopic,
            record: Record::PoisonRetry,
            body: delivery.body.received().clone(),
            properties: recounted(&delivery.properties, poison.counted()),
        }),
        Refusal::Poison(_) => Settlement::Nack,
    }
}

/// The end of work that failed for the last time.
pub(super) fn give_up(
    delivery: &Delivery,
    work: &Work,
    cause: &Cause,
    policy: &Policy,
    now_ms: i64,
) -> Settlement {
    let reason = work.reason();
    if !policy.dead_letter {
        let why = if reason == Reason::UnknownUrn {
            Why::UnknownUrn
        } else {
            Why::Failed
        };
        return Settlement::Drop(work.dropped(why));
    }
    let block = DeadLetter::new(reason, &*delivery.queue, work.counted(), now_ms)
        .caused_by(&*cause.error, cause.exception.clone());
    Settlement::Publish(Outgoing {
        target: Destination::DeadLetter,
        record: Record::DeadLetter,
        body: work.envelope().rewritten(work.counted(), Some(&block)),
        properties: filled(delivery, work),
    })
}

/// The end of a poison delivery that is not tried again.
pub(super) fn give_up_poison(
    delivery: &Delivery,
    poison: &Poison,
    policy: &Policy,
    now_ms: i64,
) -> Settlement {
    if !policy.dead_letter {
        let dropped = Dropped::new(Why::Poison, poison.counted());
        return Settlement::Drop(match poison.envelope() {
            Some(envelope) => dropped.message(envelope),
            None => dropped,
        });
    }
    let error = format!("Undecodable BabelQueue body: {}", poison.cause());
    let block = DeadLetter::new(Reason::Poison, &*delivery.queue, poison.counted(), now_ms)
        .caused_by(error, Some("BabelQueueError".into()));
    Settlement::Publish(Outgoing {
        target: Destination::DeadLetter,
        record: Record::Poison,
        body: match &delivery.body {
            Body::Bytes(body) => poison_record(body, &block),
            Body::Undecodable { received, .. } => undecodable_record(received, &block),
        },
        properties: delivery.properties.clone(),
    })
}

/// The incoming properties with the new count.
pub(super) fn recounted(incoming: &Properties, counted: i64) -> Properties {
    let mut properties = incoming.clone();
    properties.set(ATTEMPTS, counted.to_string());
    properties
}

/// The incoming properties with the new count, and with what was missing.
fn filled(delivery: &Delivery, work: &Work) -> Properties {
    let mut properties = delivery.properties.clone();
    properties.fill(work.envelope());
    properties.set(ATTEMPTS, work.counted().to_string());
    properties
}
