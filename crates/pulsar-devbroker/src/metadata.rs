//! The part of a message's metadata that a broker looks at. The rest is skipped, not decoded, and
//! goes to consumers as it came.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub(crate) struct Metadata {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(crate) producer_name: Bytes,
    #[prost(uint64, required, tag = "2")]
    pub(crate) sequence_id: u64,
    #[prost(uint64, required, tag = "3")]
    pub(crate) publish_time: u64,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub(crate) partition_key: Option<Bytes>,
    #[prost(int32, optional, tag = "11")]
    pub(crate) num_messages_in_batch: Option<i32>,
    #[prost(bool, optional, tag = "17")]
    pub(crate) partition_key_b64_encoded: Option<bool>,
    #[prost(bytes = "bytes", optional, tag = "18")]
    pub(crate) ordering_key: Option<Bytes>,
    #[prost(int64, optional, tag = "19")]
    pub(crate) deliver_at_time: Option<i64>,
    #[prost(int32, optional, tag = "27")]
    pub(crate) num_chunks_from_msg: Option<i32>,
    #[prost(int32, optional, tag = "29")]
    pub(crate) chunk_id: Option<i32>,
}

/// Without the keys, which may be personal.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("sequence_id", &self.sequence_id)
            .finish_non_exhaustive()
    }
}

impl Metadata {
    /// How many messages the entry holds.
    pub(crate) fn messages(&self) -> u32 {
        let messages = self
            .num_messages_in_batch
            .and_then(|messages| u32::try_from(messages).ok());
        messages.map_or(1, |messages| messages.max(1))
    }

    /// The key that Key_Shared divides by.
    pub(crate) fn sticky_key(&self) -> Cow<'_, [u8]> {
        if let Some(key) = &self.ordering_key {
            return Cow::Borrowed(key);
        }
        let Some(key) = &self.partition_key else {
            // Without a key each message is its own, so that they spread.
            let sequence = format!("-{}", self.sequence_id);
            return Cow::Owned([&self.producer_name[..], sequence.as_bytes()].concat());
        };
        let decoded = self.partition_key_b64_encoded().then(|| STANDARD.decode(key));
        match decoded {
            Some(Ok(decoded)) => Cow::Owned(decoded),
            _ => Cow::Borrowed(key),
        }
    }
}
