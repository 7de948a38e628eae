//! Asking the broker for its account of the consumer, and starting anew when it is wrong.

use std::time::Instant;

use pulsar_wire::Command;
use pulsar_wire::proto::{CommandConsumerStats, CommandConsumerStatsResponse};

use super::Consumer;
use crate::error::{Error, ErrorKind};
use crate::session::stall::Account;

impl<A> Consumer<A> {
    /// Asks for the broker's account if that is due.
    pub(crate) fn inquire(&mut self, now: Instant, request_id: impl FnOnce() -> Option<u64>) {
        // Brokers end the connection over a question about a consumer that they do not know.
        if !self.attach.is_open() || !self.stall.is_due(now, self.is_waiting()) {
            return;
        }
        let Some(request_id) = request_id() else { return };
        self.stall.asked(request_id);
        self.transmit(&Command::ConsumerStats(CommandConsumerStats {
            request_id,
            consumer_id: self.id,
        }));
    }

    /// The broker's account. True if the session has to be left, since it stood still.
    pub(crate) fn account(
        &mut self,
        now: Instant,
        chance: f64,
        response: &CommandConsumerStatsResponse,
    ) -> bool {
        let account = response.error_code.is_none().then(|| Account {
            permits: permits(response),
            is_blocked: response.blocked_consumer_on_unacked_msgs.unwrap_or_default(),
        });
        let is_stall = self
            .stall
            .answered(response.request_id, account, self.is_waiting());
        if !is_stall {
            return false;
        }
        self.stalls_cured += 1;
        let (ours, brokers) = (self.permits.outstanding(), permits(response));
        tracing::warn!(
            topic = self.setup.topic,
            subscription = self.setup.subscription,
            permits = ours,
            broker_permits = brokers,
            "deliveries stood still since the broker has fewer permits than were granted; starting a new session"
        );
        let text = format!(
            "deliveries on {} stood still: {ours} permits granted, {brokers} with the broker",
            self.setup.topic
        );
        self.session_over(now, chance, None, Error::new(ErrorKind::SessionLost, text));
        true
    }

    /// By our account the broker could send, and nothing keeps us from noticing.
    fn is_waiting(&self) -> bool {
        self.active
            && !self.closing
            && self.queue.is_empty()
            && self.permits.held() == 0
            && self.permits.outstanding() > 0
    }
}

/// Brokers count in signed numbers and report unsigned ones.
pub(crate) fn permits(response: &CommandConsumerStatsResponse) -> i64 {
    response.available_permits.unwrap_or_default().cast_signed()
}
