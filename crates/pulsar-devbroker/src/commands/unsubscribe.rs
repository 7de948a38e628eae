//! UNSUBSCRIBE: deletes the subscription of its only consumer, or by force.

use pulsar_wire::ServerError;
use pulsar_wire::proto::CommandUnsubscribe;

use crate::broker::Broker;
use crate::peer::{Consuming, Key, PeerId};
use crate::refusal::Refusal;

impl Broker {
    pub(super) fn on_unsubscribe(&mut self, peer: PeerId, command: &CommandUnsubscribe) {
        let key = Key {
            peer,
            id: command.consumer_id,
        };
        match self.unsubscribe(key, command.force()) {
            Ok(()) => self.out.success(peer, command.request_id),
            Err(refusal) => self.out.refuse(peer, command.request_id, refusal),
        }
    }

    fn unsubscribe(&mut self, key: Key, force: bool) -> Result<(), Refusal> {
        let Some(Consuming { topic, subscription }) = self.consuming(key).cloned() else {
            return Err(Refusal::consumer_not_found());
        };
        let Some((attached, _)) = self.subscription_of(key) else {
            return Err(Refusal::consumer_not_found());
        };
        if attached.consumers.len() > 1 && !force {
            let message = "Unconnected or shared consumer attempting to unsubscribe";
            return Err(Refusal::new(ServerError::MetadataError, message));
        }
        let mut others = attached.leave_all();
        others.retain(|other| *other != key);
        if let Some(topic) = self.catalog.topics.get_mut(&topic) {
            topic.subscriptions.remove(&subscription);
        }
        if let Some(peer) = self.peers.get_mut(&key.peer) {
            peer.consumers.remove(&key.id);
        }
        self.close_consumers(others);
        Ok(())
    }
}
