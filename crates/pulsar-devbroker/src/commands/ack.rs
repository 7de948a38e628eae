//! ACK: one entry, some, all up to one, or members of a batch where that is switched on. An
//! answer only comes where one was asked for, and none for an unknown consumer.

use pulsar_wire::proto::{AckType, CommandAck, CommandAckResponse};
use pulsar_wire::{AckSet, ServerError};

use crate::broker::Broker;
use crate::peer::{Consuming, Key, PeerId};

impl Broker {
    pub(super) fn on_ack(&mut self, peer: PeerId, ack: CommandAck) {
        let key = Key {
            peer,
            id: ack.consumer_id,
        };
        if AckType::try_from(ack.ack_type).is_err() {
            self.close(peer, "ACK of an unknown type");
            return;
        }
        let mut answer = CommandAckResponse {
            consumer_id: ack.consumer_id,
            request_id: ack.request_id,
            ..Default::default()
        };
        if ack.txnid_least_bits.is_some() || ack.txnid_most_bits.is_some() {
            answer.txnid_least_bits = ack.txnid_least_bits;
            answer.txnid_most_bits = ack.txnid_most_bits;
            answer.error = Some(ServerError::NotAllowedError.code());
            answer.message = Some("Transactions are not enabled.".to_owned());
            if self.consuming(key).is_none() {
                return;
            }
        } else if !self.acknowledge(key, ack) {
            return;
        }
        if answer.request_id.is_some() {
            self.out.send(peer, answer);
        }
        self.after_acks(key);
    }

    /// Acknowledgements rarely let anything go out: only where somebody waited for them.
    fn after_acks(&mut self, key: Key) {
        let Some(Consuming { topic, subscription }) = self.consuming(key).cloned() else {
            return;
        };
        let (catalog, mut context) = self.split();
        let Some(topic) = catalog.topics.get_mut(&topic) else {
            return;
        };
        let attached = topic.subscriptions.get(&subscription);
        if attached.is_some_and(|attached| attached.is_stirred()) {
            topic.run(&subscription, &mut context);
        } else {
            topic.after_acks(&subscription, &mut context);
        }
    }

    /// Says whether there is such a consumer.
    fn acknowledge(&mut self, key: Key, ack: CommandAck) -> bool {
        let kind = ack.ack_type();
        let now_ms = self.now.unix_ms;
        let Some((subscription, log)) = self.subscription_of(key) else {
            return false;
        };
        if kind == AckType::Cumulative && ack.message_id.len() != 1 {
            return true;
        }
        let mut finished = 0;
        for id in ack.message_id {
            let Some(entry) = log.entry_of(&id) else {
                continue;
            };
            let open = (!id.ack_set.is_empty()).then(|| AckSet::from_words(id.ack_set));
            finished += match kind {
                AckType::Individual => subscription.ack(entry, open, log),
                AckType::Cumulative => subscription.ack_cumulative(entry, open, log),
            };
        }
        subscription.count_acks(key, finished, now_ms);
        self.counters.acknowledged_entries += finished;
        true
    }
}
