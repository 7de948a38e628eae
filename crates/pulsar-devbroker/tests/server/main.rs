//! The broker with its sockets, spoken to in frames.

#![allow(clippy::unwrap_used)]

mod admin;
mod control;
mod crowd;
mod extremes;
mod hostile;
mod keep_alive;
mod lifetime;
mod peer;
mod running;
mod slow_readers;
mod stopping;
