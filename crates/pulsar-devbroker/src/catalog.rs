//! The topics that exist and which of them this broker serves at the moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pulsar_wire::ServerError;

use crate::config::Config;
use crate::name::TopicName;
use crate::policies::Policies;
use crate::refusal::Refusal;
use crate::schemas::Schemas;
use crate::topic::{Retention, Topic};

#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) topics: BTreeMap<Arc<str>, Topic>,
    pub(crate) partitions: BTreeMap<Arc<str>, u32>,
    pub(crate) schemas: Schemas,
    pub(crate) namespaces: BTreeSet<String>,
    /// Only of namespaces for which something was set.
    pub(crate) policies: BTreeMap<String, Policies>,
    /// Namespaces of which something was looked up since the start.
    looked_up: BTreeSet<String>,
    /// What became of topics since those who watch were told; the last of several changes.
    changes: BTreeMap<Arc<str>, Change>,
    /// Topics given away and not looked up since.
    unloaded: BTreeSet<Arc<str>>,
    require_lookup: bool,
    retention: Retention,
    ledgers: u64,
}

/// What became of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Made,
    Deleted,
}

impl Catalog {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            namespaces: config.namespaces.clone(),
            require_lookup: config.require_lookup,
            retention: Retention {
                entries: config.retained_entries,
                bytes: config.retained_bytes,
            },
            ..Self::default()
        }
    }

    /// The topic's name in full, if it can exist here.
    pub(crate) fn resolve(&self, topic: &str) -> Result<TopicName, Refusal> {
        let name = TopicName::parse(topic)?;
        if self.namespaces.contains(&name.namespace) {
            Ok(name)
        } else {
            Err(Refusal::new(ServerError::TopicNotFound, "Namespace not found"))
        }
    }

    pub(crate) fn exists(&self, name: &TopicName) -> bool {
        self.topics.contains_key(&name.full) || self.partitions.contains_key(&name.full)
    }

    /// Whether clients can make the topic by using it. Partitions of a partitioned topic are its
    /// own, so they come back in any case.
    pub(crate) fn may_create(&self, name: &TopicName) -> bool {
        let policies = self.policies.get(&name.namespace);
        let is_partition = || {
            self.partitions_beside(name)
                .is_some_and(|count| name.partition < count)
        };
        policies.is_none_or(|policies| !policies.closed) || is_partition()
    }

    pub(crate) fn look_up(&mut self, name: &TopicName) {
        self.looked_up.insert(name.namespace.clone());
        self.unloaded.remove(&name.full);
    }

    pub(crate) fn unload(&mut self, name: &Arc<str>) {
        self.unloaded.insert(name.clone());
    }

    /// Whether the topic is there for a client, or may be made for it. A namespace that is not there is one that is
    /// not served, as in Pulsar.
    pub(crate) fn check_openable(&self, name: &TopicName) -> Result<(), Refusal> {
        if !self.namespaces.contains(&name.namespace) {
            return Err(not_served(name));
        }
        if self
            .partitions_beside(name)
            .is_some_and(|count| name.partition >= count)
        {
            let message = format!("There is no partition {}", name.full);
            return Err(Refusal::new(ServerError::TopicNotFound, message));
        }
        if !self.topics.contains_key(&name.full) && !self.may_create(name) {
            let message = format!("Topic {} does not exist", name.full);
            return Err(Refusal::new(ServerError::TopicNotFound, message));
        }
        Ok(())
    }

    pub(crate) fn check_served(&self, name: &TopicName) -> Result<(), Refusal> {
        let is_new = self.require_lookup && !self.looked_up.contains(&name.namespace);
        if is_new || self.unloaded.contains(&name.full) {
            return Err(not_served(name));
        }
        Ok(())
    }

    /// The topic, created unless it is there.
    pub(crate) fn open(&mut self, name: &TopicName) -> &mut Topic {
        self.topics.entry(name.full.clone()).or_insert_with(|| {
            self.ledgers += 1;
            self.changes.insert(name.full.clone(), Change::Made);
            let policies = self.policies.get(&name.namespace);
            let retention = match policies {
                Some(policies) if policies.keeps_acknowledged => Retention::ALL,
                _ => self.retention,
            };
            let mut topic = Topic::new(name.clone(), self.ledgers, retention);
            topic.max_unacked = policies.and_then(|policies| policies.max_unacked);
            topic
        })
    }

    /// Whether there was one.
    pub(crate) fn delete(&mut self, name: &Arc<str>) -> bool {
        let found = self.topics.remove(name).is_some();
        if found {
            self.changes.insert(name.clone(), Change::Deleted);
        }
        found
    }

    /// What became of topics since the last call.
    pub(crate) fn take_changes(&mut self) -> BTreeMap<Arc<str>, Change> {
        std::mem::take(&mut self.changes)
    }

    /// Of a partition: how many its partitioned topic has, where there is one.
    fn partitions_beside(&self, name: &TopicName) -> Option<i32> {
        let count = self
            .partitions
            .get(name.partitioned())
            .filter(|_| name.partition >= 0)?;
        i32::try_from(*count).ok()
    }
}

fn not_served(name: &TopicName) -> Refusal {
    let message = format!(
        "Namespace bundle of {} is not served by this instance. Please redo the lookup.",
        name.full
    );
    Refusal::new(ServerError::ServiceNotReady, message)
}
