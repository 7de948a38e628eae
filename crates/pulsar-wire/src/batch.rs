//! Batches: many messages in the payload of one entry, each as
//! `[metadata length][single metadata][payload]`.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message as _;

use crate::frame::{LENGTH, put_length};
use crate::hidden::Hidden;
use crate::properties::{self, properties_len, put_properties};
use crate::proto::SingleMessageMetadata;

/// The number of the properties in a member's metadata.
const PROPERTIES: u8 = 1;

/// One message of a batch.
#[derive(Clone, PartialEq, Eq)]
pub struct BatchMember {
    /// The member's own metadata; its fields win over the entry's.
    pub metadata: SingleMessageMetadata,
    /// The member's payload.
    pub payload: Bytes,
}

/// Cuts a batch, decompressed, into its members.
///
/// Ends after the first error: where the next member starts is not known then. Bytes behind the
/// last member are ignored.
#[derive(Clone)]
pub struct BatchReader {
    rest: Bytes,
    index: u32,
    count: u32,
}

impl BatchReader {
    /// Reads `count` members, as the entry's `num_messages_in_batch` says.
    #[must_use]
    pub fn new(payload: Bytes, count: u32) -> Self {
        Self {
            rest: payload,
            index: 0,
            count,
        }
    }

    fn read(&mut self) -> Result<BatchMember, Defect> {
        if self.rest.len() < LENGTH {
            return Err(Defect::Cut);
        }
        let length = self.rest.get_u32() as usize;
        if length > self.rest.len() {
            return Err(Defect::Cut);
        }
        let metadata = properties::decode(
            PROPERTIES,
            &self.rest.split_to(length),
            |metadata: &mut SingleMessageMetadata| &mut metadata.properties,
        )
        .map_err(Defect::Metadata)?;
        let size = usize::try_from(metadata.payload_size).map_err(|_| Defect::NegativeSize)?;
        if size > self.rest.len() {
            return Err(Defect::Cut);
        }
        Ok(BatchMember {
            metadata,
            payload: self.rest.split_to(size),
        })
    }
}

impl Iterator for BatchReader {
    type Item = Result<BatchMember, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.count {
            return None;
        }
        let index = self.index;
        self.index += 1;
        let member = self.read();
        if member.is_err() {
            self.index = self.count;
        }
        Some(member.map_err(|defect| BatchError { index, defect }))
    }
}

/// Puts a batch together.
#[derive(Clone, Default)]
pub struct BatchBuilder {
    payload: BytesMut,
    count: u32,
}

impl BatchBuilder {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch with room for so many bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            payload: BytesMut::with_capacity(bytes),
            count: 0,
        }
    }

    /// Adds a message; `payload_size` is set from `payload`.
    ///
    /// # Panics
    /// When the payload has 2 GiB or more.
    pub fn push(&mut self, mut metadata: SingleMessageMetadata, payload: &[u8]) {
        metadata.payload_size = i32::try_from(payload.len()).expect("a member is below 2 GiB");
        let properties = std::mem::take(&mut metadata.properties);
        let length = properties_len(&properties) + metadata.encoded_len();
        self.payload.reserve(LENGTH + length + payload.len());
        put_length(length, &mut self.payload);
        put_properties(PROPERTIES, &properties, &mut self.payload);
        metadata.encode_raw(&mut self.payload);
        self.payload.put_slice(payload);
        self.count += 1;
    }

    /// How many messages are in it.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many bytes it has, uncompressed.
    #[must_use]
    pub fn size(&self) -> usize {
        self.payload.len()
    }

    /// The batch's payload, uncompressed.
    #[must_use]
    pub fn finish(self) -> Bytes {
        self.payload.freeze()
    }
}

impl fmt::Debug for BatchMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchMember")
            .field("metadata", &self.metadata)
            .field("payload", &Hidden(&self.payload))
            .finish()
    }
}

impl fmt::Debug for BatchReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchReader")
            .field("rest", &Hidden(&self.rest))
            .field("index", &self.index)
            .field("count", &self.count)
            .finish()
    }
}

impl fmt::Debug for BatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchBuilder")
            .field("payload", &Hidden(&self.payload))
            .field("count", &self.count)
            .finish()
    }
}

/// A batch that can't be cut from this member on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchError {
    index: u32,
    defect: Defect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Defect {
    Cut,
    NegativeSize,
    Metadata(prost::DecodeError),
}

impl BatchError {
    /// The first member that can't be read.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.defect {
            Defect::Cut => "ends before its time",
            Defect::NegativeSize => "has a negative size",
            Defect::Metadata(_) => "has unreadable metadata",
        };
        write!(f, "member {} of the batch {what}", self.index)
    }
}

impl std::error::Error for BatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.defect {
            Defect::Metadata(error) => Some(error),
            _ => None,
        }
    }
}
