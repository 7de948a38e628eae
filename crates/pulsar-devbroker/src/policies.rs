//! What an administrator sets for a namespace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pulsar_wire::Command;

use crate::broker::Broker;
use crate::peer::PeerId;

/// How much may be published at once after a pause.
const BURST: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default)]
pub(crate) struct Policies {
    /// Otherwise the broker's setting holds.
    pub(crate) deduplication: Option<bool>,
    /// Whether clients cannot make a topic by using it.
    pub(crate) closed: bool,
    pub(crate) publishing: Option<PublishLimit>,
    /// Whether entries stay that every subscription has acknowledged.
    pub(crate) keeps_acknowledged: bool,
    /// Whether producers need a schema where the topic has one.
    pub(crate) enforces_schema: bool,
    /// How many messages a consumer may hold without acknowledging them.
    pub(crate) max_unacked: Option<u64>,
    /// How long after its publication a message may be due, in milliseconds.
    pub(crate) max_delay_ms: Option<u64>,
}

/// So many messages a second on each topic.
#[derive(Clone, Debug)]
pub(crate) struct PublishLimit {
    per_second: u32,
    /// When each topic will have caught up with what was published.
    even_at: BTreeMap<Arc<str>, Instant>,
}

impl PublishLimit {
    pub(crate) fn new(per_second: u32) -> Self {
        Self {
            per_second,
            even_at: BTreeMap::new(),
        }
    }

    /// Counts the messages, or says until when they have to wait.
    fn admit(&mut self, topic: &Arc<str>, messages: u32, now: Instant) -> Option<Instant> {
        let even = self.even_at.get(topic).copied().unwrap_or(now).max(now);
        let earliest = even.checked_sub(BURST).unwrap_or(now);
        if earliest > now {
            return Some(earliest);
        }
        let takes = Duration::from_secs(messages.into()) / self.per_second.max(1);
        self.even_at.insert(topic.clone(), even + takes);
        None
    }
}

impl Broker {
    /// Until when a frame is to wait because its namespace's limit is reached. It is counted when
    /// it need not wait.
    pub(crate) fn must_wait_until(
        &mut self,
        now: Instant,
        peer: PeerId,
        command: &Command,
    ) -> Option<Instant> {
        let Command::Send(send) = command else {
            return None;
        };
        if self.catalog.policies.is_empty() {
            return None;
        }
        let publishing = self.peers.get(&peer)?.producers.get(&send.producer_id)?;
        let namespace = &self.catalog.topics.get(&publishing.topic)?.name.namespace;
        let policies = self.catalog.policies.get_mut(namespace)?;
        let messages = u32::try_from(send.num_messages()).unwrap_or(1);
        policies
            .publishing
            .as_mut()?
            .admit(&publishing.topic, messages, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_burst_the_rate_holds() {
        let start = Instant::now();
        let topic = Arc::from("orders");
        let mut limit = PublishLimit::new(20);
        let free = (0..100)
            .take_while(|_| limit.admit(&topic, 1, start).is_none())
            .count();
        assert_eq!(free, 21);
        let next = limit.admit(&topic, 1, start).unwrap();
        assert_eq!(next - start, Duration::from_millis(50));
        assert_eq!(limit.admit(&topic, 1, next), None);
    }
}
