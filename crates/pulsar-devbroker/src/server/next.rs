//! What tests arrange to happen to the next frame of a kind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pulsar_wire::ServerError;
use tokio::sync::watch;

use super::DevBroker;
use super::kind::CommandKind;
use crate::clock::AGES;

impl DevBroker {
    /// Arranges what happens to the next frame of a kind, on whichever connection it comes or goes.
    /// Several arrangements for one kind each take one frame, in the order in which they were made.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use pulsar_devbroker::{CommandKind, DevBroker};
    /// use pulsar_wire::ServerError;
    ///
    /// let broker = DevBroker::builder().start().await?;
    /// // The first publisher is refused; it tries again.
    /// broker.next(CommandKind::Producer).fail(ServerError::ServiceNotReady, "not yet");
    /// // The second message is stored, but its publisher does not learn of it.
    /// broker.next(CommandKind::SendReceipt).after(1).cut();
    /// # Ok::<(), pulsar_devbroker::StartError>(())
    /// # }).unwrap();
    /// ```
    pub fn next(&self, kind: CommandKind) -> Next<'_> {
        Next {
            rules: &self.hub.rules,
            kind,
            after: 0,
        }
    }
}

/// The next frame of a kind, of which is to be said what happens to it.
#[derive(Debug)]
#[must_use = "nothing is arranged yet"]
pub struct Next<'a> {
    rules: &'a Rules,
    kind: CommandKind,
    after: u32,
}

#[expect(
    clippy::must_use_candidate,
    reason = "what is arranged happens whether it is watched or not"
)]
impl Next<'_> {
    /// Lets so many frames of the kind pass before.
    pub fn after(mut self, others: u32) -> Self {
        self.after = others;
        self
    }

    /// The frame is lost: the broker does not see it, or the client, if it is an answer.
    pub fn discard(self) -> Caught {
        self.arrange(Deed::Discard)
    }

    /// The frame, and what follows it on its connection in the same direction, waits so long.
    pub fn delay(self, time: Duration) -> Caught {
        self.arrange(Deed::Delay(time.min(AGES)))
    }

    /// The frame, and what follows it on its connection in the same direction, waits until the
    /// answer of this is released or dropped.
    #[must_use = "what is held is released when this is dropped"]
    pub fn hold(self) -> Held {
        let (release, released) = watch::channel(false);
        Held {
            caught: self.arrange(Deed::Hold(released)),
            release,
        }
    }

    /// The request is answered with this error and not carried out. What has no answer is lost; a
    /// broker's frame is not affected.
    pub fn fail(self, error: ServerError, message: impl Into<String>) -> Caught {
        self.arrange(Deed::Fail(error, message.into()))
    }

    /// The frame is lost and its connection closed, after what went out before.
    pub fn cut(self) -> Caught {
        self.arrange(Deed::Cut)
    }

    fn arrange(self, deed: Deed) -> Caught {
        let (caught, has_caught) = watch::channel(false);
        self.rules.add(Rule {
            kind: self.kind,
            after: self.after,
            deed,
            caught,
        });
        Caught(has_caught)
    }
}

/// Tells whether what was arranged has come to pass.
#[derive(Clone, Debug)]
pub struct Caught(watch::Receiver<bool>);

impl Caught {
    /// Whether it has.
    #[must_use]
    pub fn has_happened(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it; for ever when the broker ends before.
    ///
    /// # Cancel safety
    /// It can be called again.
    pub async fn happened(&self) {
        let mut caught = self.0.clone();
        if caught.wait_for(|caught| *caught).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Holds a frame back, or will; released when it is dropped.
#[derive(Debug)]
pub struct Held {
    caught: Caught,
    release: watch::Sender<bool>,
}

impl Held {
    /// Tells whether the frame has come.
    #[must_use]
    pub fn caught(&self) -> &Caught {
        &self.caught
    }

    /// Lets the frame go on; one that has not come yet will not be held.
    pub fn release(self) {
        self.release.send_replace(true);
    }
}

/// What was arranged and has not happened.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// So that a frame pays nothing where nothing is arranged.
    count: AtomicUsize,
    list: Mutex<Vec<Rule>>,
}

#[derive(Debug)]
struct Rule {
    kind: CommandKind,
    after: u32,
    deed: Deed,
    caught: watch::Sender<bool>,
}

/// What happens to a frame.
#[derive(Debug)]
pub(super) enum Deed {
    Discard,
    Delay(Duration),
    Hold(watch::Receiver<bool>),
    Fail(ServerError, String),
    Cut,
}

impl Rules {
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// What happens to this frame, if something was arranged.
    pub(super) fn take(&self, kind: i32) -> Option<Deed> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.lock();
        let index = list.iter().position(|rule| rule.kind as i32 == kind)?;
        let rule = &mut list[index];
        if rule.after > 0 {
            rule.after -= 1;
            return None;
        }
        let rule = list.remove(index);
        self.count.store(list.len(), Ordering::Release);
        drop(list);
        rule.caught.send_replace(true);
        Some(rule.deed)
    }

    fn add(&self, rule: Rule) {
        let mut list = self.lock();
        list.push(rule);
        self.count.store(list.len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
