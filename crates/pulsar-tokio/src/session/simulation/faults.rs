//! What goes wrong, other than by the users' doing.

use std::time::Duration;

use pulsar_devbroker::{PeerId, Position};
use rand::Rng;

use super::world::{Check, SUBSCRIPTION, TOPIC, World};

impl World {
    fn any_link(&mut self) -> Option<u64> {
        if self.links.is_empty() {
            return None;
        }
        let which = self.rng.random_range(0..self.links.len());
        self.links.keys().nth(which).copied()
    }

    pub(super) fn cut(&mut self) -> Check {
        let Some(number) = self.any_link() else {
            return Ok(());
        };
        let rng = &mut self.rng;
        if let Some(link) = self.links.get_mut(&number) {
            let up = rng.random_range(0..=link.to_broker.queue.len());
            let down = rng.random_range(0..=link.to_client.queue.len());
            link.to_broker.cut(up);
            link.to_client.cut(down);
            self.note(|| format!("link {number} is cut, {up} up and {down} down left"));
        }
        Ok(())
    }

    pub(super) fn stall(&mut self) {
        let Some(number) = self.any_link() else {
            return;
        };
        let greatest = [1_000, 40_000, 100_000][self.rng.random_range(0..3)];
        let until = self.now + Duration::from_millis(self.rng.random_range(1..greatest));
        let (up, down) = (self.rng.random(), self.rng.random());
        if let Some(link) = self.links.get_mut(&number) {
            if up {
                link.to_broker.stalled = Some(until);
            }
            if down {
                link.to_client.stalled = Some(until);
            }
            self.note(|| format!("link {number} stalls, up {up}, down {down}"));
        }
    }

    /// Damages a message on its way to the broker.
    pub(super) fn corrupt(&mut self) {
        let Some(number) = self.any_link() else {
            return;
        };
        let Some(link) = self.links.get_mut(&number) else {
            return;
        };
        let mut messages = link.to_broker.queue.iter_mut();
        let Some(message) = messages.find_map(|frame| frame.message.as_mut()) else {
            return;
        };
        let mut bytes = message.headers_and_payload.to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        message.headers_and_payload = bytes.into();
        self.truth.damage(message);
        self.note(|| format!("a message on link {number} is damaged"));
    }

    pub(super) fn set_back(&mut self) -> Check {
        let Some(stats) = self.broker.stats(TOPIC) else {
            return Ok(());
        };
        let Some(subscription) = stats.subscriptions.get(SUBSCRIPTION) else {
            return Ok(());
        };
        // Never forward: what is skipped never comes.
        let entry = self.rng.random_range(0..=subscription.acknowledged.before);
        self.note(|| format!("the cursor is set back to {entry}"));
        self.truth.set_back(entry);
        self.broker
            .reset_cursor(self.now, TOPIC, SUBSCRIPTION, Position::Entry(entry));
        self.pump()
    }

    /// All connections end and the latest acknowledgements are forgotten.
    pub(super) fn crash(&mut self) -> Check {
        self.note(|| "the broker crashes".to_owned());
        let peers: Vec<(u64, PeerId)> = self.links.iter().map(|(n, link)| (*n, link.peer)).collect();
        for (number, peer) in peers {
            let Some(link) = self.links.get_mut(&number).filter(|link| !link.to_broker.over) else {
                continue;
            };
            let kept = self.rng.random_range(0..=link.to_client.queue.len());
            link.to_client.cut(kept);
            link.to_broker.abandon();
            self.broker.disconnect(self.now, peer);
            // Nobody is there to send to any more.
            self.pump()?;
        }
        self.truth.set_back(0);
        self.broker.forget_recent_acks(self.now, TOPIC);
        self.pump()
    }
}
