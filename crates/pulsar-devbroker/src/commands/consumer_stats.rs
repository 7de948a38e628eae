//! CONSUMER_STATS: rates, permits, unacknowledged messages and backlog.

use pulsar_wire::ServerError;
use pulsar_wire::proto::{CommandConsumerStats, CommandConsumerStatsResponse};

use crate::broker::Broker;
use crate::peer::{Key, PeerId};
use crate::stats::kind_name;

impl Broker {
    pub(super) fn on_consumer_stats(&mut self, peer: PeerId, question: &CommandConsumerStats) {
        let key = Key {
            peer,
            id: question.consumer_id,
        };
        let request_id = question.request_id;
        let answer = self
            .consumer_stats(key, request_id)
            .unwrap_or_else(|| CommandConsumerStatsResponse {
                request_id,
                error_code: Some(ServerError::ConsumerNotFound.code()),
                error_message: Some(format!("Consumer {} not found", key.id)),
                ..Default::default()
            });
        self.out.send(peer, answer);
    }

    fn consumer_stats(&mut self, key: Key, request_id: u64) -> Option<CommandConsumerStatsResponse> {
        let now_ms = self.now.unix_ms;
        let address = self.peers.get(&key.peer)?.address.clone();
        let (subscription, log) = self.subscription_of(key)?;
        let consumer = subscription.consumer(key)?;
        let is_counted = !subscription.is_single_active();
        Some(CommandConsumerStatsResponse {
            request_id,
            msg_rate_out: Some(consumer.delivered.rate(now_ms)),
            msg_rate_redeliver: Some(consumer.redelivered.rate(now_ms)),
            message_ack_rate: Some(consumer.acked.rate(now_ms)),
            consumer_name: Some(consumer.name.clone()),
            available_permits: Some(consumer.permits as u64),
            unacked_messages: Some(if is_counted {
                consumer.pending.messages()
            } else {
                0
            }),
            blocked_consumer_on_unacked_msgs: Some(consumer.blocked),
            address: Some(address),
            r#type: Some(kind_name(subscription.kind).to_owned()),
            msg_rate_expired: Some(0.0),
            msg_backlog: Some(subscription.cursor.backlog(log.end())),
            ..Default::default()
        })
    }
}
