//! What [`crate::endpoint`] and [`crate::link`] do around the machines, without tasks.

use std::time::Duration;

use bytes::BytesMut;
use pulsar_wire::proto::{CommandLookupTopic, LookupType};
use pulsar_wire::{Command, FrameDecoder, ServerError};
use rand::Rng;

use super::endpoint::{Busy, Machine};
use super::link::{Link, Waiter};
use super::truth::Outcome;
use super::world::{Check, TOPIC, URL, World};
use crate::endpoint::After;
use crate::error::{Error, ErrorKind};
use crate::lookup::{Target, unexpected};
use crate::session::attach::Step;
use crate::session::connection::Connection;

const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// What became of a connection that somebody waits for.
enum Dial {
    Up(u64),
    Shaking(u64),
    Failed(Error),
}

impl World {
    pub(super) fn drive_all(&mut self) -> Check {
        (0..self.endpoints.len()).try_for_each(|at| self.drive(at))
    }

    /// Goes on as far as the driver of an endpoint can without waiting.
    fn drive(&mut self, at: usize) -> Check {
        while self.go_on(at)? {}
        Ok(())
    }

    /// Says whether there may be more to do.
    fn go_on(&mut self, at: usize) -> Result<bool, String> {
        let now = self.now;
        let endpoint = &self.endpoints[at];
        let is_too_late = endpoint.closing.is_some_and(|deadline| now >= deadline);
        match endpoint.busy {
            Busy::Over => return Ok(false),
            Busy::Close { link, deadline, .. } => {
                if now < deadline && !self.is_down(link) {
                    return Ok(false);
                }
                self.end(at)?;
            }
            Busy::LinkToLookUp(_) | Busy::LookUp { .. } | Busy::LinkToOpen(_) if is_too_late => {
                self.endpoints[at].busy = Busy::Nothing;
            }
            Busy::LinkToLookUp(link) => match self.state(link) {
                Dial::Shaking(_) => return Ok(false),
                Dial::Up(link) => self.ask_for_topic(at, link),
                Dial::Failed(error) => self.failed(at, error),
            },
            Busy::LinkToOpen(link) => match self.state(link) {
                Dial::Shaking(_) => return Ok(false),
                Dial::Up(link) => self.open(at, link)?,
                Dial::Failed(error) => self.failed(at, error),
            },
            Busy::LookUp {
                link,
                request,
                deadline,
            } => {
                let error = if self.is_down(link) {
                    Error::new(ErrorKind::ConnectionLost, "cut")
                } else if now >= deadline {
                    if let Some(link) = self.links.get_mut(&link) {
                        link.connection.forget(request);
                    }
                    Error::new(ErrorKind::TimedOut, "no answer to LOOKUP")
                } else {
                    return Ok(false);
                };
                self.failed(at, error);
            }
            Busy::Nothing => return self.todo(at),
        }
        Ok(true)
    }

    fn todo(&mut self, at: usize) -> Result<bool, String> {
        let now = self.now;
        let endpoint = &mut self.endpoints[at];
        if let Some(deadline) = endpoint.closing
            && (endpoint.machine.is_drained() || now >= deadline)
        {
            return self.finish(at).map(|()| true);
        }
        if endpoint.machine.attach().is_overdue(now) {
            let error = Error::new(ErrorKind::TimedOut, "the broker did not open in time");
            let chance = self.rng.random();
            endpoint.machine.session_over(now, chance, None, error);
            self.leave(at);
        }
        let endpoint = &mut self.endpoints[at];
        endpoint.machine.on_time(now);
        if let (Machine::Consumer(consumer), Some(number)) = (&mut endpoint.machine, endpoint.link) {
            let link = self.links.get_mut(&number);
            consumer.inquire(now, || Some(link?.connection.request(Waiter::Session(at))));
        }
        self.carry_out(at)?;
        match self.endpoints[at].machine.attach().step(now) {
            Step::End => self.finish(at)?,
            Step::LookUp => match self.dial(at) {
                Dial::Up(link) => self.ask_for_topic(at, link),
                Dial::Shaking(link) => self.endpoints[at].busy = Busy::LinkToLookUp(link),
                Dial::Failed(error) => self.failed(at, error),
            },
            Step::Dial(_) => match self.dial(at) {
                Dial::Up(link) => self.open(at, link)?,
                Dial::Shaking(link) => self.endpoints[at].busy = Busy::LinkToOpen(link),
                Dial::Failed(error) => self.failed(at, error),
            },
            Step::Wait(_) => return Ok(false),
        }
        Ok(true)
    }

    fn failed(&mut self, at: usize, error: Error) {
        self.note(|| format!("endpoint {at}: {error}"));
        let chance = self.rng.random();
        let endpoint = &mut self.endpoints[at];
        endpoint.busy = Busy::Nothing;
        endpoint.machine.attach().failed(self.now, chance, error);
    }

    // Connections.

    fn is_down(&self, number: u64) -> bool {
        self.links.get(&number).is_none_or(Link::is_down)
    }

