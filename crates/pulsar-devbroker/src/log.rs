//! The entries of a topic.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use pulsar_wire::proto::MessageIdData;

use crate::hash;
use crate::hidden::Hidden;
use crate::metadata::Metadata;
use crate::topic::Retention;

/// What was published in one SEND: a message, or a batch.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The message part of the frame, unchanged.
    pub(crate) bytes: Bytes,
    /// How many messages it holds.
    pub(crate) messages: u32,
    pub(crate) is_batch: bool,
    pub(crate) publish_time: u64,
    pub(crate) deliver_at: Option<u64>,
    /// The hash of its key, for Key_Shared.
    pub(crate) key_hash: u32,
}

impl Entry {
    pub(crate) fn new(bytes: Bytes, metadata: &Metadata) -> Self {
        Self {
            bytes,
            messages: metadata.messages(),
            is_batch: metadata.num_messages_in_batch.is_some(),
            publish_time: metadata.publish_time,
            deliver_at: metadata.deliver_at_time.and_then(|time| u64::try_from(time).ok()),
            key_hash: hash::murmur3(&metadata.sticky_key()),
        }
    }

    /// The index of its last member, or -1 when it is no batch.
    pub(crate) fn last_index(&self) -> i32 {
        if self.is_batch {
            i32::try_from(self.messages - 1).unwrap_or(i32::MAX)
        } else {
            -1
        }
    }
}

/// Of the message only its length: the content may be personal.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("bytes", &Hidden(&self.bytes))
            .field("messages", &self.messages)
            .field("deliver_at", &self.deliver_at)
            .finish_non_exhaustive()
    }
}

/// One ledger: entry ids are dense and count from 0.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) ledger: u64,
    partition: i32,
    /// Entries of a non-persistent topic all have the same id, as in Pulsar.
    persistent: bool,
    first: u64,
    entries: VecDeque<Entry>,
    /// What the entries take.
    bytes: usize,
}

impl Log {
    pub(crate) fn new(ledger: u64, partition: i32, persistent: bool) -> Self {
        Self {
            ledger,
            partition,
            persistent,
            first: 0,
            entries: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(crate) fn append(&mut self, entry: Entry) -> u64 {
        self.bytes += entry.bytes.len();
        self.entries.push_back(entry);
        self.end() - 1
    }

    /// The first entry that is still there.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The id that the next entry gets.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get(&self, entry: u64) -> Option<&Entry> {
        let index = entry.checked_sub(self.first)?;
        self.entries.get(usize::try_from(index).ok()?)
    }

    pub(crate) fn last(&self) -> Option<&Entry> {
        self.entries.back()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Entry)> {
        (self.first..).zip(&self.entries)
    }

    pub(crate) fn id(&self, entry: u64) -> MessageIdData {
        let (ledger_id, entry_id) = if self.persistent {
            (self.ledger, entry)
        } else {
            (0, 0)
        };
        MessageIdData {
            ledger_id,
            entry_id,
            partition: Some(self.partition),
            ..Default::default()
        }
    }

    /// The entry that an id names, or `None` when it is of another ledger.
    pub(crate) fn entry_of(&self, id: &MessageIdData) -> Option<u64> {
        (self.persistent && id.ledger_id == self.ledger).then_some(id.entry_id)
    }

    /// The entry to start at for an id that may be earliest, latest, or long gone.
    pub(crate) fn start_of(&self, id: &MessageIdData) -> u64 {
        self.start_of_entry(id.ledger_id, id.entry_id)
    }

    pub(crate) fn start_of_entry(&self, ledger: u64, entry: u64) -> u64 {
        // Both numbers are signed to Pulsar: -1 is before, the largest is behind everything.
        let (ledger, entry) = (ledger as i64, entry as i64);
        match ledger.cmp(&(self.ledger as i64)) {
            std::cmp::Ordering::Less => self.first,
            std::cmp::Ordering::Greater => self.end(),
            std::cmp::Ordering::Equal => {
                u64::try_from(entry).map_or(self.first, |entry| entry.clamp(self.first, self.end()))
            }
        }
    }

    /// The first entry published at `unix_ms` or after.
    pub(crate) fn published_from(&self, unix_ms: u64) -> u64 {
        self.iter()
            .find(|(_, entry)| entry.publish_time >= unix_ms)
            .map_or(self.end(), |(id, _)| id)
    }

    /// Drops entries before `floor` that are more than what is retained, but never the last.
    pub(crate) fn trim(&mut self, floor: u64, retention: Retention) {
        while self.first < floor
            && self.entries.len() > 1
            && (self.entries.len() > retention.entries || self.bytes > retention.bytes)
            && let Some(entry) = self.entries.pop_front()
        {
            self.bytes -= entry.bytes.len();
            self.first += 1;
        }
    }
}
