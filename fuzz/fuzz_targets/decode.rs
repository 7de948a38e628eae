//! Any bytes as a message body.
#![no_main]

#[path = "../../crates/babelqueue-core/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|body: &[u8]| checks::decode(body));