    fn state(&self, number: u64) -> Dial {
        match self.links.get(&number) {
            Some(link) if !link.is_down() && link.is_up => Dial::Up(number),
            Some(link) if !link.is_down() => Dial::Shaking(number),
            _ => Dial::Failed(Error::new(ErrorKind::Unreachable, "cut in the handshake")),
        }
    }

    /// The connection of the endpoint's client for its role, made if there is none that lives.
    fn dial(&mut self, at: usize) -> Dial {
        let (client, role) = (self.endpoints[at].client, self.endpoints[at].role());
        let mut links = self.links.iter();
        let known = links.find(|(_, link)| link.client == client && link.role == role && !link.is_down());
        if let Some((number, _)) = known {
            return self.state(*number);
        }
        if !self.is_healed && self.rng.random_bool(self.plan.refusing) {
            return Dial::Failed(Error::new(ErrorKind::Unreachable, "nobody listens"));
        }
        let peer = self.broker.connect(self.now);
        let number = self.next_link;
        self.next_link += 1;
        let connection = Connection::new(self.now, KEEP_ALIVE, None);
        let link = Link::new(client, role, peer, connection, self.now + HANDSHAKE_TIMEOUT);
        self.note(|| format!("client {client} dials link {number} to {role:?}"));
        self.links.insert(number, link);
        Dial::Shaking(number)
    }

    /// The client gives a connection up, or has seen its end.
    pub(super) fn lose(&mut self, number: u64, why: &str) -> Check {
        let Some(link) = self.links.get_mut(&number).filter(|link| !link.is_down()) else {
            return Ok(());
        };
        link.to_client.abandon();
        link.to_broker.ends = true;
        link.connection.down();
        let sessions = std::mem::take(&mut link.sessions);
        self.note(|| format!("link {number} is down: {why}"));
        for at in sessions.into_values() {
            let endpoint = &mut self.endpoints[at];
            if endpoint.link.take_if(|link| *link == number).is_some() {
                endpoint.request = None;
                let error = Error::new(ErrorKind::ConnectionLost, why);
                endpoint
                    .machine
                    .session_over(self.now, self.rng.random(), None, error);
                self.carry_out(at)?;
            }
        }
        Ok(())
    }

    fn ask_for_topic(&mut self, at: usize, number: u64) {
        let Some(link) = self.links.get_mut(&number) else {
            return;
        };
        let request = link.connection.request(Waiter::LookUp(at));
        link.send(Command::LookupTopic(Box::new(CommandLookupTopic {
            topic: TOPIC.to_owned(),
            request_id: request,
            authoritative: Some(false),
            ..CommandLookupTopic::default()
        })));
        self.endpoints[at].busy = Busy::LookUp {
            link: number,
            request,
            deadline: self.now + OPERATION_TIMEOUT,
        };
    }

    // Sessions.

    fn open(&mut self, at: usize, number: u64) -> Check {
        let (now, endpoint) = (self.now, &mut self.endpoints[at]);
        endpoint.busy = Busy::Nothing;
        let Some(link) = self.links.get_mut(&number) else {
            return Ok(());
        };
        if endpoint.machine.attach().dialled(now) {
            let fresh = self.next_session[endpoint.client];
            self.next_session[endpoint.client] += 1;
            let request = link.connection.request(Waiter::Session(at));
            let (ids, size) = (link.connection.ids(), link.connection.max_message_size());
            endpoint.machine.open(fresh, request, ids, size);
            endpoint.sessions += 1;
            link.sessions.insert(endpoint.machine.id(), at);
            endpoint.link = Some(number);
            endpoint.request = Some(request);
        }
        self.carry_out(at)
    }

    /// Ends a session from our side.
    fn leave(&mut self, at: usize) {
        if let Some(number) = self.let_go(at) {
            let (endpoint, link) = (&mut self.endpoints[at], self.links.get_mut(&number));
            let Some(link) = link else { return };
            endpoint.machine.frames().clear();
            endpoint.machine.close_command(link.connection.ids().next());
            for frame in endpoint.machine.frames().drain(..) {
                link.to_broker.push(decoded(&frame));
            }
        }
    }

    fn let_go(&mut self, at: usize) -> Option<u64> {
        let endpoint = &mut self.endpoints[at];
        let number = endpoint.link.take()?;
        let request = endpoint.request.take();
        if let Some(link) = self.links.get_mut(&number) {
            link.sessions.remove(&endpoint.machine.id());
            if let Some(request) = request {
                link.connection.forget(request);
            }
        }
        Some(number)
    }

    pub(super) fn close(&mut self, at: usize, patience: Duration) -> Check {
        let endpoint = &mut self.endpoints[at];
        if endpoint.closing.is_some() {
            return Ok(());
        }
        endpoint.closing = Some(self.now + patience);
        endpoint.machine.close();
        if !matches!(endpoint.busy, Busy::Close { .. } | Busy::Over) {
            endpoint.busy = Busy::Nothing;
        }
        self.carry_out(at)
    }

