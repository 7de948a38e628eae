//! How an endpoint drives the machine of a consumer.

use std::time::Instant;

use bytes::Bytes;
use pulsar_wire::proto::CommandCloseConsumer;
use pulsar_wire::{Command, MessageFrame};

use super::parts::Receiving;
use crate::endpoint::{After, Machine};
use crate::error::Error;
use crate::link::{Kind, Link};
use crate::lookup::{Target, refusal};
use crate::pool::Role;
use crate::session::attach::Attach;

impl Machine for Receiving {
    const ROLE: Role = Role::Consume;
    const KIND: Kind = Kind::Consumer;

    fn attach(&mut self) -> &mut Attach {
        &mut self.attach
    }

    fn id(&self) -> u64 {
        Self::id(self)
    }

    fn open(&mut self, fresh: u64, request_id: u64, link: &Link) {
        Self::open(self, fresh, request_id, link.ids(), link.max_message_size());
    }

    fn answer(&mut self, now: Instant, chance: f64, command: Command) -> After {
        match command {
            Command::Success(success) => self.opened(now, success.request_id),
            Command::ConsumerStatsResponse(response) => {
                if self.account(now, chance, &response) {
                    return After::Leave;
                }
            }
            other => {
                let request_id = other.request_id().unwrap_or_default();
                self.refused(
                    request_id,
                    now,
                    chance,
                    refusal(&other, "SUBSCRIBE", format_args!("subscribe to {}", self.topic())),
                );
            }
        }
        After::Nothing
    }

    fn command(&mut self, now: Instant, _: f64, command: Command, message: Option<MessageFrame>) -> After {
        match (command, message) {
            (Command::Message(delivery), Some(frame)) => {
                let is_new = self.message(now, delivery, frame);
                return if is_new { After::Ready } else { After::Nothing };
            }
            (Command::AckResponse(response), _) => self.ack_response(now, &response),
            (Command::ActiveConsumerChange(change), _) => {
                self.active_change(change.is_active.unwrap_or_default())
            }
            (Command::CloseConsumer(close), _) => {
                return After::Closed(close.assigned_broker_service_url);
            }
            _ => {}
        }
        After::Nothing
    }

    fn session_over(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error) {
        Self::session_over(self, now, chance, target, error);
    }

    fn on_time(&mut self, now: Instant) {
        Self::on_time(self, now);
    }

    fn inquire(&mut self, now: Instant, request_id: impl FnOnce() -> Option<u64>) {
        Self::inquire(self, now, request_id);
    }

    fn next_time(&self) -> Option<Instant> {
        Self::next_time(self)
    }

    fn close(&mut self) {
        Self::close(self);
    }

    fn is_drained(&self) -> bool {
        Self::is_drained(self)
    }

    fn close_command(&mut self, request_id: u64) {
        Self::close_command(self, request_id);
    }

    fn closing(id: u64, request_id: u64) -> Command {
        Command::CloseConsumer(CommandCloseConsumer {
            consumer_id: id,
            request_id,
            ..CommandCloseConsumer::default()
        })
    }

    fn end(&mut self) {
        Self::end(self);
    }

    fn frames(&mut self) -> &mut Vec<Bytes> {
        &mut self.out
    }

    fn tell(&mut self) {
        for (waiter, result) in self.done.drain(..) {
            // Whoever dropped the future does not want to know.
            let _ = waiter.send(result);
        }
    }
}
