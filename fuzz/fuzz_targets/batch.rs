//! Any bytes as the payload of a batch.
#![no_main]

#[path = "../../crates/pulsar-wire/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::batch(input));
