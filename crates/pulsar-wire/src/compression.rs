//! Payloads in and out of their codec. The formats are those of the other clients: LZ4 and Snappy
//! raw blocks without a frame, a zlib stream, a zstd frame.

use std::fmt;
use std::io::Write as _;

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress};

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Not at all.
    #[default]
    None,
    /// LZ4, a raw block.
    Lz4,
    /// A zlib stream.
    Zlib,
    /// Zstandard.
    Zstd,
    /// Snappy, the raw format.
    Snappy,
    /// A number that this crate does not know.
    Unknown(i32),
}

impl Codec {
    /// The codec with this number in the metadata.
    #[must_use]
    pub fn from_i32(number: i32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Lz4,
            2 => Self::Zlib,
            3 => Self::Zstd,
            4 => Self::Snappy,
            _ => Self::Unknown(number),
        }
    }

    /// The codec's number in the metadata.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zlib => 2,
            Self::Zstd => 3,
            Self::Snappy => 4,
            Self::Unknown(number) => number,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lz4 => f.write_str("LZ4"),
            Self::Zlib => f.write_str("ZLIB"),
            Self::Zstd => f.write_str("ZSTD"),
            Self::Snappy => f.write_str("SNAPPY"),
            Self::Unknown(number) => write!(f, "unknown codec {number}"),
        }
    }
}

/// Compresses a payload.
///
/// # Errors
/// When the codec is unknown or the input is more than it can take.
pub fn compress(codec: Codec, payload: &[u8]) -> Result<Bytes, CompressionError> {
    let compressed = match codec {
        Codec::None => Ok(payload.to_vec()),
        Codec::Lz4 => Ok(lz4_flex::block::compress(payload)),
        Codec::Zlib => compress_zlib(payload).map_err(|_| CompressionErrorKind::Encoder),
        Codec::Zstd => zstd::bulk::compress(payload, zstd::DEFAULT_COMPRESSION_LEVEL)
            .map_err(|_| CompressionErrorKind::Encoder),
        Codec::Snappy => snap::raw::Encoder::new()
            .compress_vec(payload)
            .map_err(|_| CompressionErrorKind::Encoder),
        Codec::Unknown(_) => Err(CompressionErrorKind::UnknownCodec),
    };
    compressed
        .map(Bytes::from)
        .map_err(|kind| CompressionError::new(codec, kind))
}

/// Decompresses a payload that has `uncompressed_size` bytes by its metadata.
///
/// The output never takes more than `uncompressed_size`, and nothing when that is over `cap`. With
/// [`Codec::None`] the payload comes back as it is, whatever the size says, as other clients do.
///
/// # Errors
/// When the size is over `cap`, the codec is unknown, the bytes are not the codec's, or they
/// yield another size. The message can't be read.
pub fn decompress(
    codec: Codec,
    payload: &Bytes,
    uncompressed_size: usize,
    cap: usize,
) -> Result<Bytes, CompressionError> {
    if codec == Codec::None {
        return Ok(payload.clone());
    }
    if uncompressed_size > cap {
        let kind = CompressionErrorKind::TooLarge {
            size: uncompressed_size,
            cap,
        };
        return Err(CompressionError::new(codec, kind));
    }
    let decompressed = match codec {
        Codec::Lz4 => lz4(payload, uncompressed_size),
        Codec::Zlib => zlib(payload, uncompressed_size),
        Codec::Zstd => zstd::bulk::decompress(payload, uncompressed_size)
            .map_err(|_| CompressionErrorKind::Corrupt("not a zstd frame of this size")),
        Codec::Snappy => snappy(payload, uncompressed_size),
        Codec::None | Codec::Unknown(_) => Err(CompressionErrorKind::UnknownCodec),
    }
    .map_err(|kind| CompressionError::new(codec, kind))?;
    if decompressed.len() != uncompressed_size {
        let kind = CompressionErrorKind::WrongSize {
            expected: uncompressed_size,
            found: decompressed.len(),
        };
        return Err(CompressionError::new(codec, kind));
    }
    Ok(decompressed.into())
}

fn compress_zlib(payload: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(payload)?;
    encoder.finish()
}

fn lz4(payload: &[u8], size: usize) -> Result<Vec<u8>, CompressionErrorKind> {
    lz4_flex::block::decompress(payload, size)
        .map_err(|_| CompressionErrorKind::Corrupt("not an LZ4 block of this size"))
}

/// Java's producers flush the stream without ending it, so its end and its checksum may be missing;
/// what counts is that the bytes yield the size. The decoder fills no more than the vector's
/// capacity; the byte to spare shows a stream that yields more.
fn zlib(payload: &[u8], size: usize) -> Result<Vec<u8>, CompressionErrorKind> {
    let mut out = Vec::with_capacity(size + 1);
    match Decompress::new(true).decompress_vec(payload, &mut out, FlushDecompress::None) {
        Ok(_) => Ok(out),
        Err(_) => Err(CompressionErrorKind::Corrupt("not a zlib stream")),
    }
}

fn snappy(payload: &[u8], size: usize) -> Result<Vec<u8>, CompressionErrorKind> {
    let corrupt = |_| CompressionErrorKind::Corrupt("not a snappy block");
    let found = snap::raw::decompress_len(payload).map_err(corrupt)?;
    if found != size {
        return Err(CompressionErrorKind::WrongSize {
            expected: size,
            found,
        });
    }
    snap::raw::Decoder::new().decompress_vec(payload).map_err(corrupt)
}

/// A payload that can't be compressed or decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionError {
    codec: Codec,
    kind: CompressionErrorKind,
}

/// What is wrong with a compressed payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionErrorKind {
    /// The codec is not known.
    UnknownCodec,
    /// The metadata names more bytes than allowed.
    TooLarge {
        /// The size in the metadata.
        size: usize,
        /// What is allowed.
        cap: usize,
    },
    /// The bytes yield another size than the metadata says.
    WrongSize {
        /// The size in the metadata.
        expected: usize,
        /// What the bytes yield.
        found: usize,
    },
    /// The encoder can't take so much.
    Encoder,
    /// The bytes are not what the codec makes.
    Corrupt(&'static str),
}

impl CompressionError {
    fn new(codec: Codec, kind: CompressionErrorKind) -> Self {
        Self { codec, kind }
    }

    /// The codec in question.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> CompressionErrorKind {
        self.kind
    }
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = self.codec;
        match self.kind {
            CompressionErrorKind::UnknownCodec => write!(f, "{codec}"),
            CompressionErrorKind::TooLarge { size, cap } => {
                write!(
                    f,
                    "{codec}: {size} bytes uncompressed are over the limit of {cap}"
                )
            }
            CompressionErrorKind::WrongSize { expected, found } => {
                write!(f, "{codec}: {found} bytes uncompressed instead of {expected}")
            }
            CompressionErrorKind::Encoder => write!(f, "{codec}: the encoder failed"),
            CompressionErrorKind::Corrupt(what) => write!(f, "{codec}: {what}"),
        }
    }
}

impl std::error::Error for CompressionError {}
