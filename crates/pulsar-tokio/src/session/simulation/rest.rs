//! The end of a run: everything heals and comes to rest, and nothing may be missing.

use std::time::Duration;

use pulsar_wire::proto::SubType;
use rand::Rng;

use super::endpoint::{Busy, Machine};
use super::world::{Check, SUBSCRIPTION, TOPIC, World};

/// After this time nothing more comes.
const PATIENCE: Duration = Duration::from_secs(1_200);

impl World {
    pub(super) fn come_to_rest(&mut self) -> Check {
        self.note(|| "everything heals".to_owned());
        self.is_healed = true;
        for link in self.links.values_mut() {
            link.to_broker.stalled = None;
            link.to_client.stalled = None;
        }
        let end = self.now + PATIENCE;
        loop {
            self.drive_all()?;
            if self.deliver_any()? || self.read_any()? {
                continue;
            }
            if let Some((at, which)) = self.any_in_hand() {
                self.ack(at, which)?;
                continue;
            }
            if self.living_consumers() == 0 {
                self.open_consumer();
                continue;
            }
            if self.is_quiet() {
                break;
            }
            let Some(next) = self.next_time()? else {
                return Err("nothing happens any more".to_owned());
            };
            if next > end {
                return Err(format!("it never comes to rest: {}", self.backlog_text()));
            }
            self.advance(next)?;
        }
        let numbers: Vec<u64> = self.links.keys().copied().collect();
        for number in numbers {
            self.check_permits(number)?;
            self.check_sessions(number)?;
        }
        self.close_all()?;
        self.truth.check_promises()?;
        self.truth.check_stored(&self.broker.entries(TOPIC))
    }

    /// Where nothing is on its way, both sides count the same permits.
    pub(super) fn check_permits(&mut self, number: u64) -> Check {
        let Some(link) = self.links.get(&number).filter(|link| link.is_silent()) else {
            return Ok(());
        };
        if link.to_broker.ends || link.to_client.ends || link.sessions.is_empty() {
            return Ok(());
        }
        let peer = link.peer;
        let open: Vec<(u64, usize)> = link
            .sessions
            .iter()
            .filter(|(_, at)| self.endpoints[**at].machine_is_open())
            .map(|(id, at)| (*id, *at))
            .collect();
        if open.is_empty() || !self.is_healed && self.rng.random_bool(0.9) {
            return Ok(());
        }
        let Some(stats) = self.broker.stats(TOPIC) else {
            return Err("the topic is gone".to_owned());
        };
        for (id, at) in open {
            let Machine::Consumer(consumer) = &self.endpoints[at].machine else {
                continue;
            };
            let snapshot = consumer.snapshot();
            let mut known = stats
                .subscriptions
                .values()
                .flat_map(|subscription| &subscription.consumers);
            let known = known.find(|known| known.peer == peer && known.id == id);
            let Some(known) = known else {
                return Err(format!("the broker does not know consumer {at}, number {id}"));
            };
            if known.permits != snapshot.permits {
                return Err(format!(
                    "consumer {at} has {} permits with the broker, {} by its own account",
                    known.permits, snapshot.permits
                ));
            }
            if snapshot.stalls_cured > 0 {
                return Err(format!("consumer {at} stood still"));
            }
        }
        Ok(())
    }

    /// A connection knows none but those who are on it.
    fn check_sessions(&self, number: u64) -> Check {
        let Some(link) = self.links.get(&number) else {
            return Ok(());
        };
        for (id, at) in &link.sessions {
            let endpoint = &self.endpoints[*at];
            if endpoint.link != Some(number) || endpoint.machine.id() != *id {
                return Err(format!("link {number} still knows number {id} of endpoint {at}"));
            }
        }
        Ok(())
    }

    fn read_any(&mut self) -> Result<bool, String> {
        for at in 0..self.endpoints.len() {
            if self.read(at)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_quiet(&mut self) -> bool {
        let now = self.now;
        // A second consumer of an Exclusive subscription tries for ever.
        let may_wait = self.plan.kind == SubType::Exclusive
            && self.endpoints.iter().any(|endpoint| {
                matches!(endpoint.machine, Machine::Consumer(_)) && endpoint.machine_is_open()
            });
        let are_quiet = self.endpoints.iter_mut().all(|endpoint| {
            endpoint.is_over()
                || may_wait && matches!(endpoint.machine, Machine::Consumer(_)) && !endpoint.machine_is_open()
                || endpoint.closing.is_none()
                    && endpoint.busy == Busy::Nothing
                    && endpoint.machine.attach().is_open()
                    && endpoint.machine.is_drained()
        });
        let subscription = self
            .broker
            .stats(TOPIC)
            .and_then(|stats| stats.subscriptions.get(SUBSCRIPTION).cloned());
        are_quiet
            && !self.links.values().any(|link| link.to_broker.is_ready(now))
            && subscription.is_some_and(|subscription| subscription.backlog == 0 && subscription.unacked == 0)
    }

    fn backlog_text(&self) -> String {
        let stats = self.broker.stats(TOPIC);
        let subscription = stats.and_then(|stats| stats.subscriptions.get(SUBSCRIPTION).cloned());
        let machines: Vec<String> = self
            .endpoints
            .iter()
            .filter(|endpoint| !endpoint.is_over())
            .map(|endpoint| match &endpoint.machine {
                Machine::Consumer(consumer) => format!("{:?} {:?}", endpoint.busy, consumer.snapshot()),
                Machine::Producer(producer) => {
                    format!("{:?} {} pending", endpoint.busy, producer.pending())
                }
            })
            .collect();
        format!("{subscription:?}, {machines:?}")
    }

    fn close_all(&mut self) -> Check {
        for at in 0..self.endpoints.len() {
            self.close(at, Duration::from_secs(10))?;
        }
        loop {
            self.drive_all()?;
            if self.deliver_any()? {
                continue;
            }
            if self.endpoints.iter().all(super::endpoint::Endpoint::is_over) {
                return Ok(());
            }
            match self.next_time()? {
                Some(next) => self.advance(next)?,
                None => return Err("an endpoint does not end".to_owned()),
            }
        }
    }
}
