//! What an administrator makes and sets: topics, subscriptions, namespaces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pulsar_wire::proto::Schema;

use crate::broker::Broker;
use crate::control::Position;
use crate::control_error::{ControlError, ControlErrorKind};
use crate::log::Log;
use crate::name::{self, TopicName};
use crate::policies::{Policies, PublishLimit};
use crate::refusal::Refusal;
use crate::schemas::stated;
use crate::topic::{Retention, Topic};

/// Each partition is a topic of its own; more would be a slip of the keyboard.
const MOST_PARTITIONS: u32 = 100_000;

type Done = Result<(), ControlError>;

fn failed(kind: ControlErrorKind, subject: &str) -> ControlError {
    ControlError::new(kind, subject)
}

impl Broker {
    /// Makes a topic without partitions.
    ///
    /// # Errors
    /// When it exists, its namespace does not, or the name is none.
    pub fn create_topic(&mut self, topic: &str) -> Done {
        let name = self.new_name(topic)?;
        self.catalog.open(&name);
        Ok(())
    }

    /// Makes a topic with partitions.
    ///
    /// # Errors
    /// When it exists, its namespace does not, or the name is none.
    pub fn create_partitioned_topic(&mut self, topic: &str, partitions: u32) -> Done {
        let name = self.new_name(topic)?;
        check_partitions(topic, partitions)?;
        self.create_partitioned(&name.full, partitions);
        Ok(())
    }

    /// Raises the number of partitions; the new ones get the subscriptions of the others.
    ///
    /// # Errors
    /// When the topic has no partitions, or not fewer.
    pub fn grow_partitions(&mut self, topic: &str, partitions: u32) -> Done {
        let name = self.resolved(topic)?;
        let before = self.catalog.partitions.get(&name.full).copied();
        let before = before.ok_or_else(|| failed(ControlErrorKind::NotFound, topic))?;
        if partitions <= before {
            let subject = format!("{topic} with {partitions} instead of {before} partitions");
            return Err(failed(ControlErrorKind::Invalid, &subject));
        }
        check_partitions(topic, partitions)?;
        let first = self.catalog.topics.get(&*TopicName::partition_of(&name.full, 0));
        let subscriptions: Vec<Arc<str>> = first
            .map(|topic| &topic.subscriptions)
            .into_iter()
            .flatten()
            .filter(|(_, subscription)| subscription.durable)
            .map(|(name, _)| name.clone())
            .collect();
        self.create_partitioned(&name.full, partitions);
        let rules = self.rules;
        for index in before..partitions {
            let partition = TopicName::partition_of(&name.full, index);
            if let Some(partition) = self.catalog.topics.get_mut(&*partition) {
                for subscription in &subscriptions {
                    partition.subscription(subscription, true, rules, Log::first);
                }
            }
        }
        Ok(())
    }

    /// How many partitions a topic has: 0 for one without, `None` when there is no such topic.
    #[must_use]
    pub fn partition_count(&self, topic: &str) -> Option<u32> {
        let name = TopicName::parse(topic).ok()?;
        let partitions = self.catalog.partitions.get(&name.full).copied();
        partitions.or_else(|| self.catalog.topics.contains_key(&name.full).then_some(0))
    }

    /// Makes a subscription, on all partitions if there are any; the topic too, unless it is there.
    ///
    /// # Errors
    /// When it exists, the topic's namespace does not, or a name is none.
    pub fn create_subscription(&mut self, topic: &str, subscription: &str, position: Position) -> Done {
        let name = self.resolved(topic)?;
        if subscription.is_empty() {
            return Err(failed(ControlErrorKind::Invalid, "a subscription without a name"));
        }
        let (rules, subscription) = (self.rules, Arc::from(subscription));
        for name in self.parts(&name) {
            let topic = self.catalog.open(&name);
            if topic.subscriptions.contains_key(&subscription) {
                let subject = format!("{subscription} on {}", name.full);
                return Err(failed(ControlErrorKind::Exists, &subject));
            }
            topic.subscription(&subscription, true, rules, |log| place(log, position));
        }
        Ok(())
    }

    /// Deletes a topic, or all partitions of one, unless producers or consumers are attached.
    ///
    /// # Errors
    /// When there is no such topic, or it is in use.
    pub fn delete_unused(&mut self, now: Instant, topic: &str) -> Done {
        let name = self.resolved(topic)?;
        let in_use = |name: &TopicName| {
            let topic = self.catalog.topics.get(&name.full);
            topic.is_some_and(Topic::has_clients)
        };
        if self.parts(&name).iter().any(in_use) {
            return Err(failed(ControlErrorKind::InUse, topic));
        }
        if self.delete(now, topic) {
            return Ok(());
        }
        Err(failed(ControlErrorKind::NotFound, topic))
    }

    /// Makes a namespace, such as `acme/shop`.
    ///
    /// # Errors
    /// When it exists, or the name is none.
    pub fn create_namespace(&mut self, namespace: &str) -> Done {
        check_namespace(namespace)?;
        if !self.catalog.namespaces.insert(namespace.to_owned()) {
            return Err(failed(ControlErrorKind::Exists, namespace));
        }
        Ok(())
    }

