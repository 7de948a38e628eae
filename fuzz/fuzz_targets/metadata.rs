//! Any bytes as the message part of a frame.
#![no_main]

#[path = "../../crates/pulsar-wire/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::metadata(input));
