//! PARTITIONED_METADATA and LOOKUP. Whatever exists or may be made by
//! using it is served here.

use pulsar_wire::ServerError;
use pulsar_wire::proto::{
    CommandLookupTopic, CommandLookupTopicResponse, CommandPartitionedTopicMetadata,
    CommandPartitionedTopicMetadataResponse, LookupType, MetadataLookupType,
};

use crate::broker::Broker;
use crate::peer::PeerId;
use crate::refusal::Refusal;

impl Broker {
    pub(super) fn on_partition_metadata(&mut self, peer: PeerId, question: &CommandPartitionedTopicMetadata) {
        let answer = match self.partitions(question) {
            Ok(partitions) => CommandPartitionedTopicMetadataResponse {
                partitions: Some(partitions),
                request_id: question.request_id,
                response: Some(MetadataLookupType::Success as i32),
                ..Default::default()
            },
            Err(refusal) => CommandPartitionedTopicMetadataResponse {
                request_id: question.request_id,
                response: Some(MetadataLookupType::Failed as i32),
                error: Some(refusal.error.code()),
                message: Some(refusal.message),
                ..Default::default()
            },
        };
        self.out.send(peer, answer);
    }

    pub(super) fn on_lookup(&mut self, peer: PeerId, lookup: &CommandLookupTopic) {
        let answer = match self.look_up(lookup) {
            Ok(()) => CommandLookupTopicResponse {
                broker_service_url: Some(self.config.service_url.clone()),
                response: Some(LookupType::Connect as i32),
                request_id: lookup.request_id,
                authoritative: Some(true),
                proxy_through_service_url: Some(true),
                ..Default::default()
            },
            Err(refusal) => CommandLookupTopicResponse {
                response: Some(LookupType::Failed as i32),
                request_id: lookup.request_id,
                error: Some(refusal.error.code()),
                message: Some(refusal.message),
                ..Default::default()
            },
        };
        self.out.send(peer, answer);
    }

    fn partitions(&self, question: &CommandPartitionedTopicMetadata) -> Result<u32, Refusal> {
        let name = self.catalog.resolve(&question.topic)?;
        let may_appear = question.metadata_auto_creation_enabled() && self.catalog.may_create(&name);
        if !may_appear && !self.catalog.exists(&name) {
            return Err(Refusal::new(ServerError::TopicNotFound, ""));
        }
        Ok(self.catalog.partitions.get(&name.full).copied().unwrap_or(0))
    }

    fn look_up(&mut self, lookup: &CommandLookupTopic) -> Result<(), Refusal> {
        let name = self.catalog.resolve(&lookup.topic)?;
        // Whether there is one that is not persistent, Pulsar does not ask.
        if name.persistent && !self.catalog.exists(&name) && !self.catalog.may_create(&name) {
            let message = format!("Topic not found {}", name.full);
            return Err(Refusal::new(ServerError::TopicNotFound, message));
        }
        if !lookup.advertised_listener_name().is_empty() {
            let message = format!("No listener '{}' here", lookup.advertised_listener_name());
            return Err(Refusal::new(ServerError::ServiceNotReady, message));
        }
        self.catalog.look_up(&name);
        Ok(())
    }
}
