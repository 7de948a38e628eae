//! The bytes of a connection: plain, or through TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_rustls::client::TlsStream;

/// How many frames go into one write.
const GATHER: usize = 64;

/// How much is read from the socket at once below TLS, which itself asks for small pieces.
pub(super) const TLS_INPUT: usize = 64 << 10;

/// TLS over a socket.
pub(super) type Tls = TlsStream<BufReader<TcpStream>>;

#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<Tls>),
}

#[derive(Debug)]
pub(super) enum Reader {
    Plain(OwnedReadHalf),
    Tls(tokio::io::ReadHalf<Box<Tls>>),
}

#[derive(Debug)]
pub(super) enum Writer {
    Plain(OwnedWriteHalf),
    Tls(tokio::io::WriteHalf<Box<Tls>>),
}

impl Stream {
    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    pub(super) fn into_split(self) -> (Reader, Writer) {
        match self {
            Self::Plain(socket) => {
                let (reader, writer) = socket.into_split();
                (Reader::Plain(reader), Writer::Plain(writer))
            }
            Self::Tls(stream) => {
                let (reader, writer) = tokio::io::split(stream);
                (Reader::Tls(reader), Writer::Tls(writer))
            }
        }
    }
}

impl Writer {
    /// Writes all frames, many with one call and none copied but by TLS, which puts small ones
    /// together into few records.
    pub(super) async fn write_frames(&mut self, frames: &mut [Bytes]) -> io::Result<()> {
        let mut first = 0;
        while first < frames.len() {
            let end = frames.len().min(first + GATHER);
            let mut slices = [IoSlice::new(&[]); GATHER];
            for (slice, frame) in slices.iter_mut().zip(&frames[first..end]) {
                *slice = IoSlice::new(frame);
            }
            let mut written = self.write_vectored(&slices[..end - first]).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            while first < end && written >= frames[first].len() {
                written -= frames[first].len();
                first += 1;
            }
            if written > 0 {
                frames[first].advance(written);
            }
        }
        // TLS may have kept what the socket did not take at once.
        self.flush().await
    }
}

macro_rules! read_through {
    ($name:ident) => {
        impl AsyncRead for $name {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
                    Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
                }
            }
        }
    };
}

macro_rules! write_through {
    ($name:ident) => {
        impl AsyncWrite for $name {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
                    Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
                }
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                slices: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_write_vectored(context, slices),
                    Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
                }
            }

            fn is_write_vectored(&self) -> bool {
                match self {
                    Self::Plain(socket) => socket.is_write_vectored(),
                    Self::Tls(stream) => stream.is_write_vectored(),
                }
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_flush(context),
                    Self::Tls(stream) => Pin::new(stream).poll_flush(context),
                }
            }

            fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_shutdown(context),
                    Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
                }
            }
        }
    };
}

read_through!(Stream);
read_through!(Reader);
write_through!(Stream);
write_through!(Writer);
