//! The broker's account of a consumer beside our own.

use std::sync::Arc;

use pulsar_wire::proto::CommandConsumerStats;
use pulsar_wire::{Command, ServerError};

use super::parts::Part;
use crate::error::Error;
use crate::lookup::unexpected;
use crate::session::consumer::permits;

/// What the broker says of a consumer on one partition, and what we say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokerStats {
    /// The topic: the partition, where there are partitions.
    pub topic: Arc<str>,
    /// How many messages the broker may still send by its account; below 0 after a batch that was
    /// larger than what was left.
    pub permits: i64,
    /// The same by ours.
    pub our_permits: i64,
    /// How many messages it delivered that are not acknowledged; counted on `Shared` and
    /// `Key_Shared` only.
    pub unacked: u64,
    /// True while it delivers nothing for too much being unacknowledged; permits are then kept
    /// apart and not in [`permits`](Self::permits).
    pub blocked: bool,
    /// How many entries of the subscription are not acknowledged.
    pub backlog: u64,
}

impl Part {
    pub(super) async fn broker_stats(&self) -> Result<BrokerStats, Error> {
        let build = |consumer_id, request_id| {
            Command::ConsumerStats(CommandConsumerStats {
                request_id,
                consumer_id,
            })
        };
        let response = match self.endpoint.ask(build).await? {
            Command::ConsumerStatsResponse(response) => response,
            other => return Err(unexpected(&other, "CONSUMER_STATS")),
        };
        if let Some(code) = response.error_code {
            let text = response.error_message.as_deref().unwrap_or_default();
            let code = ServerError::from_i32(code);
            return Err(Error::refused(
                code,
                text,
                format_args!("give its account of {}", self.topic),
            ));
        }
        let our_permits = self.endpoint.with(|machine, _| machine.snapshot().permits);
        Ok(BrokerStats {
            topic: self.topic.clone(),
            permits: permits(&response),
            our_permits,
            unacked: response.unacked_messages.unwrap_or_default(),
            blocked: response.blocked_consumer_on_unacked_msgs.unwrap_or_default(),
            backlog: response.msg_backlog.unwrap_or_default(),
        })
    }
}
