//! The producers of a topic: their names, and who may publish beside whom.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use pulsar_wire::ServerError;
use pulsar_wire::proto::ProducerAccessMode;

use crate::peer::Key;
use crate::refusal::Refusal;

#[derive(Clone, Debug)]
pub(crate) struct Producer {
    pub(crate) key: Key,
    pub(crate) name: Arc<str>,
    pub(crate) access: ProducerAccessMode,
    /// The topic's epoch that it had before, when it comes back.
    pub(crate) topic_epoch: Option<u64>,
    /// The version of its schema, empty without one.
    pub(crate) schema_version: Bytes,
    pub(crate) request_id: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Producers {
    by_name: BTreeMap<Arc<str>, Producer>,
    exclusive: Option<Arc<str>>,
    waiting: VecDeque<Producer>,
    epoch: Option<u64>,
}

/// How a producer was taken.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It may publish. An exclusive one has the topic's epoch, and may have thrown others out:
    /// those that were publishing, and those that were waiting.
    Ready {
        epoch: Option<u64>,
        fenced: Vec<Producer>,
        fenced_waiting: Vec<Producer>,
    },
    /// It is to wait for its turn.
    Waiting,
}

impl Producers {
    pub(crate) fn add(&mut self, producer: Producer) -> Result<Admission, Refusal> {
        match producer.access {
            ProducerAccessMode::Shared => self.add_shared(producer),
            ProducerAccessMode::Exclusive => self.add_exclusive(producer),
            ProducerAccessMode::WaitForExclusive if self.is_empty() => self.take(producer),
            ProducerAccessMode::WaitForExclusive => {
                self.waiting.push_back(producer);
                Ok(Admission::Waiting)
            }
            ProducerAccessMode::ExclusiveWithFencing => self.fence(producer),
        }
    }

    /// Removes a producer. Returns who was waiting and may publish now, and the topic's epoch.
    pub(crate) fn remove(&mut self, key: Key, name: &str) -> Option<(Producer, Option<u64>)> {
        if self.is_ready(key, name) {
            self.by_name.remove(name);
        } else if let Some(index) = self.waiting.iter().position(|producer| producer.key == key) {
            self.waiting.remove(index);
        }
        if self.exclusive.as_deref() == Some(name) && !self.by_name.contains_key(name) {
            self.exclusive = None;
        }
        if !self.is_empty() {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.exclude_others(next.clone());
        Some((next, self.epoch))
    }

    /// Removes all, those that wait too.
    pub(crate) fn remove_all(&mut self) -> Vec<Producer> {
        self.exclusive = None;
        let waiting = self.waiting.drain(..);
        let ready = std::mem::take(&mut self.by_name).into_values();
        ready.chain(waiting).collect()
    }

    /// Whether the producer may publish.
    pub(crate) fn is_ready(&self, key: Key, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|producer| producer.key == key)
    }

    /// The producers that may publish.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Producer> {
        self.by_name.values()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Producer> {
        self.by_name.get(name)
    }

    /// Whether nobody publishes.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    fn add_shared(&mut self, producer: Producer) -> Result<Admission, Refusal> {
        let busy = |message| Err(Refusal::new(ServerError::ProducerBusy, message));
        if self.exclusive.is_some() || !self.waiting.is_empty() {
            return busy("Topic has an existing exclusive producer".to_owned());
        }
        let name = producer.name.clone();
        if self.by_name.contains_key(&name) {
            return busy(format!(
                "Producer with name '{name}' is already connected to topic"
            ));
        }
        self.by_name.insert(name, producer);
        Ok(self.ready(Vec::new(), Vec::new()))
    }

    fn add_exclusive(&mut self, producer: Producer) -> Result<Admission, Refusal> {
        let others = if self.exclusive.is_some() || !self.waiting.is_empty() {
            "Topic has an existing exclusive producer"
        } else if self.is_empty() {
            return self.take(producer);
        } else {
            "Topic has existing shared producers"
        };
        Err(Refusal::new(ServerError::ProducerFenced, others))
    }

    fn fence(&mut self, producer: Producer) -> Result<Admission, Refusal> {
        self.check_epoch(&producer)?;
        let waiting = self.waiting.drain(..).collect();
        let ready = std::mem::take(&mut self.by_name).into_values().collect();
        self.exclude_others(producer);
        Ok(self.ready(ready, waiting))
    }

    fn take(&mut self, producer: Producer) -> Result<Admission, Refusal> {
        self.check_epoch(&producer)?;
        self.exclude_others(producer);
        Ok(self.ready(Vec::new(), Vec::new()))
    }

    fn ready(&self, fenced: Vec<Producer>, fenced_waiting: Vec<Producer>) -> Admission {
        Admission::Ready {
            epoch: self.epoch,
            fenced,
            fenced_waiting,
        }
    }

    /// One that comes back after another had the topic is too late.
    fn check_epoch(&self, producer: &Producer) -> Result<(), Refusal> {
        match (producer.topic_epoch, self.epoch) {
            (Some(had), Some(current)) if had < current => Err(Refusal::new(
                ServerError::ProducerFenced,
                format!("Topic epoch has already moved. Current epoch: {current}, Producer epoch: {had}"),
            )),
            _ => Ok(()),
        }
    }

    fn exclude_others(&mut self, producer: Producer) {
        let next = self.epoch.map_or(0, |epoch| epoch.saturating_add(1));
        self.epoch = Some(producer.topic_epoch.unwrap_or(next));
        self.exclusive = Some(producer.name.clone());
        self.by_name.insert(producer.name.clone(), producer);
    }
}
