//! How an endpoint drives the machine of a producer.

use std::time::Instant;

use bytes::Bytes;
use pulsar_wire::proto::CommandCloseProducer;
use pulsar_wire::{Command, MessageFrame};

use super::Sending;
use crate::endpoint::{After, Machine};
use crate::error::Error;
use crate::link::{Kind, Link};
use crate::lookup::{Target, refusal};
use crate::pool::Role;
use crate::session::attach::Attach;
use crate::session::producer as session;

impl Machine for Sending {
    const ROLE: Role = Role::Publish;
    const KIND: Kind = Kind::Producer;

    fn attach(&mut self) -> &mut Attach {
        &mut self.attach
    }

    fn id(&self) -> u64 {
        Self::id(self)
    }

    fn open(&mut self, _fresh: u64, request_id: u64, link: &Link) {
        Self::open(self, request_id, link.max_message_size());
    }

    fn answer(&mut self, now: Instant, chance: f64, command: Command) -> After {
        match command {
            Command::ProducerSuccess(success) => self.opened(success.request_id, &success),
            other => {
                let request_id = other.request_id().unwrap_or_default();
                self.refused(
                    request_id,
                    now,
                    chance,
                    &refusal(
                        &other,
                        "PRODUCER",
                        format_args!("open a producer on {}", self.topic()),
                    ),
                );
            }
        }
        After::Nothing
    }

    fn command(&mut self, now: Instant, chance: f64, command: Command, _: Option<MessageFrame>) -> After {
        let after = match &command {
            Command::SendReceipt(receipt) => self.receipt(now, chance, receipt),
            Command::SendError(error) => self.send_error(now, chance, error),
            Command::CloseProducer(close) => {
                return After::Closed(close.assigned_broker_service_url.clone());
            }
            _ => session::After::Fine,
        };
        match after {
            session::After::Fine => After::Nothing,
            session::After::Reopen => After::Leave,
        }
    }

    fn session_over(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error) {
        Self::session_over(self, now, chance, target, &error);
    }

    fn on_time(&mut self, now: Instant) {
        Self::on_time(self, now);
    }

    fn inquire(&mut self, _: Instant, _: impl FnOnce() -> Option<u64>) {}

    fn next_time(&self) -> Option<Instant> {
        Self::next_time(self)
    }

    fn close(&mut self) {
        Self::close(self);
    }

    fn is_drained(&self) -> bool {
        self.pending() == 0
    }

    fn close_command(&mut self, request_id: u64) {
        Self::close_command(self, request_id);
    }

    fn closing(id: u64, request_id: u64) -> Command {
        Command::CloseProducer(CommandCloseProducer {
            producer_id: id,
            request_id,
            ..CommandCloseProducer::default()
        })
    }

    fn end(&mut self) {
        Self::end(self);
    }

    fn frames(&mut self) -> &mut Vec<Bytes> {
        &mut self.out
    }

    fn tell(&mut self) {
        for (mut waiting, result) in self.done.drain(..) {
            if let Some(receipt) = waiting.receipt.take() {
                // Whoever dropped the receipt does not want to know.
                let _ = receipt.send(result);
            }
        }
    }
}
