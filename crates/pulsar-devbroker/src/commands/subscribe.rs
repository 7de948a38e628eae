//! SUBSCRIBE: attaches a consumer; the subscription, and the topic, are created unless they are
//! there. Compacted reading and replicated subscriptions are refused.

use std::sync::Arc;

use pulsar_wire::ServerError;
use pulsar_wire::proto::{CommandSubscribe, InitialPosition, KeySharedMode, Schema, SchemaType, SubType};

use crate::broker::Broker;
use crate::clock::Now;
use crate::log::Log;
use crate::name::TopicName;
use crate::peer::{Consuming, Key, PeerId};
use crate::refusal::Refusal;
use crate::subscription::{Consumer, KeySharing};

impl Broker {
    pub(super) fn on_subscribe(&mut self, peer: PeerId, command: &CommandSubscribe) {
        let key = Key {
            peer,
            id: command.consumer_id,
        };
        let request_id = command.request_id;
        if SubType::try_from(command.sub_type).is_err() {
            self.close(peer, "SUBSCRIBE of an unknown type");
            return;
        }
        if self.consuming(key).is_some() {
            self.out.success(peer, request_id);
            return;
        }
        match self.subscribe(key, command) {
            Ok(()) => {
                self.out.success(peer, request_id);
                self.run_for(key);
            }
            Err(refusal) => self.out.refuse(peer, request_id, refusal),
        }
    }

    fn subscribe(&mut self, key: Key, command: &CommandSubscribe) -> Result<(), Refusal> {
        let name = self.check_subscribe(command)?;
        self.check_consumer_schema(&name, command.schema.as_ref())?;
        let (now, rules) = (self.now, self.rules);
        let durable = command.durable() && name.persistent;
        let consumer = self.consumer(key, command);
        let subscription: Arc<str> = command.subscription.as_str().into();
        let topic = self.catalog.open(&name);
        let found = topic.subscriptions.get(&subscription);
        let is_new = found.is_none();
        if found.is_some_and(|found| found.durable != durable) {
            let message = "A subscription of the same name that is durable, or is not, already exists";
            return Err(Refusal::new(ServerError::NotAllowedError, message));
        }
        if let Some(entry) = rolled_back(command, &topic.log, now).filter(|_| !is_new && name.persistent) {
            self.seek_to(&name.full, &subscription, entry);
        }
        let topic = self.catalog.open(&name);
        let attached = topic.subscription(&subscription, durable, rules, |log| start(command, log, now));
        let joined = attached.join(command.sub_type(), consumer, now.at, &mut self.out);
        if joined.is_err() && is_new {
            topic.subscriptions.remove(&subscription);
        }
        joined?;
        if let Some(peer) = self.peers.get_mut(&key.peer) {
            let topic = name.full;
            peer.consumers.insert(key.id, Consuming { topic, subscription });
        }
        Ok(())
    }

    fn check_subscribe(&self, command: &CommandSubscribe) -> Result<TopicName, Refusal> {
        let not_allowed = |message: &str| Err(Refusal::new(ServerError::NotAllowedError, message));
        let name = TopicName::parse(&command.topic)?;
        if command.subscription.trim().is_empty() {
            // The code is Pulsar's.
            return Err(Refusal::new(ServerError::ProducerBusy, "Empty subscription name"));
        }
        self.catalog.check_openable(&name)?;
        self.catalog.check_served(&name)?;
        if command.read_compacted() {
            return not_allowed("This development broker does not compact topics");
        }
        if command.replicate_subscription_state() {
            return not_allowed("This development broker does not replicate subscriptions");
        }
        if !command.force_topic_creation() && !self.catalog.topics.contains_key(&name.full) {
            let message = format!("Topic {} does not exist", name.full);
            return Err(Refusal::new(ServerError::TopicNotFound, message));
        }
        Ok(name)
    }

    fn consumer(&mut self, key: Key, command: &CommandSubscribe) -> Consumer {
        let name = match command.consumer_name() {
            "" => {
                self.last_name += 1;
                format!("consumer-{}", self.last_name - 1)
            }
            name => name.to_owned(),
        };
        let room = self.peers.get(&key.peer).map(|peer| peer.room.clone());
        Consumer {
            room: room.unwrap_or_default(),
            priority: command.priority_level(),
            epoch: command.consumer_epoch,
            sharing: sharing(command),
            takes_any_schema: command.schema.as_ref().map(Schema::r#type) == Some(SchemaType::AutoConsume),
            ..Consumer::new(key, name)
        }
    }
}

fn sharing(command: &CommandSubscribe) -> KeySharing {
    let Some(meta) = command
        .key_shared_meta
        .as_ref()
        .filter(|_| command.sub_type() == SubType::KeyShared)
    else {
        return KeySharing::default();
    };
    let is_sticky = meta.key_shared_mode() == KeySharedMode::Sticky;
    KeySharing {
        sticky: is_sticky.then(|| KeySharing::in_order(&meta.hash_ranges)),
        out_of_order: meta.allow_out_of_order_delivery(),
    }
}

/// Where a new subscription begins. Only one that is not durable may name a message.
fn start(command: &CommandSubscribe, log: &Log, now: Now) -> u64 {
    let named = command.start_message_id.as_ref().filter(|_| !command.durable());
    // What lies behind the end names nothing, as in Pulsar: the initial position decides.
    let named = named
        .map(|id| log.start_of(id))
        .filter(|entry| *entry < log.end());
    match (rolled_back(command, log, now), named, command.initial_position()) {
        (Some(entry), ..) | (None, Some(entry), _) => entry,
        (None, None, InitialPosition::Earliest) => log.first(),
        (None, None, InitialPosition::Latest) => log.end(),
    }
}

/// The first entry of the time before now that the consumer asks for.
fn rolled_back(command: &CommandSubscribe, log: &Log, now: Now) -> Option<u64> {
    let seconds = command
        .start_message_rollback_duration_sec
        .filter(|seconds| *seconds > 0)?;
    Some(log.published_from(now.unix_ms.saturating_sub(seconds.saturating_mul(1000))))
}
