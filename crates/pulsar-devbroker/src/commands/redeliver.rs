//! REDELIVER_UNACKNOWLEDGED_MESSAGES: single entries only come back on Shared and Key_Shared;
//! Exclusive and Failover know only all.

use pulsar_wire::proto::CommandRedeliverUnacknowledgedMessages;

use crate::broker::Broker;
use crate::peer::{Key, PeerId};

impl Broker {
    pub(super) fn on_redeliver(&mut self, peer: PeerId, command: &CommandRedeliverUnacknowledgedMessages) {
        let key = Key {
            peer,
            id: command.consumer_id,
        };
        let now_ms = self.now.unix_ms;
        let Some((subscription, log)) = self.subscription_of(key) else {
            return;
        };
        if command.message_ids.is_empty() || subscription.is_single_active() {
            subscription.redeliver_all(key, command.consumer_epoch, now_ms);
        } else {
            let ids = command.message_ids.iter();
            let entries: Vec<u64> = ids.filter_map(|id| log.entry_of(id)).collect();
            subscription.redeliver(key, &entries, now_ms);
        }
        self.run_for(key);
    }
}
