//! What to do with a delivery: two questions, asked around the handler, and answers that are data.
//!
//! [`plan`] says whether a handler is to run. [`conclude`] says how the delivery ends after its
//! verdict, [`refuse`] how one ends that no handler may see, and [`oversized`] what to do when the
//! broker finds the answer too large. The order in `plan` is: version gate, classify, attempts,
//! route, handler known? `docs/decision-table.md` lists the rows.

mod conclude;
mod delivery;
mod oversized;
mod plan;
mod poison;
mod policy;
mod settlement;

pub use conclude::{Cause, Verdict, conclude, refuse};
pub use delivery::{Body, Delivery};
pub use oversized::{Basis, oversized};
pub use plan::{Gated, Plan, Refusal, Target, Work, plan};
pub use poison::{Poison, PoisonCause};
pub use policy::Policy;
pub use settlement::{Destination, Dropped, Outgoing, Record, Settlement, Why};
