//! PRODUCER: opens a producer, under its own name or one made up here, and files its schema.
//! Encryption and transactions may be announced.

use std::sync::Arc;

use bytes::Bytes;
use pulsar_wire::ServerError;
use pulsar_wire::proto::{CommandProducer, CommandProducerSuccess};

use crate::broker::Broker;
use crate::log::Log;
use crate::name::TopicName;
use crate::peer::{Key, PeerId, Publishing};
use crate::producers::{Admission, Producer};
use crate::refusal::Refusal;

impl Broker {
    pub(super) fn on_producer(&mut self, peer: PeerId, command: CommandProducer) {
        let key = Key {
            peer,
            id: command.producer_id,
        };
        let request_id = command.request_id;
        let known = self.peers.get(&peer).and_then(|peer| peer.producers.get(&key.id));
        let result = match known.cloned() {
            Some(publishing) => self.repeat_producer(key, &publishing, request_id),
            None => self.add_producer(key, command),
        };
        if let Err(refusal) = result {
            self.out.refuse(peer, request_id, refusal);
        }
    }

    /// Tells a producer that it may publish.
    pub(crate) fn greet_producer(&mut self, producer: &Producer, topic: &str, epoch: Option<u64>) {
        let greeting = self.greeting(producer, topic, epoch);
        self.out.send(producer.key.peer, greeting);
    }

    fn add_producer(&mut self, key: Key, command: CommandProducer) -> Result<(), Refusal> {
        let name = TopicName::parse(&command.topic)?;
        self.catalog.check_openable(&name)?;
        self.catalog.check_served(&name)?;
        let schema_version = self.add_schema(&name, command.schema.as_ref())?;
        let producer = self.producer(key, &command, schema_version);
        let rules = self.rules;
        let topic = self.catalog.open(&name);
        // Before the first message, so that a dead-letter subscription misses none.
        let subscription = command.initial_subscription_name.filter(|text| !text.is_empty());
        if let Some(subscription) = subscription.filter(|_| name.persistent) {
            topic.subscription(&subscription.into(), true, rules, Log::first);
        }
        if topic.terminated {
            let message = "Topic was already terminated";
            return Err(Refusal::new(ServerError::TopicTerminatedError, message));
        }
        let admission = topic.producers.add(producer.clone())?;
        let publishing = Publishing {
            topic: name.full.clone(),
            name: producer.name.clone(),
        };
        if let Some(peer) = self.peers.get_mut(&key.peer) {
            peer.producers.insert(key.id, publishing);
        }
        match admission {
            Admission::Ready {
                epoch,
                fenced,
                fenced_waiting,
            } => {
                self.fence_out(&fenced, &fenced_waiting);
                self.greet_producer(&producer, &name.full, epoch);
            }
            Admission::Waiting => {
                let greeting = CommandProducerSuccess {
                    producer_ready: Some(false),
                    ..self.greeting(&producer, &name.full, None)
                };
                self.out.send(key.peer, greeting);
            }
        }
        Ok(())
    }

    /// As in Pulsar: who was waiting is told, and who was publishing finds out by publishing.
    fn fence_out(&mut self, fenced: &[Producer], fenced_waiting: &[Producer]) {
        for waiting in fenced_waiting {
            let refusal = Refusal::new(ServerError::ProducerFenced, "Fenced out");
            self.out.refuse(waiting.key.peer, waiting.request_id, refusal);
        }
        for other in fenced.iter().chain(fenced_waiting) {
            if let Some(peer) = self.peers.get_mut(&other.key.peer) {
                peer.producers.remove(&other.key.id);
            }
        }
    }

    fn repeat_producer(&mut self, key: Key, publishing: &Publishing, request_id: u64) -> Result<(), Refusal> {
        let topic = self.catalog.topics.get(&publishing.topic);
        let producer = topic.and_then(|topic| topic.producers.get(&publishing.name));
        let Some(producer) = producer.filter(|producer| producer.key == key) else {
            let message = "Producer is already present on the connection";
            return Err(Refusal::new(ServerError::ServiceNotReady, message));
        };
        let producer = Producer {
            request_id,
            ..producer.clone()
        };
        // Pulsar does not say the sequence id and the epoch again.
        let greeting = CommandProducerSuccess {
            last_sequence_id: Some(-1),
            ..self.greeting(&producer, &publishing.topic, None)
        };
        self.out.send(key.peer, greeting);
        Ok(())
    }

    fn producer(&mut self, key: Key, command: &CommandProducer, schema_version: Bytes) -> Producer {
        let name: Arc<str> = match &command.producer_name {
            None => {
                self.last_name += 1;
                format!("{}-0-{}", self.config.cluster, self.last_name - 1).into()
            }
            Some(name) => name.as_str().into(),
        };
        Producer {
            key,
            name,
            access: command.producer_access_mode(),
            topic_epoch: command.topic_epoch,
            schema_version,
            request_id: command.request_id,
        }
    }

    fn greeting(&self, producer: &Producer, topic: &str, topic_epoch: Option<u64>) -> CommandProducerSuccess {
        let sequences = self.catalog.topics.get(topic).map(|topic| &topic.sequences);
        let last = sequences.and_then(|sequences| sequences.get(&producer.name));
        CommandProducerSuccess {
            request_id: producer.request_id,
            producer_name: producer.name.to_string(),
            last_sequence_id: Some(last.map_or(-1, |last| *last as i64)),
            schema_version: Some(producer.schema_version.clone()),
            topic_epoch,
            producer_ready: Some(true),
        }
    }
}
