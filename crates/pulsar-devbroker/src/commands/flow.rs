//! FLOW: lets a consumer have more messages. None, or fewer, is nonsense and ends the connection; an unknown
//! consumer is ignored.

use pulsar_wire::proto::CommandFlow;

use crate::broker::Broker;
use crate::peer::{Key, PeerId};

impl Broker {
    pub(super) fn on_flow(&mut self, peer: PeerId, flow: CommandFlow) {
        let key = Key {
            peer,
            id: flow.consumer_id,
        };
        let Some((subscription, _)) = self.subscription_of(key) else {
            return;
        };
        // A signed number to Pulsar.
        if flow.message_permits.cast_signed() <= 0 {
            self.close(peer, "FLOW of no messages");
            return;
        }
        subscription.flow(key, flow.message_permits);
        self.run_for(key);
    }
}
