//! What a publisher holds of a message under way.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::PublishError;
use crate::transport::WriteError;

/// The `meta.id` of a published message.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(Bytes);

impl MessageId {
    /// `id` is text; it shares the memory of the message's body.
    pub(super) fn new(id: Bytes) -> Self {
        Self(id)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MessageId").field(&self.as_str()).finish()
    }
}

impl From<MessageId> for String {
    fn from(id: MessageId) -> Self {
        id.as_str().to_owned()
    }
}

/// Resolves to the message's id when the broker confirmed it. The message is on its way already: dropping
/// the receipt only gives up the answer.
#[derive(Debug)]
pub struct Receipt<F> {
    state: State<F>,
}

#[derive(Debug)]
enum State<F> {
    Sent(MessageId, F),
    Refused(PublishError),
    Answered,
}

impl<F> Receipt<F> {
    pub(super) fn sent(id: MessageId, send: F) -> Self {
        Self {
            state: State::Sent(id, send),
        }
    }

    pub(super) fn refused(error: PublishError) -> Self {
        Self {
            state: State::Refused(error),
        }
    }
}

impl<F: Future<Output = Result<(), WriteError>> + Unpin> Future for Receipt<F> {
    type Output = Result<MessageId, PublishError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::Sent(_, send) = &mut self.state
            && let Err(error) = ready!(Pin::new(send).poll(context))
        {
            self.state = State::Refused(error.into());
        }
        Poll::Ready(match std::mem::replace(&mut self.state, State::Answered) {
            State::Sent(id, _) => Ok(id),
            State::Refused(error) => Err(error),
            State::Answered => panic!("receipt polled after it had answered"),
        })
    }
}
