//! WATCH_TOPIC_LIST and its CLOSE: the persistent topics of a namespace that match a pattern, now and
//! whenever one appears or vanishes. Where Pulsar tells each change by itself, here those of one moment
//! are told together.

use std::collections::BTreeMap;
use std::sync::Arc;

use pulsar_wire::ServerError;
use pulsar_wire::proto::{
    CommandWatchTopicList, CommandWatchTopicListClose, CommandWatchTopicListSuccess, CommandWatchTopicUpdate,
    TopicsMode,
};
use regex_lite::Regex;

use crate::broker::Broker;
use crate::catalog::{Catalog, Change};
use crate::name::{self, TopicName};
use crate::peer::PeerId;
use crate::refusal::Refusal;
use crate::topic_list;

/// What a client wants to be told of.
#[derive(Debug)]
pub(crate) struct Watch {
    namespace: String,
    pattern: Regex,
}

impl Watch {
    fn topics(&self, catalog: &Catalog) -> Vec<String> {
        topic_list::topics(
            catalog,
            &self.namespace,
            TopicsMode::Persistent,
            Some(&self.pattern),
        )
    }

    fn is_for(&self, name: &TopicName) -> bool {
        name.persistent && name.namespace == self.namespace && self.pattern.is_match(name.path())
    }
}

impl Broker {
    pub(super) fn on_watch(&mut self, peer: PeerId, command: &CommandWatchTopicList) {
        if !name::is_namespace(&command.namespace) {
            self.close(peer, format!("a watch of the topics of '{}'", command.namespace));
            return;
        }
        match watch(command) {
            Ok(watch) => self.begin_watch(peer, command, watch),
            Err(refusal) => self.out.refuse(peer, command.request_id, refusal),
        }
    }

    /// One that stands already is answered, and stays as it is.
    fn begin_watch(&mut self, peer: PeerId, command: &CommandWatchTopicList, watch: Watch) {
        let Some(state) = self.peers.get_mut(&peer) else {
            return;
        };
        let watch = state.watches.entry(command.watcher_id).or_insert(watch);
        let mut topic = watch.topics(&self.catalog);
        let topics_hash = topic_list::hash(&topic);
        if command.topics_hash.as_ref() == Some(&topics_hash) {
            topic.clear();
        }
        let answer = CommandWatchTopicListSuccess {
            request_id: command.request_id,
            watcher_id: command.watcher_id,
            topic,
            topics_hash,
        };
        self.out.send(peer, answer);
    }

    pub(super) fn on_close_watch(&mut self, peer: PeerId, command: &CommandWatchTopicListClose) {
        if let Some(state) = self.peers.get_mut(&peer) {
            state.watches.remove(&command.watcher_id);
        }
        self.out.success(peer, command.request_id);
    }

    /// Tells those who watch of all changes since the last time.
    pub(crate) fn tell_of_changes(&mut self, changes: BTreeMap<Arc<str>, Change>) {
        let changes: Vec<(TopicName, Change)> = changes
            .into_iter()
            .filter_map(|(name, change)| Some((TopicName::parse(&name).ok()?, change)))
            .collect();
        for (peer, state) in &self.peers {
            for (id, watch) in &state.watches {
                let names = |wanted: Change| -> Vec<String> {
                    let changes = changes
                        .iter()
                        .filter(|(name, change)| *change == wanted && watch.is_for(name));
                    changes.map(|(name, _)| name.full.to_string()).collect()
                };
                let (new_topics, deleted_topics) = (names(Change::Made), names(Change::Deleted));
                if new_topics.is_empty() && deleted_topics.is_empty() {
                    continue;
                }
                let update = CommandWatchTopicUpdate {
                    watcher_id: *id,
                    new_topics,
                    deleted_topics,
                    topics_hash: topic_list::hash(&watch.topics(&self.catalog)),
                };
                self.out.send(*peer, update);
            }
        }
    }
}

fn watch(command: &CommandWatchTopicList) -> Result<Watch, Refusal> {
    let text = topic_list::without_domain(&command.topics_pattern);
    let cannot = "Unable to create topic list watcher:";
    if text.chars().count() > topic_list::LONGEST_PATTERN {
        let longest = topic_list::LONGEST_PATTERN;
        let message = format!("{cannot} Pattern longer than maximum: {longest}");
        return Err(Refusal::new(ServerError::NotAllowedError, message));
    }
    let pattern = topic_list::pattern(&text).ok_or_else(|| {
        // What this broker cannot read may be a pattern of another dialect: the client polls instead.
        let message = format!("{cannot} this development broker cannot read the pattern");
        Refusal::new(ServerError::InvalidTopicName, message)
    })?;
    Ok(Watch {
        namespace: command.namespace.clone(),
        pattern,
    })
}
