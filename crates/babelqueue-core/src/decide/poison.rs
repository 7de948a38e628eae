//! The verdict on a body that no handler may see, with its cause (`docs/wire-format.md`, Poison).

use std::error::Error;
use std::fmt;

use super::delivery::{Body, Delivery};
use crate::attempts;
use crate::envelope::Envelope;
use crate::error::{DecodeError, NotAccepted};

/// A delivery whose body can never be handed to a handler.
#[derive(Clone, Debug)]
pub struct Poison {
    cause: PoisonCause,
    envelope: Option<Envelope>,
    counted: i64,
}

impl Poison {
    /// The rule that the body failed.
    #[must_use]
    pub fn cause(&self) -> &PoisonCause {
        &self.cause
    }

    /// The envelope, when the body decoded and is only not accepted (P8).
    #[must_use]
    pub fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    /// The number of this delivery, the first being 1.
    #[must_use]
    pub fn counted(&self) -> i64 {
        self.counted
    }
}

/// Why a body is poison. Its text never repeats content of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoisonCause {
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Undecodable(String),
    Decode(DecodeError),
    NotAccepted(NotAccepted),
}

impl PoisonCause {
    /// The rule's number, `P0` to `P8`.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match &self.rule {
            Rule::Undecodable(_) => "P0",
            Rule::Decode(error) => error.rule(),
            Rule::NotAccepted(_) => "P8",
        }
    }
}

impl fmt::Display for PoisonCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Rule::Undecodable(cause) => write!(f, "the entry could not be decoded: {cause}"),
            Rule::Decode(error) => error.fmt(f),
            Rule::NotAccepted(reason) => reason.fmt(f),
        }
    }
}

impl Error for PoisonCause {}

/// Sorts a body: an envelope for a handler, or poison.
pub(super) fn classify(delivery: &Delivery) -> Result<Envelope, Poison> {
    let counted = |body_attempts: Option<i64>| {
        let body = body_attempts
            .filter(|attempts| *attempts >= 0)
            .unwrap_or_default();
        attempts::counted(attempts::reconcile(
            &delivery.properties,
            body,
            delivery.redelivery_count,
        ))
    };
    let body = match &delivery.body {
        Body::Bytes(body) => body,
        Body::Undecodable { cause, .. } => {
            let cause = PoisonCause {
                rule: Rule::Undecodable(cause.clone()),
            };
            return Err(Poison {
                cause,
                envelope: None,
                counted: counted(None),
            });
        }
    };
    let envelope = Envelope::decode(body).map_err(|error| {
        let counted = counted(error.attempts());
        Poison {
            cause: PoisonCause {
                rule: Rule::Decode(error),
            },
            envelope: None,
            counted,
        }
    })?;
    match envelope.accepts() {
        Ok(()) => Ok(envelope),
        Err(reason) => {
            let cause = PoisonCause {
                rule: Rule::NotAccepted(reason),
            };
            let counted = counted(Some(envelope.attempts()));
            Err(Poison {
                cause,
                envelope: Some(envelope),
                counted,
            })
        }
    }
}
