//! The binary protocol of Apache Pulsar as values: frames, commands, batches. No sockets, no
//! clock, no async; a client and a broker can both be built on it.
//!
//! | module | what it is |
//! |---|---|
//! | [`proto`] | the commands and the metadata as structs |
//! | [`Command`] | one of all commands; one that is not known stays readable |
//! | [`FrameDecoder`], [`encode_frame`], [`encode_send`], [`encode_message`] | bytes of a connection to frames and back |
//! | [`MessageFrame`] | the message part of a frame: checksum, metadata, payload |
//! | [`compression`] | payloads in and out of their codec, bounded |
//! | [`batch`] | a batch's payload cut into its members |
//! | [`AckSet`] | which members of a batch are still open |
//!
//! ```
//! use bytes::BytesMut;
//! use pulsar_wire::proto::{CommandSend, MessageMetadata};
//! use pulsar_wire::{Checksum, Command, FrameDecoder, encode_send};
//!
//! let send = CommandSend { producer_id: 1, sequence_id: 0, ..Default::default() };
//! let metadata = MessageMetadata { producer_name: "orders".into(), ..Default::default() };
//! let mut received = BytesMut::from(encode_send(&send, &metadata, b"order 7"));
//!
//! let frame = FrameDecoder::default().decode(&mut received)?.expect("a whole frame");
//! assert_eq!(frame.command, Command::Send(send));
//! let message = frame.message.expect("SEND carries a message");
//! assert_eq!(message.checksum, Checksum::Valid);
//! assert_eq!(message.metadata()?, metadata);
//! assert_eq!(message.payload, "order 7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;
pub mod compression;
#[expect(
    missing_docs,
    reason = "the fields are the protocol's; a sentence on each would only repeat its name"
)]
pub mod proto;

mod ack_set;
mod command;
mod error;
mod field;
mod frame;
mod hidden;
mod message;
mod properties;
mod server_error;

pub use ack_set::AckSet;
pub use command::{Command, unknown_request_id};
pub use error::DecodeError;
pub use frame::{Frame, FrameDecoder, FrameError, FrameErrorKind, encode_frame};
pub use message::{
    Checksum, MessageFrame, SendFrame, encode_headers_and_payload, encode_message, encode_message_head,
    encode_send, encode_send_within, message_size,
};
pub use server_error::ServerError;

/// The protocol version that this crate's clients should announce.
///
/// Brokers speak 21. From 20 on they may send TOPIC_MIGRATED and expect the peer to move to the
/// other cluster, which `pulsar-tokio` does not do yet; 19 says so.
pub const PROTOCOL_VERSION: i32 = 19;

/// What metadata and payload of one entry may have together unless CONNECTED says otherwise.
pub const DEFAULT_MAX_MESSAGE_SIZE: usize = 5 * 1024 * 1024;

/// How much larger than the largest message a frame may be.
pub const FRAME_SLACK: usize = 10 * 1024;

/// Announces a checksum in the message part of a frame.
pub const MAGIC: u16 = 0x0e01;

/// Announces the broker's own entry metadata in the message part of a frame.
pub const BROKER_ENTRY_MAGIC: u16 = 0x0e02;
