//! Acknowledgements on their way to the broker.
//!
//! One request is out at a time. What is acknowledged meanwhile is gathered and leaves with the
//! next request, so the pace of the answers sets the size of the groups and no timer is needed.

use std::time::{Duration, Instant};

use pulsar_wire::proto::{AckType, CommandAck, CommandAckResponse, MessageIdData};

use crate::error::Error;
use crate::message::EntryKey;

/// How long the broker may take to answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// The greatest number of ids in one request.
const GROUP: usize = 1_000;

/// The acknowledgements of one session; `A` is who waits for the confirmation.
#[derive(Debug)]
pub(crate) struct Acks<A> {
    out: Option<Request<A>>,
    gathered: Vec<(EntryKey, Option<A>)>,
    /// An emptied list, kept so that groups need no new memory.
    spare: Vec<(EntryKey, Option<A>)>,
}

#[derive(Debug)]
struct Request<A> {
    id: u64,
    deadline: Instant,
    group: Vec<(EntryKey, Option<A>)>,
}

/// A finished group.
#[derive(Debug)]
pub(crate) struct Answered<A> {
    pub(crate) group: Vec<(EntryKey, Option<A>)>,
    pub(crate) result: Result<(), Error>,
}

impl<A> Acks<A> {
    pub(crate) fn new() -> Self {
        Self {
            out: None,
            gathered: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, key: EntryKey, waiter: Option<A>) {
        self.gathered.push((key, waiter));
    }

    /// The next request, if none is out and something waits.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        consumer_id: u64,
        request_id: impl FnOnce() -> u64,
    ) -> Option<CommandAck> {
        if self.out.is_some() || self.gathered.is_empty() {
            return None;
        }
        let group = if self.gathered.len() <= GROUP {
            std::mem::replace(&mut self.gathered, std::mem::take(&mut self.spare))
        } else {
            self.gathered.drain(..GROUP).collect()
        };
        let id = request_id();
        let command = CommandAck {
            consumer_id,
            ack_type: AckType::Individual as i32,
            message_id: group
                .iter()
                .map(|(key, _)| MessageIdData {
                    ledger_id: key.ledger,
                    entry_id: key.entry,
                    ..MessageIdData::default()
                })
                .collect(),
            request_id: Some(id),
            ..CommandAck::default()
        };
        self.out = Some(Request {
            id,
            deadline: now + DEADLINE,
            group,
        });
        Some(command)
    }

    /// The answer to the request that is out; none if it answers something else.
    pub(crate) fn answer(&mut self, response: &CommandAckResponse) -> Option<Answered<A>> {
        let request = self
            .out
            .take_if(|request| response.request_id == Some(request.id))?;
        let result = match response.error {
            None => Ok(()),
            Some(code) => Err(Error::refused(
                pulsar_wire::ServerError::from_i32(code),
                response.message.as_deref().unwrap_or_default(),
                "take an acknowledgement",
            )),
        };
        Some(Answered {
            group: request.group,
            result,
        })
    }

    /// The request that has waited too long, if there is one.
    pub(crate) fn overdue(&mut self, now: Instant) -> Option<Vec<(EntryKey, Option<A>)>> {
        Some(self.out.take_if(|request| now >= request.deadline)?.group)
    }

    /// Takes back an emptied list.
    pub(crate) fn recycle(&mut self, mut group: Vec<(EntryKey, Option<A>)>) {
        group.clear();
        if group.capacity() > self.spare.capacity() {
            self.spare = group;
        }
    }

    /// The session is over: all that is out or gathered, since no answer comes any more.
    pub(crate) fn take_all(&mut self) -> Vec<(EntryKey, Option<A>)> {
        let mut all = self.out.take().map(|request| request.group).unwrap_or_default();
        all.append(&mut self.gathered);
        all
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.out.as_ref().map(|request| request.deadline)
    }

    /// How many entries wait for a confirmation.
    pub(crate) fn unanswered(&self) -> usize {
        self.out.as_ref().map_or(0, |request| request.group.len()) + self.gathered.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(entry: u64) -> EntryKey {
        EntryKey { ledger: 1, entry }
    }

    fn answer(request_id: u64) -> CommandAckResponse {
        CommandAckResponse {
            request_id: Some(request_id),
            ..CommandAckResponse::default()
        }
    }

    fn ids(ack: &CommandAck) -> Vec<u64> {
        ack.message_id.iter().map(|id| id.entry_id).collect()
    }

    #[test]
    fn what_is_acknowledged_while_a_request_is_out_leaves_with_the_next_one() {
        let now = Instant::now();
        let mut acks = Acks::new();
        acks.push(key(1), Some("one"));
        assert_eq!(ids(&acks.next(now, 7, || 10).unwrap()), [1]);
        acks.push(key(2), Some("two"));
        acks.push(key(3), None);
        assert!(acks.next(now, 7, || 11).is_none());
        assert_eq!(acks.answer(&answer(10)).unwrap().group, [(key(1), Some("one"))]);
        assert_eq!(ids(&acks.next(now, 7, || 11).unwrap()), [2, 3]);
    }

    #[test]
    fn an_answer_to_another_request_changes_nothing() {
        let mut acks = Acks::new();
        acks.push(key(1), Some(()));
        acks.next(Instant::now(), 7, || 10);
        assert!(acks.answer(&answer(9)).is_none());
        assert_eq!(acks.unanswered(), 1);
    }

    #[test]
    fn a_refusal_reaches_the_whole_group() {
        let mut acks = Acks::new();
        acks.push(key(1), Some(()));
        acks.next(Instant::now(), 7, || 10);
        let refusal = CommandAckResponse {
            error: Some(1),
            message: Some("broken".into()),
            ..answer(10)
        };
        assert!(acks.answer(&refusal).unwrap().result.is_err());
    }

    #[test]
    fn a_request_without_an_answer_is_given_up_after_its_deadline() {
        let now = Instant::now();
        let mut acks = Acks::new();
        acks.push(key(1), Some(()));
        acks.next(now, 7, || 10);
        assert!(acks.overdue(now).is_none());
        assert_eq!(acks.overdue(now + DEADLINE).unwrap().len(), 1);
    }
}