    /// Deletes a namespace with all its topics and whatever is attached to them.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn delete_namespace(&mut self, now: Instant, namespace: &str) -> Done {
        if !self.catalog.namespaces.remove(namespace) {
            return Err(failed(ControlErrorKind::NotFound, namespace));
        }
        self.catalog.policies.remove(namespace);
        let names = self.catalog.partitions.keys().chain(self.catalog.topics.keys());
        let names: Vec<Arc<str>> = names
            .filter(|name| TopicName::parse(name).is_ok_and(|name| name.namespace == namespace))
            .cloned()
            .collect();
        for name in names {
            self.delete(now, &name);
        }
        Ok(())
    }

    /// Whether the topics of a namespace drop what was published before, instead of the broker's
    /// setting.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn set_deduplication(&mut self, namespace: &str, on: bool) -> Done {
        self.policies(namespace)?.deduplication = Some(on);
        Ok(())
    }

    /// Whether clients make a topic of a namespace by using it; they do unless this says otherwise.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn set_topic_creation(&mut self, namespace: &str, on: bool) -> Done {
        self.policies(namespace)?.closed = !on;
        Ok(())
    }

    /// Whether producers of a namespace need a schema where the topic has one.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn enforce_schema(&mut self, namespace: &str, on: bool) -> Done {
        self.policies(namespace)?.enforces_schema = on;
        Ok(())
    }

    /// Limits what a consumer of a namespace may hold without acknowledging it, on Shared and
    /// Key_Shared, instead of the broker's setting.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn limit_unacked(&mut self, namespace: &str, messages: u64) -> Done {
        self.policies(namespace)?.max_unacked = Some(messages);
        let topics = self.catalog.topics.values_mut();
        for topic in topics.filter(|topic| topic.name.namespace == namespace) {
            topic.max_unacked = Some(messages);
            for subscription in topic.subscriptions.values_mut() {
                subscription.rules.max_unacked_per_consumer = messages;
            }
        }
        Ok(())
    }

    /// Refuses messages of a namespace that are to be delivered later than after this time.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn limit_delay(&mut self, namespace: &str, most: Duration) -> Done {
        let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self.policies(namespace)?.max_delay_ms = Some(most_ms);
        Ok(())
    }

    /// Gives a topic a schema.
    ///
    /// # Errors
    /// When the topic's namespace does not exist, the name is none, or the topic has a schema of
    /// another kind.
    pub fn set_schema(&mut self, topic: &str, schema: &Schema) -> Done {
        let name = self.resolved(topic)?;
        let added = stated(Some(schema)).map(|schema| self.catalog.schemas.add(name.path(), schema));
        if !matches!(added, Some(Ok(_))) {
            let subject = format!("{:?} as the schema of {topic}", schema.r#type());
            return Err(failed(ControlErrorKind::Invalid, &subject));
        }
        Ok(())
    }

    /// Limits each topic of a namespace to so many messages a second; publishers wait.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn limit_publishing(&mut self, namespace: &str, messages_per_second: Option<u32>) -> Done {
        self.policies(namespace)?.publishing = messages_per_second.map(PublishLimit::new);
        Ok(())
    }

    /// Keeps the entries that every subscription has acknowledged, however many there are.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn keep_acknowledged(&mut self, namespace: &str) -> Done {
        self.policies(namespace)?.keeps_acknowledged = true;
        let topics = self.catalog.topics.values_mut();
        for topic in topics.filter(|topic| topic.name.namespace == namespace) {
            topic.retention = Retention::ALL;
        }
        Ok(())
    }

    /// The topic itself, or its partitions.
    pub(crate) fn parts(&self, name: &TopicName) -> Vec<TopicName> {
        let Some(partitions) = self.catalog.partitions.get(&name.full) else {
            return vec![name.clone()];
        };
        let names = (0..*partitions).map(|index| TopicName::partition_of(&name.full, index));
        names.filter_map(|name| TopicName::parse(&name).ok()).collect()
    }

    fn policies(&mut self, namespace: &str) -> Result<&mut Policies, ControlError> {
        if !self.catalog.namespaces.contains(namespace) {
            return Err(failed(ControlErrorKind::NotFound, namespace));
        }
        Ok(self.catalog.policies.entry(namespace.to_owned()).or_default())
    }

    fn new_name(&self, topic: &str) -> Result<TopicName, ControlError> {
        let name = self.resolved(topic)?;
        if self.catalog.exists(&name) {
            return Err(failed(ControlErrorKind::Exists, topic));
        }
        Ok(name)
    }

    fn resolved(&self, topic: &str) -> Result<TopicName, ControlError> {
        let name =
            TopicName::parse(topic).map_err(|Refusal { .. }| failed(ControlErrorKind::Invalid, topic))?;
        if !self.catalog.namespaces.contains(&name.namespace) {
            let subject = format!("the namespace {} of {topic}", name.namespace);
            return Err(failed(ControlErrorKind::NotFound, &subject));
        }
        Ok(name)
    }
}

/// Whether a text can name a namespace.
pub(crate) fn check_namespace(namespace: &str) -> Done {
    if name::is_namespace(namespace) {
        return Ok(());
    }
    let subject = format!("the namespace '{namespace}' instead of tenant/namespace");
    Err(failed(ControlErrorKind::Invalid, &subject))
}

/// Whether a topic can have so many.
pub(crate) fn check_partitions(topic: &str, partitions: u32) -> Done {
    if (1..=MOST_PARTITIONS).contains(&partitions) {
        return Ok(());
    }
    let subject = format!("{topic} with {partitions} partitions instead of 1 to {MOST_PARTITIONS}");
    Err(failed(ControlErrorKind::Invalid, &subject))
}

/// The entry at a place.
pub(crate) fn place(log: &Log, position: Position) -> u64 {
    match position {
        Position::Earliest => log.first(),
        Position::Latest => log.end(),
        Position::Entry(entry) => entry.clamp(log.first(), log.end()),
        Position::At { ledger, entry } => log.start_of_entry(ledger, entry),
    }
}
