//! CLOSE_PRODUCER and CLOSE_CONSUMER: always a success, also for what is not there.

use pulsar_wire::proto::{CommandCloseConsumer, CommandCloseProducer};

use crate::broker::Broker;
use crate::peer::{Key, PeerId};

impl Broker {
    pub(super) fn on_close_producer(&mut self, peer: PeerId, close: &CommandCloseProducer) {
        let id = close.producer_id;
        let known = self
            .peers
            .get_mut(&peer)
            .and_then(|peer| peer.producers.remove(&id));
        self.out.success(peer, close.request_id);
        if let Some(publishing) = known {
            self.drop_producer(Key { peer, id }, &publishing);
        }
    }

    pub(super) fn on_close_consumer(&mut self, peer: PeerId, close: &CommandCloseConsumer) {
        let id = close.consumer_id;
        let known = self
            .peers
            .get_mut(&peer)
            .and_then(|peer| peer.consumers.remove(&id));
        self.out.success(peer, close.request_id);
        if let Some(consuming) = known {
            self.drop_consumer(Key { peer, id }, &consuming);
        }
    }
}
