//! Messages that came in several entries, since they were larger than what one may hold.
//!
//! The chunks of a message come in order, those of different messages may be mixed. They are gathered here until the last
//! one is there, and acknowledged with it. A message that cannot be put together (its first chunks went elsewhere, it is
//! too large, too many others are begun) stays unacknowledged: nothing is lost, and whoever can read it does.
//!
//! Memory: what is gathered is at most [`GATHERED`] bytes of at most [`BEGUN`] messages, and as much again for the moment
//! in which one is put together.

use std::collections::{HashMap, VecDeque};

use bytes::{Bytes, BytesMut};
use pulsar_wire::proto::MessageMetadata;
use pulsar_wire::{Checksum, MessageFrame};

use super::cut::DECOMPRESSED_CAP;
use crate::message::EntryKey;

/// How many messages may be begun at a time.
const BEGUN: usize = 10;

/// How many bytes may be gathered in all.
const GATHERED: usize = DECOMPRESSED_CAP;

/// What becomes of a chunk.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// Others are missing still.
    Kept,
    /// It was the last: the message as if it had come in one entry, that of the last chunk.
    Whole(MessageFrame),
    /// The message cannot be put together.
    Refused(&'static str),
}

/// A message of which the last chunk has not come.
#[derive(Debug)]
struct Begun {
    uuid: Bytes,
    chunks: Vec<(EntryKey, Bytes)>,
    /// Entries that hold what is there already: their producer sent it again.
    repeated: Vec<EntryKey>,
    bytes: usize,
    /// Whether every checksum so far was right.
    is_sound: bool,
}

/// The chunked messages of one consumer.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    /// The oldest first.
    begun: VecDeque<Begun>,
    bytes: usize,
    /// By the entry of its last chunk, the other entries of a message that is not confirmed.
    whole: HashMap<EntryKey, Vec<EntryKey>>,
    /// Entries of messages that were let go, so that they are asked for again.
    let_go: Vec<EntryKey>,
}

/// True for a message that came in several entries.
pub(crate) fn is_chunk(metadata: &MessageMetadata) -> bool {
    metadata.num_chunks_from_msg.is_some_and(|chunks| chunks > 1)
}

impl Chunks {
    /// A chunk arrives.
    pub(crate) fn arrive(&mut self, key: EntryKey, metadata: &MessageMetadata, frame: MessageFrame) -> Chunk {
        let number = |number: Option<i32>| usize::try_from(number.unwrap_or(-1)).ok();
        let uuid = metadata.uuid.clone().unwrap_or_default();
        let (Some(of), Some(at), Some(total)) = (
            number(metadata.num_chunks_from_msg),
            number(metadata.chunk_id),
            number(metadata.total_chunk_msg_size),
        ) else {
            return Chunk::Refused("its metadata does not tell its place");
        };
        if total > GATHERED {
            return Chunk::Refused("it is too large");
        }
        let position = self.begun.iter().position(|begun| begun.uuid == uuid);
        let mut begun = match position.and_then(|position| self.begun.remove(position)) {
            Some(begun) => {
                self.bytes -= begun.bytes;
                begun
            }
            None if at == 0 => Begun::new(uuid),
            None => return Chunk::Refused("its first chunks did not come"),
        };
        match begun.take(at, key, &frame) {
            Taken::Next => {}
            Taken::Known => {
                self.keep(begun);
                return Chunk::Kept;
            }
            Taken::Gap => {
                self.let_go.extend(begun.keys());
                return Chunk::Refused("chunks in its middle did not come");
            }
        }
        if begun.bytes > total {
            return Chunk::Refused("its chunks are larger than it says");
        }
        if begun.chunks.len() < of {
            self.keep(begun);
            return Chunk::Kept;
        }
        let (others, frame) = begun.join(key, frame);
        self.whole.insert(key, others);
        Chunk::Whole(frame)
    }

    fn keep(&mut self, begun: Begun) {
        self.bytes += begun.bytes;
        self.begun.push_back(begun);
        while self.begun.len() > BEGUN || self.bytes > GATHERED && self.begun.len() > 1 {
            if let Some(oldest) = self.begun.pop_front() {
                self.bytes -= oldest.bytes;
                self.let_go.extend(oldest.keys());
            }
        }
    }

