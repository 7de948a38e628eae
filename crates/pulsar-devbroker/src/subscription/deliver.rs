//! Carries out what [`dispatch`] decided.

use pulsar_wire::proto::{CommandMessage, CommandReachedEndOfTopic, SubType};

use super::{Pending, Subscription};
use crate::context::Context;
use crate::dispatch::{self, Plan, Scope};
use crate::log::{Entry, Log};
use crate::outbox::Outbox;
use crate::peer::Key;
use crate::room;

impl Subscription {
    /// Lets a consumer have so many messages more.
    pub(crate) fn flow(&mut self, key: Key, permits: u32) {
        let (rules, is_limited) = (self.rules, !self.is_single_active());
        if let Some(consumer) = self.consumer_mut(key) {
            consumer.permit(permits, &rules, is_limited);
        }
    }

    /// Sends what can be sent now; says how many messages that were.
    pub(crate) fn run(&mut self, log: &Log, context: &mut Context<'_>) -> u64 {
        self.stirred = false;
        self.take_over(context.now.at, context.out);
        while let Some(entry) = self.delayed.pop_due(context.now.unix_ms) {
            if !self.cursor.is_acked(entry) {
                self.replay.insert(entry);
            }
        }
        self.send(Scope::All, log, context)
    }

    /// Sends the newest entry, all others having been looked at.
    pub(crate) fn run_new(&mut self, log: &Log, context: &mut Context<'_>) -> u64 {
        self.send(Scope::New, log, context)
    }

    /// Passes on an entry that is not stored.
    pub(crate) fn pass_on(&mut self, entry: &Entry, log: &Log, context: &mut Context<'_>) -> u64 {
        let Some(index) = dispatch::taker(self, entry.key_hash) else {
            return 0;
        };
        self.turn = index + 1;
        let consumer = &mut self.consumers[index];
        consumer.permits -= i64::from(entry.messages);
        consumer.room.take(room::size(&entry.bytes));
        consumer.delivered.add(entry.messages, context.now.unix_ms);
        let command = CommandMessage {
            consumer_id: consumer.key.id,
            message_id: log.id(0),
            ..Default::default()
        };
        context
            .out
            .message(consumer.key.peer, command, entry.bytes.clone());
        context.counters.delivered_messages += u64::from(entry.messages);
        context.counters.delivered_entries += 1;
        self.messages_out += u64::from(entry.messages);
        u64::from(entry.messages)
    }

    /// Tells consumers of a terminated topic once that everything is acknowledged.
    pub(crate) fn tell_of_end(&mut self, log: &Log, out: &mut Outbox) {
        if self.cursor.backlog(log.end()) > 0 {
            return;
        }
        for consumer in self.consumers.iter_mut().filter(|consumer| !consumer.told_of_end) {
            consumer.told_of_end = true;
            let consumer_id = consumer.key.id;
            out.send(consumer.key.peer, CommandReachedEndOfTopic { consumer_id });
        }
    }

    fn send(&mut self, scope: Scope, log: &Log, context: &mut Context<'_>) -> u64 {
        let plan = dispatch::plan(self, scope, log, context.now.unix_ms);
        let messages = self.carry_out(plan, log, context);
        self.set_alarm(context);
        messages
    }

    fn set_alarm(&mut self, context: &mut Context<'_>) {
        let next = self.next_time(context.clock);
        if next != self.alarm {
            let sleeper = (self.topic.clone(), self.name.clone());
            context.alarms.set(self.alarm, next, sleeper);
            self.alarm = next;
        }
    }

    fn carry_out(&mut self, plan: Plan, log: &Log, context: &mut Context<'_>) -> u64 {
        self.read = plan.read;
        self.turn = plan.turn;
        context.counters.looked_at_entries += plan.looked_at;
        self.replay.extend(plan.hold);
        for (due_ms, entry) in plan.delay {
            self.delayed.add(due_ms, entry);
        }
        let mut messages = 0;
        for delivery in plan.deliveries {
            messages += self.deliver(delivery.consumer, delivery.entry, log, context);
        }
        messages
    }

    fn deliver(&mut self, index: usize, id: u64, log: &Log, context: &mut Context<'_>) -> u64 {
        let Some(entry) = log.get(id) else {
            return 0;
        };
        let messages = self.cursor.open_count(id, entry.messages);
        let slot = self.slot(entry.key_hash);
        let count = self.counts.get(&id).copied();
        let is_single_active = self.is_single_active();
        if !is_single_active {
            self.replay.remove(&id);
        }
        if self.kind == Some(SubType::KeyShared) {
            self.holders.add(slot, self.consumers[index].key);
        }
        self.hold(index, id, Pending { messages, slot });

        let consumer = &mut self.consumers[index];
        consumer.permits -= i64::from(messages);
        consumer.room.take(room::size(&entry.bytes));
        consumer.delivered.add(messages, context.now.unix_ms);
        let open = self.cursor.open_members(id);
        let command = CommandMessage {
            consumer_id: consumer.key.id,
            message_id: log.id(id),
            redelivery_count: count,
            ack_set: open.map_or_else(Vec::new, |open| open.words().to_vec()),
            consumer_epoch: consumer.epoch.filter(|_| is_single_active),
        };
        context
            .out
            .message(consumer.key.peer, command, entry.bytes.clone());
        context.counters.delivered_messages += u64::from(messages);
        context.counters.delivered_entries += 1;
        context.counters.redelivered_entries += u64::from(count.is_some());
        self.messages_out += u64::from(messages);
        self.redelivered += u64::from(messages) * u64::from(count.is_some());
        u64::from(messages)
    }
}
