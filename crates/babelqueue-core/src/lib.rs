//! The BabelQueue envelope and the decision about a delivery, without I/O.
//!
//! Everything here is a function of its arguments: no clock, no random source, no socket, no log.
//! Time, random bytes and what a transport has learned come in as values, and what is to be done
//! goes out as values.
//!
//! | module | holds |
//! |---|---|
//! | `envelope` | [`Envelope`]: reading, writing, making one |
//! | `data` | [`Data`]: the caller's values as JSON text |
//! | [`properties`] | the `bq-*` names and [`Properties`] |
//! | `schema_gate`, `attempts` | what the properties say before the body is looked at |
//! | [`dead_letter`] | the block, the poison record, and the way back |
//! | `decide` | [`plan`], [`conclude`], [`refuse`], [`oversized`] |
//! | `json` | the scanner and the writer below all of these |
//!
//! The format itself is described in `docs/wire-format.md`; the rows of the decision are in
//! `docs/decision-table.md`.

mod attempts;
mod data;
pub mod dead_letter;
mod decide;
mod envelope;
mod error;
mod json;
pub mod properties;
mod schema_gate;
mod urn;

pub use data::Data;
pub use decide::{
    Basis, Body, Cause, Delivery, Destination, Dropped, Gated, Outgoing, Plan, Poison, PoisonCause, Policy,
    Record, Refusal, Settlement, Target, Verdict, Why, Work, conclude, oversized, plan, refuse,
};
pub use envelope::{Envelope, Meta, NewEnvelope, Stamp, Warning};
pub use error::{
    DataError, DataErrorKind, DecodeError, DecodeErrorKind, EnvelopeError, EnvelopeErrorKind, NotAccepted,
};
pub use properties::Properties;
pub use urn::trim_urn;