    /// The entries of messages that were let go since this was asked last.
    pub(crate) fn take_let_go(&mut self) -> Vec<EntryKey> {
        std::mem::take(&mut self.let_go)
    }

    /// What else is acknowledged, and asked for again, with an entry.
    pub(crate) fn with(&self, key: EntryKey) -> &[EntryKey] {
        // Nearly always there is none at all.
        if self.whole.is_empty() {
            return &[];
        }
        self.whole.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The broker confirmed the last chunk, and so the others before it.
    pub(crate) fn confirmed(&mut self, key: EntryKey) {
        if !self.whole.is_empty() {
            self.whole.remove(&key);
        }
    }

    /// What is begun comes again. Of whole messages those are forgotten of which `is_known` is false.
    pub(crate) fn drop_begun(&mut self, is_known: impl Fn(EntryKey) -> bool) {
        self.begun.clear();
        self.bytes = 0;
        self.let_go.clear();
        self.whole.retain(|key, _| is_known(*key));
    }
}

enum Taken {
    Next,
    Known,
    Gap,
}

impl Begun {
    fn new(uuid: Bytes) -> Self {
        Self {
            uuid,
            chunks: Vec::new(),
            repeated: Vec::new(),
            bytes: 0,
            is_sound: true,
        }
    }

    fn take(&mut self, at: usize, key: EntryKey, frame: &MessageFrame) -> Taken {
        if at > self.chunks.len() {
            return Taken::Gap;
        }
        if at < self.chunks.len() {
            if self.chunks.iter().all(|(known, _)| *known != key) && !self.repeated.contains(&key) {
                self.repeated.push(key);
            }
            return Taken::Known;
        }
        self.is_sound &= frame.checksum != Checksum::Invalid;
        self.bytes += frame.payload.len();
        self.chunks.push((key, frame.payload.clone()));
        Taken::Next
    }

    fn keys(&self) -> impl Iterator<Item = EntryKey> {
        self.chunks
            .iter()
            .map(|(key, _)| *key)
            .chain(self.repeated.iter().copied())
    }

    /// The other entries, and the message in the frame of its last chunk.
    fn join(self, last: EntryKey, frame: MessageFrame) -> (Vec<EntryKey>, MessageFrame) {
        let others = self.keys().filter(|key| *key != last).collect();
        let mut payload = BytesMut::with_capacity(self.bytes);
        for (_, chunk) in &self.chunks {
            payload.extend_from_slice(chunk);
        }
        let payload = payload.freeze();
        let mut frame = frame;
        if !self.is_sound {
            frame.checksum = Checksum::Invalid;
        }
        frame.headers_and_payload = payload.clone();
        frame.payload = payload;
        (others, frame)
    }
}

#[cfg(test)]
mod tests {
    use pulsar_wire::encode_headers_and_payload;

    use super::*;

    fn key(entry: u64) -> EntryKey {
        EntryKey { ledger: 1, entry }
    }

    fn metadata(uuid: &'static str, at: usize, of: usize, total: usize) -> MessageMetadata {
        let number = |number: usize| i32::try_from(number).ok();
        MessageMetadata {
            uuid: Some(uuid.into()),
            chunk_id: number(at),
            num_chunks_from_msg: number(of),
            total_chunk_msg_size: number(total),
            ..MessageMetadata::default()
        }
    }

    fn arrive(chunks: &mut Chunks, entry: u64, metadata: &MessageMetadata, payload: &[u8]) -> Chunk {
        let frame = MessageFrame::parse(encode_headers_and_payload(metadata, payload));
        chunks.arrive(key(entry), metadata, frame)
    }

