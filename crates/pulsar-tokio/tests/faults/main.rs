//! The client against a real broker while something breaks. One program, since each would link
//! everything again. `BABELQUEUE_SOAK=1` makes the breaks longer.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by it; the lint's own exception does not know helpers"
)]

mod connections;
mod consuming;
mod ending;
mod moves;
mod operators;
mod oracle;
#[path = "../live/raw.rs"]
mod raw;
mod refusals;
mod scene;
mod sending;
#[allow(dead_code, reason = "shared with the tests without faults")]
#[path = "../live/support.rs"]
mod support;
