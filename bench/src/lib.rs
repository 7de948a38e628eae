//! Figures of the SDK beside its bare client, beside the SDKs and clients of other languages, of its codec beside
//! serde_json, and of the development broker beside Pulsar.
//!
//! Nothing is asserted: a figure depends on the machine. `make bench`, `make bench-peers` and `make bench-brokers` print
//! them and write them to `bench/RESULTS.md`.
//!
//! | module | content |
//! |---|---|
//! | `work` | publishing and consuming on a real broker, through the SDK and without it |
//! | `codec` | reading and writing envelopes |
//! | `meter` | CPU time, allocations, medians |
//! | `report` | the tables, and what they say about the aims |
//! | `peers` | the same work by ours and by the SDKs and clients of other languages, each in a process of its own |
//! | `protocol` | publishing in frames, without a client |
//! | `process` | `bqctl broker` as a process of its own; memory and CPU time of a process |
//! | `brokers` | the development broker beside Pulsar |
//! | `results` | the file with the figures |
//!
//! `bin/allocations` counts allocations in a program of its own, so that counting costs no time here.

pub mod brokers;
pub mod codec;
pub mod meter;
pub mod peers;
mod process;
mod protocol;
pub mod report;
pub mod results;
pub mod work;

/// What can go wrong: the broker is away or refuses, or a file cannot be written.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
