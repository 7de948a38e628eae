//! The protocol's commands and metadata as prost structs, written by hand: names and numbers are
//! those of Pulsar 4.0.7 (protocol version 21), nothing more is taken from anywhere.
//!
//! Required fields of the protocol are plain, optional ones are `Option`. Nothing here checks that
//! a required field was there: a missing one has its zero value. Enumerations are `i32` with a
//! typed getter beside them, so a value of tomorrow survives; the getter maps it to the first
//! known one. Error codes are `i32` for [`ServerError`](crate::ServerError). `Debug` hides
//! credentials, keys and the values of properties.

mod connection;
mod consumer;
mod lookup;
mod message;
mod producer;
mod schema;
mod topics;
mod transaction;

pub use connection::*;
pub use consumer::*;
pub use lookup::*;
pub use message::*;
pub use producer::*;
pub use schema::*;
pub use topics::*;
pub use transaction::*;
