//! Peers that say nothing for half a minute.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scenario::{Scenario, scenarios};
use crate::peer::Peer;

scenarios![no_connect, keep_alive];

/// What comes, and whether after about half a minute.
async fn wait(peer: &mut Peer) -> Value {
    let start = Instant::now();
    let what = peer.next_within(Duration::from_secs(45)).await;
    let took = start.elapsed();
    let is_half_a_minute = (Duration::from_secs(24)..Duration::from_secs(38)).contains(&took);
    json!({ "what": what, "after_half_a_minute": is_half_a_minute })
}

async fn no_connect(scenario: &Scenario) {
    let mut peer = scenario.dial().await;
    scenario.observe("end", wait(&mut peer).await);
}

async fn keep_alive(scenario: &Scenario) {
    let mut peer = scenario.connect_mute().await;
    scenario.observe("quiet_peer", wait(&mut peer).await);
    scenario.observe("ping_of_the_peer", peer.ping().await);
}
