//! Frames between the clients and the broker.

use bytes::Bytes;
use pulsar_devbroker::{Output, PeerId};
use pulsar_wire::Command;
use rand::Rng;

use super::endpoint::Machine;
use super::link::Down;
use super::world::{Check, URL, World};
use crate::session::connection::Incoming;

impl World {
    /// Delivers a frame of any way that has one. Says whether there was one.
    pub(super) fn deliver_any(&mut self) -> Result<bool, String> {
        let mut ways = Vec::new();
        for (number, link) in &self.links {
            if link.to_broker.is_ready(self.now) {
                ways.push((*number, true));
            }
            if link.to_client.is_ready(self.now) {
                ways.push((*number, false));
            }
        }
        if ways.is_empty() {
            return Ok(false);
        }
        let (number, is_up) = ways[self.rng.random_range(0..ways.len())];
        if is_up {
            self.deliver_to_broker(number)?;
        } else {
            self.deliver_to_client(number)?;
        }
        let links = &mut self.links;
        if links[&number].to_broker.over && links[&number].to_client.over {
            links.remove(&number);
        }
        self.check_permits(number)?;
        Ok(true)
    }

    fn deliver_to_broker(&mut self, number: u64) -> Check {
        let Some(link) = self.links.get_mut(&number) else {
            return Ok(());
        };
        let peer = link.peer;
        let Some(frame) = link.to_broker.queue.pop_front() else {
            link.to_broker.abandon();
            link.to_client.ends = true;
            self.note(|| format!("link {number}: the broker sees the end"));
            self.broker.disconnect(self.now, peer);
            return self.pump();
        };
        if let Command::Ack(ack) = &frame.command
            && let Some(request) = ack.request_id
        {
            let entries = ack.message_id.iter().map(|id| id.entry_id).collect();
            self.truth.ack_arrives(peer, request, entries);
        }
        self.note(|| format!("link {number} up: {:?}", Brief(&frame.command)));
        let message = frame.message.map(|message| message.headers_and_payload);
        self.broker.receive(self.now, peer, frame.command, message);
        self.pump()
    }

    /// Puts what the broker sends on its way.
    pub(super) fn pump(&mut self) -> Check {
        while let Some(output) = self.broker.poll_output() {
            match output {
                Output::Send {
                    peer,
                    mut command,
                    message,
                } => {
                    if self.peer.id == Some(peer) {
                        self.peer.take(command, message);
                        continue;
                    }
                    let Some(link) = self.links.values_mut().find(|link| link.peer == peer) else {
                        continue;
                    };
                    let assigned = self.rng.random_bool(self.plan.assigning).then(|| URL.to_owned());
                    match &mut command {
                        Command::Message(delivery) => self.truth.delivered(delivery.message_id.entry_id)?,
                        Command::AckResponse(response) => {
                            self.truth
                                .ack_taken(peer, response.request_id.unwrap_or_default());
                        }
                        Command::CloseProducer(close) => {
                            link.closed_producers.insert(close.producer_id);
                            close.assigned_broker_service_url = assigned;
                        }
                        Command::CloseConsumer(close) => close.assigned_broker_service_url = assigned,
                        _ => {}
                    }
                    link.to_client.push(Down {
                        command,
                        message,
                        epoch: self.truth.epoch,
                    });
                }
                Output::Close { peer, why } => self.closed_by_broker(peer, &why)?,
                _ => return Err("the broker does something new".to_owned()),
            }
        }
        Ok(())
    }

    /// The broker closes a connection since the client broke the protocol: only right when it
    /// had closed a producer itself so long ago that it does not expect messages of it any more.
    fn closed_by_broker(&mut self, peer: PeerId, why: &str) -> Check {
        let Some((number, link)) = self.links.iter_mut().find(|(_, link)| link.peer == peer) else {
            return Err(format!("the broker closes the connection of the peer: {why}"));
        };
        link.to_broker.abandon();
        link.to_client.ends = true;
        if link.closed_producers.is_empty() {
            return Err(format!("the broker closes link {number}: {why}"));
        }
        Ok(())
    }

