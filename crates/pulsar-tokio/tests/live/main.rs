//! The client against a real broker. One program, since each would link everything again.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by it; the lint's own exception does not know helpers"
)]

mod batches;
mod batching;
mod cancelled;
mod chunks;
mod keys;
mod messages;
mod outages;
mod raw;
mod reading;
mod refusals;
mod seeking;
mod sessions;
mod settling;
mod sizes;
mod support;
mod topics;
mod undecodable;
