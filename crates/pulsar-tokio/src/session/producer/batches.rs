//! Messages that wait for others of their key, until they leave together.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::message::{Key, NewMessage};

/// What a member takes in a batch beside its payload, properties and keys: lengths and tags.
const MEMBER_OVERHEAD: usize = 96;
const PROPERTY_OVERHEAD: usize = 16;

/// What the metadata of a batch may take of the broker's greatest size, its keys left out.
pub(crate) const BATCH_OVERHEAD: usize = 1 << 10;

/// When messages are put together, and how large a batch gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batching {
    pub(crate) max_messages: u32,
    pub(crate) max_bytes: usize,
    pub(crate) max_delay: Duration,
}

/// A message that waits, and who gets its receipt.
#[derive(Debug)]
pub(super) struct Member<R> {
    pub(super) message: NewMessage,
    /// When it was taken (Unix, milliseconds).
    pub(super) at_ms: u64,
    pub(super) deadline: Option<Instant>,
    pub(super) receipt: R,
}

/// Messages of one key, in order.
#[derive(Debug)]
pub(super) struct Group<R> {
    /// Its place among the groups that are open.
    number: u64,
    /// What its members take at most.
    pub(super) bytes: usize,
    pub(super) members: Vec<Member<R>>,
}

/// What the members of a batch have in common. `Key_Shared` goes by the ordering key, partitions by the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    key: Option<Key>,
    ordering_key: Option<Bytes>,
}

/// The batches in the making.
#[derive(Debug)]
pub(super) struct Batches<R> {
    settings: Batching,
    groups: HashMap<GroupKey, Group<R>>,
    opened: u64,
    messages: usize,
    /// When all of them leave at the latest.
    due: Option<Instant>,
}

impl<R> Batches<R> {
    pub(super) fn new(settings: Batching) -> Self {
        Self {
            settings,
            groups: HashMap::new(),
            opened: 0,
            messages: 0,
            due: None,
        }
    }

    /// How many messages wait.
    pub(super) fn messages(&self) -> usize {
        self.messages
    }

    /// When [`Batches::take_due`] has something.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether a message may share its entry with others. `most` is what the broker takes.
    pub(super) fn may_hold(&self, message: &NewMessage, most: usize) -> bool {
        message.deliver_at_ms.is_none() && size(message) <= self.max_bytes(most)
    }

    fn max_bytes(&self, most: usize) -> usize {
        self.settings.max_bytes.min(most.saturating_sub(BATCH_OVERHEAD))
    }

    /// Adds a message, of which [`Batches::may_hold`] is true. Gives the groups that it fills: the one that has no
    /// room for it, and the one that it completes.
    pub(super) fn push(&mut self, now: Instant, member: Member<R>, most: usize) -> [Option<Group<R>>; 2] {
        let size = size(&member.message);
        let key = GroupKey {
            key: member.message.key.clone(),
            ordering_key: member.message.ordering_key.clone(),
        };
        let max_bytes = self.max_bytes(most);
        let has_no_room = self
            .groups
            .get(&key)
            .is_some_and(|group| group.bytes + size > max_bytes);
        let before = if has_no_room { self.take(&key) } else { None };
        self.due.get_or_insert(now + self.settings.max_delay);
        self.messages += 1;
        let number = self.opened;
        let group = self.groups.entry(key.clone()).or_insert_with(|| Group {
            number,
            bytes: 0,
            members: Vec::new(),
        });
        self.opened += u64::from(group.members.is_empty());
        group.bytes += size;
        group.members.push(member);
        let is_full = group.bytes >= max_bytes || group.members.len() >= self.settings.max_messages as usize;
        let full = if is_full { self.take(&key) } else { None };
        [before, full]
    }

    fn take(&mut self, key: &GroupKey) -> Option<Group<R>> {
        let group = self.groups.remove(key)?;
        self.messages -= group.members.len();
        if self.groups.is_empty() {
            self.due = None;
        }
        Some(group)
    }

    /// All that waits, if it is time.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Group<R>> {
        match self.due {
            Some(due) if due <= now => self.take_all(),
            _ => Vec::new(),
        }
    }

    /// All that waits, in the order in which the groups were begun.
    pub(super) fn take_all(&mut self) -> Vec<Group<R>> {
        self.due = None;
        self.messages = 0;
        let mut groups: Vec<_> = self.groups.drain().map(|(_, group)| group).collect();
        groups.sort_unstable_by_key(|group| group.number);
        groups
    }
}

