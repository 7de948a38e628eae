//! Frames: a length, a command and, behind SEND and MESSAGE, a message.

use std::fmt;

use bytes::{Buf, BufMut, BytesMut};

use crate::command::Command;
use crate::error::DecodeError;
use crate::message::MessageFrame;
use crate::{DEFAULT_MAX_MESSAGE_SIZE, FRAME_SLACK};

/// The length of a length.
pub(crate) const LENGTH: usize = 4;

/// What was read from a connection in one piece.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The command.
    pub command: Command,
    /// The message behind it: with SEND and MESSAGE, unless the peer sent none.
    pub message: Option<MessageFrame>,
}

/// Cuts the bytes of a connection into frames.
#[derive(Clone, Debug)]
pub struct FrameDecoder {
    limit: usize,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_MESSAGE_SIZE + FRAME_SLACK)
    }
}

impl FrameDecoder {
    /// A decoder that refuses frames of more than `limit` bytes, their length field included.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit }
    }

    /// Changes the limit, usually once CONNECTED named the largest message.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes the next frame off `input`, or `None` while it is not all there; then `input` has
    /// room for the rest.
    ///
    /// Bytes in the frame share memory with what was read in one go, so keeping a small message
    /// can keep a larger buffer.
    ///
    /// # Errors
    /// When the peer does not speak the protocol or broke it. The connection can't go on: where
    /// the next frame starts is not known, or the peer can't be believed. A damaged *message* is
    /// not an error here, see [`MessageFrame`].
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let Some(head) = input.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        self.check(length, *head)?;
        let total = LENGTH + length;
        if input.len() < total {
            input.reserve(total - input.len());
            return Ok(None);
        }

        let mut rest = input.split_to(total).freeze();
        rest.advance(LENGTH);
        let command_length = rest.get_u32() as usize;
        if command_length > rest.len() {
            return Err(FrameErrorKind::CommandLength {
                command: command_length,
                left: rest.len(),
            }
            .into());
        }
        let command = Command::decode(rest.split_to(command_length)).map_err(FrameErrorKind::Command)?;
        let carries_message = matches!(command, Command::Send(_) | Command::Message(_));
        let message = (carries_message && !rest.is_empty()).then(|| MessageFrame::parse(rest));
        Ok(Some(Frame { command, message }))
    }

    fn check(&self, length: usize, head: [u8; LENGTH]) -> Result<(), FrameError> {
        if length < LENGTH {
            return Err(FrameErrorKind::TooShort { length }.into());
        }
        if length.saturating_add(LENGTH) <= self.limit {
            return Ok(());
        }
        Err(match &head {
            b"HTTP" | b"GET " | b"POST" | b"PUT " | b"HEAD" | b"DELE" | b"OPTI" | b"PATC" | b"CONN" => {
                FrameErrorKind::Http
            }
            [0x14..=0x17, 3, 0..=4, _] => FrameErrorKind::Tls,
            _ => FrameErrorKind::TooLarge {
                length,
                limit: self.limit,
            },
        }
        .into())
    }
}

/// Appends a command as a frame.
///
/// # Panics
/// When the command has 4 GiB or more.
pub fn encode_frame(command: &Command, out: &mut BytesMut) {
    let length = command.encoded_len();
    out.reserve(2 * LENGTH + length);
    put_length(LENGTH + length, out);
    put_length(length, out);
    command.encode(out);
}

/// A length that is cut would make the peer misread all that follows, so it panics.
pub(crate) fn put_length(length: usize, out: &mut BytesMut) {
    out.put_u32(u32::try_from(length).expect("lengths on the wire are below 4 GiB"));
}

/// The peer does not speak the protocol, or broke it; the connection can't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameError {
    kind: FrameErrorKind,
}

/// What is wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameErrorKind {
    /// The length does not even cover the command's length field.
    TooShort {
        /// The length that was named.
        length: usize,
    },
    /// The frame is larger than allowed.
    TooLarge {
        /// The length that was named.
        length: usize,
        /// What is allowed, the length field included.
        limit: usize,
    },
    /// The peer speaks HTTP.
    Http,
    /// The peer speaks TLS.
    Tls,
    /// The command is longer than its frame.
    CommandLength {
        /// The length that was named.
        command: usize,
        /// What is left of the frame.
        left: usize,
    },
    /// The command can't be read.
    Command(DecodeError),
}

impl FrameError {
    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> &FrameErrorKind {
        &self.kind
    }
}

impl From<FrameErrorKind> for FrameError {
    fn from(kind: FrameErrorKind) -> Self {
        Self { kind }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FrameErrorKind::TooShort { length } => write!(f, "a frame of {length} bytes is too short"),
            FrameErrorKind::TooLarge { length, limit } => {
                write!(f, "a frame of {length} bytes is over the limit of {limit}")
            }
            FrameErrorKind::Http => f.write_str(
                "the peer speaks HTTP, not Pulsar's binary protocol: is this the web service's port?",
            ),
            FrameErrorKind::Tls => f.write_str("the peer speaks TLS where plain text was expected"),
            FrameErrorKind::CommandLength { command, left } => {
                write!(f, "a command of {command} bytes in a frame with {left} left")
            }
            FrameErrorKind::Command(_) => f.write_str("a frame's command can't be read"),
        }
    }
}

impl std::error::Error for FrameError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            FrameErrorKind::Command(error) => Some(error),
            _ => None,
        }
    }
}
