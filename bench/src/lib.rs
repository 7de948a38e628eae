//! Figures of the SDK beside its bare client, of its codec beside serde_json, and of the development
//! broker beside Pulsar.
//!
//! Nothing is asserted: a figure depends on the machine. `make bench` and `make bench-brokers` print them
//! and write them to `bench/RESULTS.md`.
//!
//! | module | content |
//! |---|---|
//! | `work` | publishing and consuming on a real broker, through the SDK and without it |
//! | `codec` | reading and writing envelopes |
//! | `meter` | CPU time, allocations, medians |
//! | `report` | the tables, and what they say about the aims |
//! | `brokers` | the development broker beside Pulsar |
//! | `results` | the file with the figures |
//!
//! `bin/allocations` counts allocations in a program of its own, so that counting costs no time here.

pub mod brokers;
pub mod codec;
pub mod meter;
pub mod report;
pub mod results;
pub mod work;

/// What can go wrong: the broker is away or refuses, or a file cannot be written.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