    fn payload(chunk: Chunk) -> Bytes {
        match chunk {
            Chunk::Whole(frame) => frame.payload,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn chunks_of_mixed_messages_are_put_together_and_belong_to_their_last_entry() {
        let mut chunks = Chunks::default();
        for (entry, uuid, at, text) in [
            (0, "a", 0, "he"),
            (1, "b", 0, "wo"),
            (2, "a", 1, "ll"),
            (3, "b", 1, "rl"),
        ] {
            let chunk = arrive(&mut chunks, entry, &metadata(uuid, at, 3, 5), text.as_bytes());
            assert!(matches!(chunk, Chunk::Kept));
        }
        assert_eq!(
            payload(arrive(&mut chunks, 4, &metadata("b", 2, 3, 5), b"d")),
            "world"
        );
        assert_eq!(
            payload(arrive(&mut chunks, 5, &metadata("a", 2, 3, 5), b"o")),
            "hello"
        );
        assert_eq!(chunks.with(key(5)), [key(0), key(2)]);
        assert_eq!(chunks.with(key(4)), [key(1), key(3)]);
        chunks.confirmed(key(4));
        assert!(chunks.with(key(4)).is_empty());
        assert_eq!((chunks.begun.len(), chunks.bytes), (0, 0));
    }

    #[test]
    fn a_chunk_that_comes_again_is_taken_once_and_acknowledged_too_where_it_was_sent_again() {
        let mut chunks = Chunks::default();
        for entry in [0, 0, 1] {
            let chunk = arrive(&mut chunks, entry, &metadata("a", 0, 2, 4), b"he");
            assert!(matches!(chunk, Chunk::Kept));
        }
        assert_eq!(
            payload(arrive(&mut chunks, 2, &metadata("a", 1, 2, 4), b"y!")),
            "hey!"
        );
        assert_eq!(chunks.with(key(2)), [key(0), key(1)]);
    }

    #[test]
    fn without_its_first_chunk_a_message_is_refused_and_a_gap_lets_go_of_what_was_there() {
        let mut chunks = Chunks::default();
        let late = arrive(&mut chunks, 1, &metadata("a", 1, 3, 5), b"ll");
        assert!(matches!(late, Chunk::Refused(_)));
        arrive(&mut chunks, 2, &metadata("b", 0, 3, 5), b"he");
        let gap = arrive(&mut chunks, 4, &metadata("b", 2, 3, 5), b"o");
        assert!(matches!(gap, Chunk::Refused(_)));
        assert_eq!(chunks.take_let_go(), [key(2)]);
        assert_eq!((chunks.begun.len(), chunks.bytes), (0, 0));
    }

    #[test]
    fn what_a_message_claims_is_checked_before_anything_is_kept() {
        let mut chunks = Chunks::default();
        let large = arrive(&mut chunks, 0, &metadata("a", 0, 2, GATHERED + 1), b"x");
        assert!(matches!(large, Chunk::Refused(_)));
        let more = arrive(&mut chunks, 1, &metadata("b", 0, 2, 1), b"xx");
        assert!(matches!(more, Chunk::Refused(_)));
        let nowhere = MessageMetadata {
            chunk_id: None,
            ..metadata("c", 0, 2, 4)
        };
        assert!(matches!(
            arrive(&mut chunks, 2, &nowhere, b"x"),
            Chunk::Refused(_)
        ));
        assert_eq!((chunks.begun.len(), chunks.bytes), (0, 0));
    }

    #[test]
    fn the_oldest_of_too_many_begun_messages_is_let_go() {
        const UUIDS: [&str; 11] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
        let mut chunks = Chunks::default();
        for (entry, uuid) in (0..).zip(UUIDS) {
            arrive(&mut chunks, entry, &metadata(uuid, 0, 2, 4), b"xx");
        }
        assert_eq!(chunks.take_let_go(), [key(0)]);
        assert_eq!(chunks.bytes, 2 * BEGUN);
        assert!(matches!(
            arrive(&mut chunks, 20, &metadata("a", 1, 2, 4), b"yy"),
            Chunk::Refused(_)
        ));
    }

    #[test]
    fn a_damaged_chunk_damages_the_message() {
        let mut chunks = Chunks::default();
        let first = metadata("a", 0, 2, 4);
        let mut damaged = encode_headers_and_payload(&first, b"he").to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        chunks.arrive(key(0), &first, MessageFrame::parse(damaged.into()));
        match arrive(&mut chunks, 1, &metadata("a", 1, 2, 4), b"y!") {
            Chunk::Whole(frame) => assert_eq!(frame.checksum, Checksum::Invalid),
            other => panic!("{other:?}"),
        }
    }
}
