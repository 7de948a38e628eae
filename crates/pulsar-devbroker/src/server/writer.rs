//! Frames as bytes, on their way into a socket.
//!
//! Messages are not copied: between the heads stand the bytes that the topic stores, and all of it
//! is written with one call. Only small ones are, as a piece of their own would cost more.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes, BytesMut};
use pulsar_wire::{Command, encode_frame, encode_message_head};
use tokio::net::TcpStream;

use crate::room;

/// How many pieces one call writes.
const PIECES: usize = 128;

/// Messages of fewer bytes are copied behind their heads.
const SMALL: usize = 1024;

/// A piece that large is not extended.
const LARGE: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct Writer {
    pieces: VecDeque<Piece>,
    /// The piece that is being put together.
    open: BytesMut,
    open_room: usize,
    /// How many bytes are not written.
    left: usize,
}

struct Piece {
    bytes: Bytes,
    /// The room that its deliveries take in the core.
    room: usize,
}

impl Writer {
    /// How many bytes are not written.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn put(&mut self, command: &Command, message: Option<Bytes>) {
        let before = self.open.len();
        match (command, message) {
            (Command::Message(command), Some(message)) => {
                encode_message_head(command, message.len(), &mut self.open);
                self.open_room += room::size(&message);
                if message.len() < SMALL {
                    self.open.extend_from_slice(&message);
                } else {
                    self.left += self.open.len() - before + message.len();
                    self.finish_piece();
                    self.pieces.push_back(Piece {
                        bytes: message,
                        room: 0,
                    });
                    return;
                }
            }
            (command, _) => encode_frame(command, &mut self.open),
        }
        self.left += self.open.len() - before;
        if self.open.len() >= LARGE {
            self.finish_piece();
        }
    }

    /// Writes what the socket takes; gives the room of the deliveries that have left by that.
    pub(super) fn write(&mut self, socket: &TcpStream) -> io::Result<usize> {
        self.finish_piece();
        let mut room = 0;
        while !self.pieces.is_empty() {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let mut count = 0;
            for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(&piece.bytes);
                count += 1;
            }
            match socket.try_write_vectored(&slices[..count]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => room += self.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(room)
    }

    fn finish_piece(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push_back(Piece {
                bytes: self.open.split().freeze(),
                room: std::mem::take(&mut self.open_room),
            });
        }
    }

    fn advance(&mut self, mut written: usize) -> usize {
        self.left -= written;
        let mut room = 0;
        while let Some(piece) = self.pieces.front_mut() {
            if written < piece.bytes.len() {
                piece.bytes.advance(written);
                break;
            }
            written -= piece.bytes.len();
            room += piece.room;
            self.pieces.pop_front();
        }
        room
    }
}
