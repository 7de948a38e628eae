//! GET_LAST_MESSAGE_ID: the last entry of the topic and where the subscription's cursor stands.

use pulsar_wire::ServerError;
use pulsar_wire::proto::{CommandGetLastMessageId, CommandGetLastMessageIdResponse, MessageIdData};

use crate::broker::Broker;
use crate::peer::{Key, PeerId};
use crate::refusal::Refusal;

/// Stands for -1: before everything.
const BEFORE: u64 = u64::MAX;

impl Broker {
    pub(super) fn on_last_message_id(&mut self, peer: PeerId, question: &CommandGetLastMessageId) {
        let key = Key {
            peer,
            id: question.consumer_id,
        };
        let Some((subscription, log)) = self.subscription_of(key) else {
            let refusal = Refusal::consumer_not_found();
            self.out.refuse(peer, question.request_id, refusal);
            return;
        };
        if !subscription.persistent {
            let message = "A topic that is not persistent has no last message";
            let refusal = Refusal::new(ServerError::UnknownError, message);
            self.out.refuse(peer, question.request_id, refusal);
            return;
        }
        let last_message_id = match log.last() {
            Some(entry) => MessageIdData {
                batch_index: Some(entry.last_index()),
                ..log.id(log.end() - 1)
            },
            None => MessageIdData {
                ledger_id: BEFORE,
                entry_id: BEFORE,
                batch_index: Some(-1),
                ..log.id(0)
            },
        };
        let mark_delete = MessageIdData {
            ledger_id: log.ledger,
            entry_id: subscription.cursor.floor().wrapping_sub(1),
            ..Default::default()
        };
        let answer = CommandGetLastMessageIdResponse {
            last_message_id,
            request_id: question.request_id,
            consumer_mark_delete_position: Some(mark_delete),
        };
        self.out.send(peer, answer);
    }
}
