//! The protocol's state, without a socket, a clock or a task.
//!
//! Each machine takes frames and the time, and answers with frames to send and results to hand
//! out; waiting, dialling and randomness are the business of the modules around it. So a test can
//! drive a session through any order of frames, losses and delays, and replay it exactly.
//!
//! | machine | holds |
//! |---|---|
//! | [`connection`] | handshake, request numbers, keep-alive |
//! | [`attach`] | how a producer or consumer comes (back) to the broker that serves its topic |
//! | [`producer`] | pending sends, receipts, resending |
//! | [`consumer`] | deliveries, permits, entries, chunks, acknowledgements |

pub(crate) mod acks;
pub(crate) mod attach;
pub(crate) mod backoff;
pub(crate) mod chunks;
pub(crate) mod connection;
pub(crate) mod consumer;
pub(crate) mod cut;
pub(crate) mod entries;
pub(crate) mod permits;
pub(crate) mod producer;
pub(crate) mod rewind;
pub(crate) mod stall;

#[cfg(test)]
mod simulation;
