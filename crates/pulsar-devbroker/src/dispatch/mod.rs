//! Which entries go to which consumers now: pure functions on the state of a subscription.

mod key_shared;
mod shared;
mod single;

use pulsar_wire::proto::SubType;

use crate::log::Log;
use crate::room;
use crate::subscription::{Consumer, Subscription};

/// What is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// In this order.
    pub(crate) deliveries: Vec<Delivery>,
    /// Entries looked at that wait for a time, in milliseconds since 1970.
    pub(crate) delay: Vec<(u64, u64)>,
    /// Entries looked at that wait for a consumer.
    pub(crate) hold: Vec<u64>,
    /// The next entry to look at for the first time.
    pub(crate) read: u64,
    /// The consumer to begin with next time.
    pub(crate) turn: usize,
    /// How many entries were looked at.
    pub(crate) looked_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Its place among the subscription's consumers.
    pub(crate) consumer: usize,
    pub(crate) entry: u64,
}

/// Which entries are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that wait.
    All,
    /// Only those never looked at: what waits still waits for the same.
    New,
}

/// Decides until there is no entry or no permit left.
pub(crate) fn plan(subscription: &Subscription, scope: Scope, log: &Log, now_ms: u64) -> Plan {
    let mut plan = Plan {
        read: subscription.read.max(log.first()),
        turn: subscription.turn,
        ..Plan::default()
    };
    match subscription.kind {
        Some(SubType::Exclusive | SubType::Failover) => single::plan(subscription, log, &mut plan),
        Some(SubType::Shared) => shared::plan(subscription, log, now_ms, &mut plan),
        Some(SubType::KeyShared) => key_shared::plan(subscription, scope, log, now_ms, &mut plan),
        None => {}
    }
    plan
}

/// Who gets an entry that is not stored: a consumer that is ready for it now.
pub(crate) fn taker(subscription: &Subscription, key_hash: u32) -> Option<usize> {
    let permits = Permits::of(subscription);
    let taker = match subscription.kind? {
        SubType::Exclusive | SubType::Failover => subscription.index_of(subscription.active?),
        SubType::Shared => shared::next_consumer(subscription, &permits, subscription.turn),
        SubType::KeyShared => subscription.owner(subscription.slot(key_hash)),
    };
    taker.filter(|consumer| permits.has(*consumer))
}

/// What may still go out while planning.
struct Permits {
    /// To each consumer: messages, and bytes on its connection.
    of_each: Vec<(i64, i64)>,
    /// How many messages all together may get.
    of_all: i64,
}

impl Permits {
    fn of(subscription: &Subscription) -> Self {
        let is_limited = !subscription.is_single_active();
        let left = |consumer: &Consumer| {
            let messages = consumer.sendable(&subscription.rules, is_limited);
            (messages, consumer.room.left())
        };
        Self {
            of_each: subscription.consumers.iter().map(left).collect(),
            of_all: subscription.sendable(),
        }
    }

    fn has(&self, consumer: usize) -> bool {
        let (messages, bytes) = self.of_each[consumer];
        messages > 0 && bytes > 0 && self.of_all > 0
    }

    fn any(&self) -> bool {
        (0..self.of_each.len()).any(|consumer| self.has(consumer))
    }

    fn spend(&mut self, consumer: usize, cost: Cost) {
        let (messages, bytes) = &mut self.of_each[consumer];
        *messages -= cost.messages;
        *bytes = bytes.saturating_sub(cost.bytes);
        self.of_all -= cost.messages;
    }
}

/// What an entry costs the consumer that gets it.
#[derive(Clone, Copy, Debug)]
struct Cost {
    messages: i64,
    bytes: i64,
}

fn cost(subscription: &Subscription, log: &Log, entry: u64) -> Cost {
    let (messages, bytes) = log
        .get(entry)
        .map_or((0, 0), |entry| (entry.messages, room::size(&entry.bytes)));
    Cost {
        messages: subscription.cursor.open_count(entry, messages).into(),
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
    }
}

/// When an entry is due, if it has to wait. Exclusive and Failover do not ask.
fn must_wait_until(subscription: &Subscription, log: &Log, entry: u64, now_ms: u64) -> Option<u64> {
    let due_ms = log.get(entry)?.deliver_at?;
    let punctuality = subscription.rules.punctuality;
    punctuality.must_wait(due_ms, now_ms).then_some(due_ms)
}
