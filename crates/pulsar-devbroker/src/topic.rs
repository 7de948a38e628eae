//! A topic: its entries, who publishes, who subscribed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Context;
use crate::log::{Entry, Log};
use crate::name::TopicName;
use crate::producers::Producers;
use crate::subscription::{Rules, Subscription};

/// How much of what every subscription has acknowledged stays, so that cursors can be moved back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retention {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

impl Retention {
    pub(crate) const ALL: Self = Self {
        entries: usize::MAX,
        bytes: usize::MAX,
    };
}

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: TopicName,
    pub(crate) log: Log,
    pub(crate) producers: Producers,
    pub(crate) subscriptions: BTreeMap<Arc<str>, Subscription>,
    pub(crate) terminated: bool,
    /// The highest sequence id of each producer's name, for deduplication.
    pub(crate) sequences: BTreeMap<Arc<str>, u64>,
    /// How many messages were published and delivered.
    pub(crate) messages_in: u64,
    pub(crate) messages_out: u64,
    pub(crate) retention: Retention,
    /// How many messages a consumer may hold, instead of the broker's setting.
    pub(crate) max_unacked: Option<u64>,
    /// How many events passed since the log was last trimmed.
    untrimmed: usize,
}

impl Topic {
    pub(crate) fn new(name: TopicName, ledger: u64, retention: Retention) -> Self {
        Self {
            log: Log::new(ledger, name.partition, name.persistent),
            name,
            producers: Producers::default(),
            subscriptions: BTreeMap::new(),
            terminated: false,
            sequences: BTreeMap::new(),
            messages_in: 0,
            messages_out: 0,
            retention,
            max_unacked: None,
            untrimmed: 0,
        }
    }

    /// The subscription of this name; a new one starts at `start`.
    pub(crate) fn subscription(
        &mut self,
        name: &Arc<str>,
        durable: bool,
        rules: Rules,
        start: impl FnOnce(&Log) -> u64,
    ) -> &mut Subscription {
        let rules = Rules {
            max_unacked_per_consumer: self.max_unacked.unwrap_or(rules.max_unacked_per_consumer),
            ..rules
        };
        self.subscriptions
            .entry(name.clone())
            .or_insert_with(|| Subscription::new(name.clone(), durable, start(&self.log), rules, &self.name))
    }

    /// Whether a client is attached or something is stored. Consumers that take any schema do
    /// not count.
    pub(crate) fn is_in_use(&self) -> bool {
        let mut consumers = self
            .subscriptions
            .values()
            .flat_map(|subscription| &subscription.consumers);
        self.log.first() < self.log.end()
            || !self.producers.is_empty()
            || consumers.any(|consumer| !consumer.takes_any_schema)
    }

    /// Whether a client is attached.
    pub(crate) fn has_clients(&self) -> bool {
        let mut subscriptions = self.subscriptions.values();
        !self.producers.is_empty() || subscriptions.any(|subscription| !subscription.consumers.is_empty())
    }

    /// Stores an entry. [`deliver_new`](Self::deliver_new) is to follow.
    pub(crate) fn append(&mut self, entry: Entry) -> u64 {
        self.messages_in += u64::from(entry.messages);
        self.log.append(entry)
    }

    /// Sends the newest entry to whoever can have it. Subscriptions that are behind wait for
    /// something else than a new entry.
    pub(crate) fn deliver_new(&mut self, context: &mut Context<'_>) {
        let newest = self.log.end() - 1;
        for subscription in self.subscriptions.values_mut() {
            if subscription.read == newest {
                self.messages_out += subscription.run_new(&self.log, context);
            }
        }
        self.trim();
    }

    /// Passes an entry of a topic that stores nothing on to who is ready for it.
    pub(crate) fn pass_on(&mut self, entry: &Entry, context: &mut Context<'_>) {
        self.messages_in += u64::from(entry.messages);
        for subscription in self.subscriptions.values_mut() {
            self.messages_out += subscription.pass_on(entry, &self.log, context);
        }
    }

    /// Sends what can be sent on one subscription.
    pub(crate) fn run(&mut self, subscription: &str, context: &mut Context<'_>) {
        if let Some(subscription) = self.subscriptions.get_mut(subscription) {
            self.messages_out += subscription.run(&self.log, context);
        }
        self.after_acks(subscription, context);
    }

    /// Sends what can be sent on all subscriptions.
    pub(crate) fn run_all(&mut self, context: &mut Context<'_>) {
        let names: Vec<Arc<str>> = self.subscriptions.keys().cloned().collect();
        for name in names {
            self.run(&name, context);
        }
    }

    /// What acknowledgements alone can lead to.
    pub(crate) fn after_acks(&mut self, subscription: &str, context: &mut Context<'_>) {
        if self.terminated
            && let Some(subscription) = self.subscriptions.get_mut(subscription)
        {
            subscription.tell_of_end(&self.log, context.out);
        }
        self.trim();
    }

    /// Drops what everybody has acknowledged. With many subscriptions not at every event: they
    /// all have to be looked at.
    fn trim(&mut self) {
        self.untrimmed += 1;
        let retention = self.retention;
        let is_over = self.log.len() > retention.entries || self.log.bytes() > retention.bytes;
        if !is_over || self.untrimmed < self.subscriptions.len() {
            return;
        }
        self.untrimmed = 0;
        let floors = self.subscriptions.values().map(|one| one.cursor.floor());
        let floor = floors.min().unwrap_or(self.log.end());
        self.log.trim(floor, retention);
        for subscription in self.subscriptions.values_mut() {
            subscription.lose_before(self.log.first());
        }
    }
}
