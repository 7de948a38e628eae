//! Reading a topic without a subscription that outlives the reader.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::consumer::{Consumer, ConsumerBuilder, ConsumerStats};
use crate::error::{Error, ErrorKind};
use crate::message::{Message, MessageId};
use crate::seek::Seek;
use crate::session::consumer::{Kept, Position};

/// Where a reader begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// With the first message that the topic still has.
    #[default]
    Earliest,
    /// Behind the last message: only what is published from now on.
    Latest,
    /// With this message.
    At(MessageId),
    /// With the message behind this one.
    After(MessageId),
    /// With the first message that was published at this time or later (Unix, milliseconds).
    PublishTime(u64),
}

/// Settings of a [`Reader`].
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct ReaderBuilder {
    consumer: ConsumerBuilder,
    start: Start,
}

/// Reads a topic from a place of the caller's choice. The broker keeps nothing of it: no subscription stays behind, and
/// messages are not held back for it.
///
/// A lost connection is a pause: reading goes on behind the last message that was handed out. On a topic with partitions
/// the order holds within each of them.
pub struct Reader {
    consumer: Consumer,
}

impl ReaderBuilder {
    pub(crate) fn new(consumer: ConsumerBuilder) -> Self {
        Self {
            consumer,
            start: Start::default(),
        }
    }

    /// Where to begin. Default: `Earliest`.
    pub fn start(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// The reader's name in the broker's statistics.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self {
            consumer: self.consumer.name(name),
            ..self
        }
    }

    /// How many messages may be received ahead, on each partition. Default 1,000.
    pub fn receive_window(self, messages: u32) -> Self {
        Self {
            consumer: self.consumer.receive_window(messages),
            ..self
        }
    }

    /// Opens the reader, on every partition where the topic has partitions.
    ///
    /// # Errors
    ///
    /// The topic cannot be reached or the broker refuses. A start at or after a message works on a topic without
    /// partitions or on one partition only: [`ErrorKind::InvalidOption`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    pub async fn open(self) -> Result<Reader, Error> {
        let position = match self.start {
            Start::Earliest => Position::Earliest,
            // A time is sought from a place where nothing comes meanwhile.
            Start::Latest | Start::PublishTime(_) => Position::Latest,
            Start::At(id) => Position::from(id),
            Start::After(id) => behind(id),
        };
        let consumer = self.consumer.kept(Kept::ByUs(position)).open().await?;
        let parts = consumer.parts().len();
        if matches!(self.start, Start::At(_) | Start::After(_)) && parts > 1 {
            let text = format!("a reader on {parts} partitions cannot begin at a message");
            return Err(Error::new(ErrorKind::InvalidOption, text));
        }
        let reader = Reader { consumer };
        match self.start {
            Start::Latest => reader.learn_start().await?,
            Start::PublishTime(at) => reader.seek(Seek::PublishTime(at)).await?,
            _ => {}
        }
        Ok(reader)
    }
}

/// Behind a message: the next member of its batch, or the next entry.
fn behind(id: MessageId) -> Position {
    match u32::try_from(id.batch_index) {
        Ok(index) => Position::Member(id.into(), index.saturating_add(1)),
        Err(_) => Position::behind(id.into()),
    }
}

impl Reader {
    /// Waits for the next message.
    ///
    /// # Errors
    ///
    /// The reader is closed. A lost connection is no error: the wait goes on.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn read(&self) -> Result<Message, Error> {
        let message = self.consumer.receive().await?;
        self.pass(&message);
        Ok(message)
    }

    /// The next message, if one is there already.
    ///
    /// # Errors
    ///
    /// The reader is closed.
    pub fn try_read(&self) -> Result<Option<Message>, Error> {
        let message = self.consumer.try_receive()?;
        if let Some(message) = &message {
            self.pass(message);
        }
        Ok(message)
    }

    /// Nobody waits for the confirmation: nothing depends on it but the memory of the entry.
    fn pass(&self, message: &Message) {
        drop(self.consumer.ack(message.ticket));
    }

    /// Whether there is a message behind the last one that was read.
    ///
    /// # Errors
    ///
    /// The broker does not answer in time, or refuses.
    pub async fn has_message_available(&self) -> Result<bool, Error> {
        for part in self.consumer.parts() {
            let end = part.end().await?;
            let position = part.endpoint.with(|machine, _| machine.position());
            if let Some(last) = end.last
                && is_ahead(last, position)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves to another place.
    ///
    /// # Errors
    ///
    /// As [`Consumer::seek`].
    pub async fn seek(&self, to: Seek) -> Result<(), Error> {
        self.consumer.seek(to).await?;
        match to {
            Seek::Latest | Seek::PublishTime(_) => self.learn_start().await,
            _ => Ok(()),
        }
    }

    /// Where the end of a topic or a time lies only the broker knows; after a lost connection reading has to begin there
    /// again.
    async fn learn_start(&self) -> Result<(), Error> {
        for part in self.consumer.parts() {
            if let Some(acknowledged) = part.end().await?.acknowledged {
                let start = Position::behind(acknowledged);
                part.endpoint.with(|machine, _| machine.know_start(start));
            }
        }
        Ok(())
    }

    /// As [`Consumer::last_message_ids`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn last_message_ids(&self) -> Result<Vec<(Arc<str>, Option<MessageId>)>, Error> {
        self.consumer.last_message_ids().await
    }

    /// How the reader is, partition by partition.
    #[must_use]
    pub fn stats(&self) -> Vec<ConsumerStats> {
        self.consumer.stats()
    }

    /// Closes, at most within `patience`.
    pub async fn close(&self, patience: Duration) {
        self.consumer.close(patience).await;
    }
}

/// Whether the last message of a topic lies at or behind the place where reading goes on.
fn is_ahead(last: MessageId, position: Option<Position>) -> bool {
    match position {
        None | Some(Position::Earliest) => true,
        Some(Position::Latest) => false,
        Some(Position::Member(key, index)) => {
            let at = |index: i32| u32::try_from(index).unwrap_or(0);
            (last.ledger, last.entry, at(last.batch_index)) >= (key.ledger, key.entry, index)
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("consumer", &self.consumer)
            .finish()
    }
}
