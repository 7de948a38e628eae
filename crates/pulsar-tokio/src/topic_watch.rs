//! Being told by a broker that topics of a namespace came or went.
//!
//! What it says is a hint to look, and no more: it can be ahead of what a lookup tells, and it is lost with the
//! connection. Whoever looks from time to time anyway is only told sooner.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pulsar_wire::Command;
use pulsar_wire::MessageFrame;
use pulsar_wire::proto::{CommandWatchTopicList, CommandWatchTopicListClose};
use tokio::sync::Notify;

use crate::client::ClientInner;
use crate::error::Error;
use crate::link::{Kind, Link, Session};
use crate::lookup::refusal;
use crate::pool::Role;
use crate::topics::Pattern;

/// Pulsar refuses to watch longer patterns, without their domain.
const LONGEST_PATTERN: usize = 50;

/// A watch at a broker; it ends when this is dropped.
pub(crate) struct TopicWatch {
    id: u64,
    link: Arc<Link>,
    hints: Arc<Hints>,
}

#[derive(Default)]
struct Hints {
    change: Notify,
    is_lost: AtomicBool,
}

impl TopicWatch {
    /// None where the broker watches no topics, or not these.
    ///
    /// # Errors
    ///
    /// The broker refuses, or does not answer in time.
    pub(crate) async fn begin(client: &ClientInner, pattern: &Pattern) -> Result<Option<Self>, Error> {
        let is_short = pattern
            .text
            .split_once("://")
            .is_some_and(|(_, text)| text.len() <= LONGEST_PATTERN);
        if !pattern.persistent || !is_short {
            return Ok(None);
        }
        let link = client.pool.service(Role::Consume).await?;
        if !link.watches_topics() {
            return Ok(None);
        }
        let watch = Self {
            id: client.next_session_id(),
            hints: Arc::default(),
            link,
        };
        // Before it begins, so that no hint is missed.
        watch.link.register(Kind::Watch, watch.id, watch.hints.clone())?;
        let answer = watch
            .link
            .call(client.options.operation_timeout, |request_id| {
                Command::WatchTopicList(CommandWatchTopicList {
                    request_id,
                    watcher_id: watch.id,
                    namespace: pattern.namespace.clone(),
                    topics_pattern: pattern.text.clone(),
                    topics_hash: None,
                })
            })
            .await?;
        match answer {
            Command::WatchTopicListSuccess(_) => Ok(Some(watch)),
            other => Err(refusal(
                &other,
                "WATCH_TOPIC_LIST",
                format_args!("watch the topics of {}", pattern.namespace),
            )),
        }
    }

    /// Waits until something may have changed: also when the watch is lost.
    pub(crate) async fn changed(&self) {
        self.hints.change.notified().await;
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.hints.is_lost.load(Ordering::Relaxed)
    }
}

impl Drop for TopicWatch {
    fn drop(&mut self) {
        self.link.unregister(Kind::Watch, self.id);
        if !self.is_lost() {
            // Nobody waits for the answer.
            self.link
                .send_command(&Command::WatchTopicListClose(CommandWatchTopicListClose {
                    request_id: self.link.ids().next(),
                    watcher_id: self.id,
                }));
        }
    }
}

impl Session for Hints {
    fn answer(&self, _: Command) {}

    fn command(&self, _: u64, _: Command, _: Option<MessageFrame>) {
        self.change.notify_one();
    }

    fn lost(&self, _: u64, _: &Error) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.change.notify_one();
    }
}

impl fmt::Debug for TopicWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicWatch")
            .field("id", &self.id)
            .field("is_lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}
