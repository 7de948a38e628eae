//! A broker, clients, what is between them, and the time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pulsar_devbroker::{Broker, Config};
use pulsar_wire::Command;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::endpoint::{Busy, Endpoint, Machine};
use super::link::Link;
use super::peer::Peer;
use super::plan::{Action, Plan};
use super::truth::Truth;
use crate::session::attach::Step;
use crate::session::connection::Life;

pub(super) const TOPIC: &str = "persistent://public/default/orders";
pub(super) const SUBSCRIPTION: &str = "billing";
pub(super) const URL: &str = "pulsar://broker:6650";
const START_MS: u64 = 1_700_000_000_000;

/// What must hold, or the words for what does not.
pub(super) type Check = Result<(), String>;

pub(super) struct World {
    pub(super) now: Instant,
    started: Instant,
    pub(super) rng: SmallRng,
    pub(super) plan: Plan,
    pub(super) broker: Broker,
    pub(super) links: BTreeMap<u64, Link>,
    pub(super) next_link: u64,
    /// The next number of a session, for each client.
    pub(super) next_session: Vec<u64>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) peer: Peer,
    pub(super) truth: Truth,
    /// Nothing goes wrong any more.
    pub(super) is_healed: bool,
    trace: Option<Vec<String>>,
}

impl World {
    pub(super) fn new(seed: u64, is_traced: bool) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let plan = Plan::new(&mut rng);
        let now = Instant::now();
        let mut config = Config::new(now, START_MS);
        config.service_url = URL.to_owned();
        config.batch_index_acks = plan.batch_index_acks;
        config.deduplication = plan.deduplication;
        let mut world = Self {
            now,
            started: now,
            broker: Broker::new(config),
            links: BTreeMap::new(),
            next_link: 1,
            next_session: vec![1; plan.clients],
            endpoints: Vec::new(),
            peer: Peer::default(),
            truth: Truth::new(plan.kind, plan.deduplication),
            is_healed: false,
            trace: is_traced.then(Vec::new),
            rng,
            plan,
        };
        let plan = format!("{:?}", world.plan);
        world.note(|| plan);
        world
    }

    /// Lets things happen at random, then lets everything come to rest, and checks.
    pub(super) fn run(&mut self) -> Check {
        self.open_producer();
        self.open_consumer();
        for _ in 0..self.plan.steps {
            self.drive_all()?;
            let action = self.plan.next(&mut self.rng);
            self.act(action)?;
        }
        self.come_to_rest()
    }

    pub(super) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let at = self.now.duration_since(self.started);
            trace.push(format!("{at:>12.3?}  {}", text()));
        }
    }

    pub(super) fn trace(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    pub(super) fn unix_ms(&self) -> u64 {
        let passed = self.now.duration_since(self.started).as_millis();
        START_MS + u64::try_from(passed).expect("a short time")
    }

    fn act(&mut self, action: Action) -> Check {
        match action {
            Action::Deliver => self.deliver_any().map(|_| ()),
            Action::Publish => self.publish(),
            Action::PublishBatch => self.publish_batch(),
            Action::Read => match self.any_consumer() {
                Some(at) => self.read(at).map(|_| ()),
                None => Ok(()),
            },
            Action::Ack => match self.any_in_hand() {
                Some((at, which)) => self.ack(at, which),
                None => Ok(()),
            },
            Action::GiveBack => match self.any_in_hand() {
                Some((at, which)) => self.give_back(at, which),
                None => Ok(()),
            },
            Action::Cut => self.cut(),
            Action::Stall => {
                self.stall();
                Ok(())
            }
            Action::Tick => {
                let greatest = [10, 100, 3_000][self.rng.random_range(0..3)];
                let passed = Duration::from_millis(self.rng.random_range(1..greatest));
                self.advance(self.now + passed)
            }
            Action::Jump => match self.next_time()? {
                Some(next) => self.advance(next),
                None => Ok(()),
            },
            Action::Unload => {
                self.note(|| "the topic is unloaded".to_owned());
                self.broker.unload(self.now, TOPIC);
                self.pump()
            }
            Action::SetBack => self.set_back(),
            Action::Crash => self.crash(),
            Action::Corrupt => {
                self.corrupt();
                Ok(())
            }
            Action::AckMembers => self.ack_members(),
            Action::OpenConsumer => {
                if self.living_consumers() < 3 {
                    self.open_consumer();
                }
                Ok(())
            }
            Action::OpenProducer => {
                self.open_producer();
                Ok(())
            }
            Action::CloseConsumer => self.close_any(|machine| matches!(machine, Machine::Consumer(_))),
            Action::CloseProducer => self.close_any(|machine| matches!(machine, Machine::Producer(_))),
        }
    }

    pub(super) fn living_consumers(&self) -> usize {
        let endpoints = self.endpoints.iter();
        endpoints
            .filter(|endpoint| !endpoint.is_over() && matches!(endpoint.machine, Machine::Consumer(_)))
            .count()
    }

    fn any_consumer(&mut self) -> Option<usize> {
        let count = self.endpoints.len();
        let at = self.rng.random_range(0..count);
        matches!(self.endpoints[at].machine, Machine::Consumer(_)).then_some(at)
    }

    fn close_any(&mut self, is_wanted: impl Fn(&Machine) -> bool) -> Check {
        let Some(at) = self.any(|endpoint| is_wanted(&endpoint.machine)) else {
            return Ok(());
        };
        let patience = Duration::from_millis([0, 500, 10_000][self.rng.random_range(0..3)]);
        self.note(|| format!("endpoint {at} is closed within {patience:?}"));
        self.close(at, patience)
    }

    // Time.

    /// The next moment at which something happens by itself.
    pub(super) fn next_time(&mut self) -> Result<Option<Instant>, String> {
        let now = self.now;
        let mut times: Vec<(Instant, String)> = Vec::new();
        times.extend(self.broker.next_time().map(|at| (at, "broker".to_owned())));
        for (number, link) in &self.links {
            for (stalled, has_something) in [
                (link.to_broker.stalled, link.to_broker.has_something()),
                (link.to_client.stalled, link.to_client.has_something()),
            ] {
                if let Some(until) = stalled.filter(|until| has_something && *until > now) {
                    times.push((until, String::new()));
                }
            }
            if !link.is_down() {
                let next = if link.is_up {
                    link.connection.next_check()
                } else {
                    link.handshake_until
                };
                times.push((next, format!("link {number}")));
            }
        }
        for (at, endpoint) in self.endpoints.iter_mut().enumerate() {
            let of_driver = match endpoint.busy {
                Busy::Over => continue,
                Busy::LookUp { deadline, .. } | Busy::Close { deadline, .. } => Some(deadline),
                Busy::LinkToLookUp(_) | Busy::LinkToOpen(_) => None,
                Busy::Nothing => {
                    let step = match endpoint.machine.attach().step(now) {
                        Step::Wait(until) => until,
                        _ => Some(now),
                    };
                    [step, endpoint.machine.next_time()].into_iter().flatten().min()
                }
            };
            let closing = endpoint
                .closing
                .filter(|_| !matches!(endpoint.busy, Busy::Close { .. }));
            if let Some(next) = [of_driver, closing].into_iter().flatten().min() {
                times.push((next, format!("endpoint {at}")));
            }
        }
        let Some((next, who)) = times.into_iter().min() else {
            return Ok(None);
        };
        if next <= now {
            return Err(format!("{who} would never sleep"));
        }
        Ok(Some(next))
    }

    pub(super) fn advance(&mut self, to: Instant) -> Check {
        while let Some(next) = self.broker.next_time().filter(|next| *next <= to) {
            self.now = next.max(self.now);
            self.broker.on_time(self.now);
            self.pump()?;
        }
        self.now = to;
        let numbers: Vec<u64> = self.links.keys().copied().collect();
        for number in numbers {
            let Some(link) = self.links.get_mut(&number).filter(|link| !link.is_down()) else {
                continue;
            };
            if !link.is_up {
                if to >= link.handshake_until {
                    self.lose(number, "no handshake in time")?;
                }
                continue;
            }
            match link.connection.life(to) {
                Life::Fine => {}
                Life::Ping => link.send(Command::Ping(pulsar_wire::proto::CommandPing {})),
                Life::Dead => self.lose(number, "silent for too long")?,
            }
        }
        self.drive_all()
    }
}