    fn deliver_to_client(&mut self, number: u64) -> Check {
        let Some(link) = self.links.get_mut(&number) else {
            return Ok(());
        };
        let peer = link.peer;
        let Some(down) = link.to_client.queue.pop_front() else {
            return self.lose(number, "the broker closed the connection");
        };
        link.connection.heard(self.now);
        let Down {
            command,
            message,
            epoch,
        } = down;
        self.note(|| format!("link {number} down: {:?}", Brief(&command)));
        let Some(link) = self.links.get_mut(&number) else {
            return Ok(());
        };
        if let Command::Message(delivery) = &command {
            let Some(at) = link.sessions.get(&delivery.consumer_id).copied() else {
                return Ok(());
            };
            let entry = delivery.message_id.entry_id;
            self.endpoints[at].reader.arrived.insert(entry, epoch);
            return self.command(number, at, command, message);
        }
        match link.connection.receive(command) {
            Err(error) => self.lose(number, &error.to_string()),
            Ok(Incoming::Up) => {
                link.is_up = true;
                Ok(())
            }
            Ok(Incoming::Reply(command)) => {
                link.send(command);
                Ok(())
            }
            Ok(Incoming::Challenge) => panic!("the model asks nobody for credentials"),
            Ok(Incoming::Answer(waiter, command)) => self.answer(number, waiter, command),
            Ok(Incoming::Session(command)) => {
                let id = match &command {
                    Command::SendReceipt(receipt) => receipt.producer_id,
                    Command::SendError(error) => error.producer_id,
                    Command::CloseProducer(close) => close.producer_id,
                    Command::AckResponse(response) => response.consumer_id,
                    Command::CloseConsumer(close) => close.consumer_id,
                    Command::ActiveConsumerChange(change) => change.consumer_id,
                    _ => return Ok(()),
                };
                let Some(at) = link.sessions.get(&id).copied() else {
                    return Ok(());
                };
                let answered = match &command {
                    Command::AckResponse(response) => response
                        .request_id
                        .and_then(|request| self.truth.ack_answered(peer, request)),
                    _ => None,
                };
                let before = self.unanswered(at);
                self.command(number, at, command, None)?;
                if let Some((entries, taken)) = answered
                    && self.unanswered(at) < before
                {
                    self.confirmed(at, &entries, taken);
                }
                Ok(())
            }
            Ok(Incoming::Nothing) => Ok(()),
        }
    }

    fn command(&mut self, number: u64, at: usize, command: Command, message: Option<Bytes>) -> Check {
        if self.endpoints[at].link != Some(number) {
            return Ok(());
        }
        let chance = self.rng.random();
        let after = self.endpoints[at]
            .machine
            .command(self.now, chance, command, message);
        self.after(at, after)
    }

    fn unanswered(&self, at: usize) -> usize {
        match &self.endpoints[at].machine {
            Machine::Consumer(consumer) => consumer.snapshot().unanswered,
            Machine::Producer(_) => 0,
        }
    }

    fn confirmed(&mut self, at: usize, entries: &[u64], taken: u32) {
        let reader = &mut self.endpoints[at].reader;
        reader.settled.retain(|(entry, _)| !entries.contains(entry));
        reader
            .confirmed
            .extend(entries.iter().map(|entry| (*entry, taken)));
    }
}

/// A command in a trace.
struct Brief<'a>(&'a Command);

impl std::fmt::Debug for Brief<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Command::Message(delivery) => write!(
                f,
                "MESSAGE to {} entry {} count {:?} epoch {:?}",
                delivery.consumer_id,
                delivery.message_id.entry_id,
                delivery.redelivery_count,
                delivery.consumer_epoch
            ),
            Command::Ack(ack) => {
                let entries: Vec<u64> = ack.message_id.iter().map(|id| id.entry_id).collect();
                write!(
                    f,
                    "ACK of {} request {:?} entries {entries:?}",
                    ack.consumer_id, ack.request_id
                )
            }
            Command::Send(send) => write!(f, "SEND of {} sequence {}", send.producer_id, send.sequence_id),
            Command::Subscribe(subscribe) => write!(
                f,
                "SUBSCRIBE of {} request {} epoch {:?}",
                subscribe.consumer_id, subscribe.request_id, subscribe.consumer_epoch
            ),
            other => write!(f, "{other:?}"),
        }
    }
}
