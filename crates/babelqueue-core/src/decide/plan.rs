//! `Delivery` → `Plan`: is a handler to run, and which?

use super::delivery::Delivery;
use super::poison::{Poison, classify};
use super::policy::Policy;
use super::settlement::{Dropped, Why};
use crate::attempts;
use crate::envelope::{Envelope, Warning};
use crate::properties::JOB;
use crate::schema_gate;
use crate::urn::trim_urn;

/// What is to happen with a delivery first.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Hand it to whom [`Work::target`] names, then ask [`conclude`](super::conclude).
    Dispatch(Work),
    /// No handler may see it; ask [`refuse`](super::refuse).
    Refuse(Refusal),
}

/// Why no handler may see a delivery.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// It declares a version of the envelope that this SDK does not read.
    Gated(Gated),
    /// Its body is poison.
    Poison(Poison),
}

/// A delivery that the version gate stopped before its body was read.
#[derive(Clone, Debug)]
pub struct Gated {
    declared: String,
    counted: i64,
}

impl Gated {
    /// The declared version, cut to 64 characters.
    #[must_use]
    pub fn declared(&self) -> &str {
        &self.declared
    }

    /// The number of this delivery, the first being 1, as far as it is known without the body.
    #[must_use]
    pub fn counted(&self) -> i64 {
        self.counted
    }
}

/// Who handles a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The handler of [`Work::route`].
    Handler,
    /// There is no handler, and the hook for unknown URNs takes it.
    UnknownHook,
    /// There is neither; the verdict is [`Work::unknown_urn`].
    Nobody,
}

/// A delivery for a handler.
#[derive(Clone, Debug)]
pub struct Work {
    envelope: Envelope,
    property_route: Option<String>,
    target: Target,
    warnings: Vec<Warning>,
}

impl Work {
    /// The envelope that the handler sees: its attempts are the reconciled ones.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Failed tries so far.
    #[must_use]
    pub fn attempts(&self) -> i64 {
        self.envelope.attempts()
    }

    /// The number of this delivery, the first being 1.
    #[must_use]
    pub fn counted(&self) -> i64 {
        attempts::counted(self.attempts())
    }

    /// The URN that was looked up: the property's, or else the body's.
    #[must_use]
    pub fn route(&self) -> &str {
        self.property_route
            .as_deref()
            .unwrap_or_else(|| self.envelope.urn())
    }

    /// The property's URN and the body's, when they differ.
    #[must_use]
    pub fn mismatch(&self) -> Option<(&str, &str)> {
        self.property_route
            .as_deref()
            .map(|property| (property, self.envelope.urn()))
    }

    /// Who handles it.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Properties of ours that could not be read. The body's warnings are the envelope's.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.warnings.iter().copied()
    }

    pub(super) fn dropped(&self, why: Why) -> Dropped {
        Dropped::new(why, self.counted())
            .route(self.route())
            .message(&self.envelope)
    }
}

/// Decides whether a delivery goes to a handler; `knows` says whether a URN has one.
#[must_use]
pub fn plan(delivery: &Delivery, policy: &Policy, knows: impl FnOnce(&str) -> bool) -> Plan {
    if let Some(declared) = schema_gate::declared(&delivery.properties) {
        let attempts = attempts::reconcile(&delivery.properties, 0, delivery.redelivery_count);
        let counted = attempts::counted(attempts);
        return Plan::Refuse(Refusal::Gated(Gated { declared, counted }));
    }
    let envelope = match classify(delivery) {
        Ok(envelope) => envelope,
        Err(poison) => return Plan::Refuse(Refusal::Poison(poison)),
    };
    let attempts = attempts::reconcile(
        &delivery.properties,
        envelope.attempts(),
        delivery.redelivery_count,
    );
    let envelope = envelope.with_attempts(attempts);
    let property_route = property_route(delivery, envelope.urn());
    let target = match knows(property_route.as_deref().unwrap_or_else(|| envelope.urn())) {
        true => Target::Handler,
        false if policy.unknown_urn_hook => Target::UnknownHook,
        false => Target::Nobody,
    };
    Plan::Dispatch(Work {
        envelope,
        property_route,
        target,
        warnings: delivery.properties.warnings().collect(),
    })
}

/// The URN of the `bq-job` property, when it routes elsewhere than the body.
fn property_route(delivery: &Delivery, body_urn: &str) -> Option<String> {
    let urn = trim_urn(delivery.properties.text(JOB)?);
    (!urn.is_empty() && urn != body_urn).then(|| urn.to_owned())
}