    fn finish(&mut self, at: usize) -> Check {
        let endpoint = &mut self.endpoints[at];
        let link = endpoint.link.and_then(|number| {
            let link = self.links.get_mut(&number)?;
            (!link.is_down()).then_some((number, link))
        });
        let Some((number, link)) = link else {
            return self.end(at);
        };
        let request = link.connection.request(Waiter::Close(at));
        endpoint.machine.frames().clear();
        endpoint.machine.close_command(request);
        for frame in endpoint.machine.frames().drain(..) {
            link.to_broker.push(decoded(&frame));
        }
        endpoint.busy = Busy::Close {
            link: number,
            request,
            deadline: endpoint.closing.unwrap_or(self.now + CLOSE_TIMEOUT),
        };
        Ok(())
    }

    fn end(&mut self, at: usize) -> Check {
        self.let_go(at);
        self.endpoints[at].machine.end();
        self.endpoints[at].busy = Busy::Over;
        self.note(|| format!("endpoint {at} has ended"));
        self.carry_out(at)
    }

    /// Sends what the machine wants sent and tells who waits.
    pub(super) fn carry_out(&mut self, at: usize) -> Check {
        let endpoint = &mut self.endpoints[at];
        let link = endpoint.link.and_then(|number| self.links.get_mut(&number));
        let frames = std::mem::take(endpoint.machine.frames());
        if let Some(link) = link {
            for frame in frames {
                let frame = decoded(&frame);
                if let (Command::Send(_), Some(message)) = (&frame.command, &frame.message) {
                    self.truth.transmitted(message, (at, endpoint.sessions))?;
                }
                link.to_broker.push(frame);
            }
        }
        let told: Vec<(usize, Outcome)> = match &mut endpoint.machine {
            Machine::Producer(machine) => machine
                .done
                .drain(..)
                .map(|(token, result)| (token, result.into()))
                .collect(),
            Machine::Consumer(machine) => machine
                .done
                .drain(..)
                .map(|(token, result)| (token, result.into()))
                .collect(),
        };
        endpoint.was_open |= endpoint.machine.attach().is_open();
        for (token, outcome) in told {
            self.note(|| format!("promise {token}: {outcome:?}"));
            self.truth.resolve(token, outcome)?;
        }
        Ok(())
    }

    // What arrives.

    pub(super) fn answer(&mut self, number: u64, waiter: Waiter, command: Command) -> Check {
        let request_id = command.request_id();
        match waiter {
            Waiter::LookUp(at) => {
                let is_awaited = matches!(
                    self.endpoints[at].busy,
                    Busy::LookUp { link, request, .. } if link == number && Some(request) == request_id
                );
                if is_awaited {
                    self.looked_up(at, &command);
                }
                Ok(())
            }
            Waiter::Session(at) => {
                let chance = self.rng.random();
                let endpoint = &mut self.endpoints[at];
                let opens = endpoint
                    .request
                    .take_if(|request| request_id == Some(*request))
                    .is_some();
                let after = endpoint.machine.answer(self.now, chance, command);
                let is_open = endpoint.machine.attach().is_open();
                if matches!(after, After::Leave) {
                    self.leave(at);
                } else if opens && !is_open {
                    // Refused: the number of the session is not used any more.
                    self.let_go(at);
                }
                self.carry_out(at)
            }
            Waiter::Close(at) => {
                if matches!(self.endpoints[at].busy, Busy::Close { request, .. } if Some(request) == request_id)
                {
                    self.end(at)?;
                }
                Ok(())
            }
        }
    }

    fn looked_up(&mut self, at: usize, command: &Command) {
        match command {
            Command::LookupTopicResponse(response)
                if response.response == Some(LookupType::Connect as i32) && response.error.is_none() =>
            {
                let target = Target::direct(URL).expect("the address of the simulation is one");
                self.endpoints[at].busy = Busy::Nothing;
                self.endpoints[at].machine.attach().looked_up(target);
            }
            Command::LookupTopicResponse(response) => {
                let code = ServerError::from_i32(response.error.unwrap_or_default());
                self.failed(at, Error::refused(code, "", "look up"));
            }
            other => self.failed(at, unexpected(other, "LOOKUP")),
        }
    }

    pub(super) fn after(&mut self, at: usize, after: After) -> Check {
        match after {
            After::Nothing | After::Ready => {}
            After::Leave => self.leave(at),
            After::Closed(url) => {
                self.let_go(at);
                let target = url.and_then(|url| Target::direct(&url).ok());
                let error = Error::new(ErrorKind::ConnectionLost, "the broker closed the session");
                let chance = self.rng.random();
                self.endpoints[at]
                    .machine
                    .session_over(self.now, chance, target, error);
            }
        }
        self.carry_out(at)
    }
}

fn decoded(frame: &[u8]) -> pulsar_wire::Frame {
    FrameDecoder::default()
        .decode(&mut BytesMut::from(frame))
        .expect("machines send what can be read")
        .expect("machines send whole frames")
}
