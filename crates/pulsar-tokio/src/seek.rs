//! Moving a subscription to another place, and asking where a topic ends.

use std::sync::Arc;

use pulsar_wire::Command;
use pulsar_wire::proto::{CommandGetLastMessageId, CommandSeek, CommandUnsubscribe, MessageIdData};

use crate::consumer::Part;
use crate::error::{Error, ErrorKind};
use crate::lookup::refusal;
use crate::message::{EntryKey, MessageId};
use crate::session::consumer::Position;

/// A place to move to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seek {
    /// The first message that the topic still has.
    Earliest,
    /// Behind the last message.
    Latest,
    /// This message, which comes again.
    Message(MessageId),
    /// The first message that was published at this time or later (Unix, milliseconds).
    PublishTime(u64),
}

impl From<MessageId> for Position {
    fn from(id: MessageId) -> Self {
        Self::Member(EntryKey::from(id), u32::try_from(id.batch_index).unwrap_or(0))
    }
}

impl From<MessageId> for EntryKey {
    fn from(id: MessageId) -> Self {
        Self {
            ledger: id.ledger,
            entry: id.entry,
        }
    }
}

/// What a broker says of the end of a topic, and of how far a consumer has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopicEnd {
    /// The last message; none in an empty topic.
    pub(crate) last: Option<MessageId>,
    /// The entry up to which everything is acknowledged.
    pub(crate) acknowledged: Option<EntryKey>,
}

impl Part {
    pub(crate) async fn seek(&self, to: Seek) -> Result<(), Error> {
        self.endpoint.opened().await?;
        let position = match to {
            Seek::Earliest => Some(Position::Earliest),
            Seek::Latest => Some(Position::Latest),
            Seek::Message(id) => Some(Position::from(id)),
            Seek::PublishTime(_) => None,
        };
        let message_id = position.map(Position::to_wire);
        let message_publish_time = match to {
            Seek::PublishTime(at) => Some(at),
            _ => None,
        };
        self.endpoint.with(|machine, _| machine.begin_seek());
        let answer = self
            .endpoint
            .ask(|consumer_id, request_id| {
                Command::Seek(CommandSeek {
                    consumer_id,
                    request_id,
                    message_id,
                    message_publish_time,
                })
            })
            .await
            .and_then(|answer| match answer {
                Command::Success(_) => Ok(()),
                other => Err(refusal(
                    &other,
                    "SEEK",
                    format_args!("move the subscription on {}", self.topic),
                )),
            });
        // Where a time leads only the broker knows; what it sends tells.
        let moved = answer.is_ok().then(|| position.unwrap_or(Position::Earliest));
        self.endpoint
            .replace_session_if(|machine| machine.end_seek(moved));
        answer?;
        self.endpoint.opened().await
    }

    pub(crate) async fn end(&self) -> Result<TopicEnd, Error> {
        self.endpoint.opened().await?;
        let answer = self
            .endpoint
            .ask(|consumer_id, request_id| {
                Command::GetLastMessageId(CommandGetLastMessageId {
                    consumer_id,
                    request_id,
                })
            })
            .await?;
        let Command::GetLastMessageIdResponse(response) = answer else {
            let doing = format_args!("tell the last message of {}", self.topic);
            return Err(refusal(&answer, "GET_LAST_MESSAGE_ID", doing));
        };
        Ok(TopicEnd {
            last: message_id(&response.last_message_id),
            acknowledged: response.consumer_mark_delete_position.as_ref().map(entry_key),
        })
    }

    pub(crate) async fn unsubscribe(&self) -> Result<(), Error> {
        self.endpoint.opened().await?;
        let answer = self
            .endpoint
            .ask(|consumer_id, request_id| {
                Command::Unsubscribe(CommandUnsubscribe {
                    consumer_id,
                    request_id,
                    force: None,
                })
            })
            .await?;
        match answer {
            Command::Success(_) => Ok(()),
            other => Err(refusal(
                &other,
                "UNSUBSCRIBE",
                format_args!("delete the subscription on {}", self.topic),
            )),
        }
    }
}

/// The parts that a place concerns: a message lies in one of them.
pub(crate) fn concerned(parts: Vec<Arc<Part>>, to: Seek) -> Result<Vec<Arc<Part>>, Error> {
    let Seek::Message(id) = to else {
        return Ok(parts);
    };
    if let [only] = &parts[..] {
        return Ok(vec![only.clone()]);
    }
    let mut concerned = parts.into_iter().filter(|part| part.partition() == id.partition);
    match (concerned.next(), concerned.next()) {
        (Some(part), None) if id.partition >= 0 => Ok(vec![part]),
        _ => Err(Error::new(
            ErrorKind::InvalidOption,
            format!("message {id} does not tell in which of the topics and partitions it lies"),
        )),
    }
}

/// -1 in an empty topic.
fn message_id(id: &MessageIdData) -> Option<MessageId> {
    let key = entry_key(id);
    (key.entry != u64::MAX).then(|| MessageId {
        ledger: key.ledger,
        entry: key.entry,
        partition: id.partition.unwrap_or(-1),
        batch_index: id.batch_index.unwrap_or(-1),
    })
}

fn entry_key(id: &MessageIdData) -> EntryKey {
    EntryKey {
        ledger: id.ledger_id,
        entry: id.entry_id,
    }
}
