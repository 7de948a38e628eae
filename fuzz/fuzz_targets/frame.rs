//! Any bytes from a connection, in pieces of any size.
#![no_main]

#[path = "../../crates/pulsar-wire/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::frame(input));