/// What a message takes in a batch at most; its keys twice, since those of the first stand in the batch's metadata too.
fn size(message: &NewMessage) -> usize {
    let properties: usize = message
        .properties
        .iter()
        .map(|pair| pair.key.len() + pair.value.len() + PROPERTY_OVERHEAD)
        .sum();
    let key = message.key.as_ref().map_or(0, |key| key.text.len());
    let ordering_key = message.ordering_key.as_ref().map_or(0, Bytes::len);
    message.payload.len() + properties + 2 * (key + ordering_key) + MEMBER_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 5 << 20;
    const DELAY: Duration = Duration::from_millis(10);

    fn batches(max_messages: u32, max_bytes: usize) -> Batches<u32> {
        Batches::new(Batching {
            max_messages,
            max_bytes,
            max_delay: DELAY,
        })
    }

    fn member(number: u32, message: NewMessage) -> Member<u32> {
        Member {
            message,
            at_ms: 0,
            deadline: None,
            receipt: number,
        }
    }

    fn numbers(group: &Group<u32>) -> Vec<u32> {
        group.members.iter().map(|member| member.receipt).collect()
    }

    #[test]
    fn messages_of_different_keys_never_share_a_batch() {
        let mut batches = batches(10, 10_000);
        let keyed = |key: &str| NewMessage::new("x").key(key);
        let messages = [
            keyed("b"),
            NewMessage::new("x"),
            keyed("a"),
            keyed("b"),
            NewMessage::new("x"),
            keyed("b").ordering_key("o"),
        ];
        for (number, message) in (0..).zip(messages) {
            let [before, full] = batches.push(Instant::now(), member(number, message), MOST);
            assert!(before.is_none() && full.is_none());
        }
        let groups: Vec<_> = batches.take_all().iter().map(numbers).collect();
        assert_eq!(groups, [vec![0, 3], vec![1, 4], vec![2], vec![5]]);
    }

    #[test]
    fn a_batch_leaves_with_its_greatest_number_of_messages() {
        let mut batches = batches(2, 10_000);
        let now = Instant::now();
        assert!(batches.push(now, member(0, NewMessage::new("x")), MOST)[1].is_none());
        let [_, full] = batches.push(now, member(1, NewMessage::new("x")), MOST);
        assert_eq!(numbers(&full.unwrap()), [0, 1]);
        assert_eq!((batches.messages(), batches.due()), (0, None));
    }

    #[test]
    fn a_message_that_has_no_room_begins_the_next_batch() {
        let mut batches = batches(10, 1_000);
        let now = Instant::now();
        for number in 0..2 {
            batches.push(now, member(number, NewMessage::new(vec![0; 300])), MOST);
        }
        let [before, full] = batches.push(now, member(2, NewMessage::new(vec![0; 300])), MOST);
        assert_eq!(numbers(&before.unwrap()), [0, 1]);
        assert!(full.is_none());
        assert_eq!(batches.messages(), 1);
    }

    #[test]
    fn delayed_messages_and_those_that_are_too_large_stay_outside() {
        let batches = batches(10, 1_000);
        assert!(batches.may_hold(&NewMessage::new("x"), MOST));
        assert!(!batches.may_hold(&NewMessage::new("x").deliver_at_ms(1), MOST));
        assert!(!batches.may_hold(&NewMessage::new(vec![0; 1_000]), MOST));
        assert!(!batches.may_hold(&NewMessage::new("x"), BATCH_OVERHEAD));
    }

    #[test]
    fn what_waits_is_due_a_delay_after_the_first() {
        let mut batches = batches(10, 10_000);
        let now = Instant::now();
        batches.push(now, member(0, NewMessage::new("x")), MOST);
        batches.push(now + DELAY / 2, member(1, NewMessage::new("x")), MOST);
        assert!(batches.take_due(now + DELAY / 2).is_empty());
        assert_eq!(batches.due(), Some(now + DELAY));
        assert_eq!(batches.take_due(now + DELAY).len(), 1);
    }
}
