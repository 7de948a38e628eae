//! Limits of what consumers may hold without acknowledging it. Shared and Key_Shared only: who
//! reaches one gets nothing more, and its permits wait, until half of it is acknowledged.

use super::{Consumer, Pending, Rules, Subscription};

impl Consumer {
    /// How many messages may go out now.
    pub(crate) fn sendable(&self, rules: &Rules, is_limited: bool) -> i64 {
        if !is_limited {
            return self.permits;
        }
        if self.blocked {
            return 0;
        }
        let room = rules
            .max_unacked_per_consumer
            .saturating_sub(self.pending.messages());
        self.permits.min(i64::try_from(room).unwrap_or(i64::MAX))
    }

    /// Takes permits, now or when it may have messages again.
    pub(crate) fn permit(&mut self, permits: u32, rules: &Rules, is_limited: bool) {
        let permits = i64::from(permits);
        self.blocked |= is_limited && self.pending.messages() >= rules.max_unacked_per_consumer;
        if self.blocked {
            self.permits_later = self.permits_later.saturating_add(permits);
        } else {
            self.permits = self.permits.saturating_add(permits);
        }
    }

    fn unblock(&mut self) {
        self.blocked = false;
        self.permits = self.permits.saturating_add(self.permits_later);
        self.permits_later = 0;
    }
}

impl Subscription {
    /// How many messages may go out now, whoever gets them.
    pub(crate) fn sendable(&self) -> i64 {
        if self.is_single_active() {
            return i64::MAX;
        }
        if self.blocked {
            return 0;
        }
        let room = self
            .rules
            .max_unacked_per_subscription
            .saturating_sub(self.unacked);
        i64::try_from(room).unwrap_or(i64::MAX)
    }

    /// A consumer got an entry.
    pub(super) fn hold(&mut self, index: usize, entry: u64, pending: Pending) {
        let is_limited = !self.is_single_active();
        let consumer = &mut self.consumers[index];
        consumer.pending.insert(entry, pending);
        if is_limited {
            consumer.blocked |= consumer.pending.messages() >= self.rules.max_unacked_per_consumer;
            self.unacked += u64::from(pending.messages);
            self.blocked |= self.unacked >= self.rules.max_unacked_per_subscription;
        }
    }

    /// A consumer has `messages` less to acknowledge.
    pub(super) fn relieve(&mut self, index: usize, messages: u32) {
        if self.is_single_active() {
            return;
        }
        self.unacked = self.unacked.saturating_sub(u64::from(messages));
        if self.blocked && self.unacked < self.rules.max_unacked_per_subscription / 2 {
            self.blocked = false;
            self.stirred = true;
        }
        let consumer = &mut self.consumers[index];
        if consumer.blocked && consumer.pending.messages() <= self.rules.max_unacked_per_consumer / 2 {
            consumer.unblock();
            self.stirred = true;
        }
    }

    /// A consumer sent messages back, which lets it have others at once.
    pub(super) fn unblock(&mut self, index: usize) {
        if self.consumers[index].blocked {
            self.consumers[index].unblock();
        }
    }
}
