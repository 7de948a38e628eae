//! Any bytes as a poison body: its record must give them back.
#![no_main]

#[path = "../../crates/babelqueue-core/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|body: &[u8]| checks::poison(body));
