//! The end of the broker and its return: what it keeps, and what a crash makes it forget.

use std::sync::Arc;
use std::time::Instant;

use crate::broker::Broker;

impl Broker {
    /// An orderly stop: all connections are gone, all acknowledgements are stored, and topics have
    /// to be looked up again.
    pub fn stop(&mut self, now: Instant) {
        self.lose_all(now);
        for topic in self.all_topics() {
            self.unload(now, &topic);
        }
    }

    /// A crash: all connections are gone, acknowledgements that were not stored are forgotten, and
    /// topics have to be looked up again.
    pub fn crash(&mut self, now: Instant) {
        self.lose_all(now);
        for topic in self.all_topics() {
            self.forget_recent_acks(now, &topic);
            self.unload(now, &topic);
        }
    }

    fn lose_all(&mut self, now: Instant) {
        for peer in self.peers.keys().copied().collect::<Vec<_>>() {
            self.disconnect(now, peer);
        }
    }

    fn all_topics(&self) -> Vec<Arc<str>> {
        self.catalog.topics.keys().cloned().collect()
    }
}
