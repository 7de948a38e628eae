//! SEEK: moves the cursor to a message, itself included, or to a time. The consumers are closed
//! and come back by themselves. Where nothing is stored it does nothing, with success.

use pulsar_wire::ServerError;
use pulsar_wire::proto::CommandSeek;

use crate::broker::Broker;
use crate::peer::{Consuming, Key, PeerId};
use crate::refusal::Refusal;

impl Broker {
    pub(super) fn on_seek(&mut self, peer: PeerId, seek: &CommandSeek) {
        let key = Key {
            peer,
            id: seek.consumer_id,
        };
        match self.seek(key, seek) {
            Ok(()) => self.out.success(peer, seek.request_id),
            Err(refusal) => self.out.refuse(peer, seek.request_id, refusal),
        }
    }

    fn seek(&mut self, key: Key, seek: &CommandSeek) -> Result<(), Refusal> {
        if seek.message_id.is_none() && seek.message_publish_time.is_none() {
            let message = "Message id and message publish time were not present";
            return Err(Refusal::new(ServerError::MetadataError, message));
        }
        let Some(Consuming { topic, subscription }) = self.consuming(key).cloned() else {
            return Err(Refusal::consumer_not_found());
        };
        let Some((attached, log)) = self.subscription_of(key) else {
            return Err(Refusal::consumer_not_found());
        };
        if !attached.persistent {
            return Ok(());
        }
        let entry = match (&seek.message_id, seek.message_publish_time) {
            (Some(id), _) => log.start_of(id),
            (None, time) => log.published_from(time.unwrap_or(0)),
        };
        self.seek_to(&topic, &subscription, entry);
        Ok(())
    }
}
