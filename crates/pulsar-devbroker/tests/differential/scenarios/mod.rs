//! Scenarios that stand alone: each has topics and connections of its own, and most are tried on all four types of
//! subscriptions. They run side by side, some at a time.

mod acks;
mod batch_ack;
mod busy;
mod consumer;
mod delay;
mod distribution;
mod failover;
mod flow;
mod handshake;
mod hostile;
mod key_shared;
mod misc;
mod non_persistent;
mod partitioned;
mod permits;
mod producer;
mod publisher;
mod reader;
mod redelivery;
mod scenario;
mod seek;
mod send;
mod silence;
mod subscribe;
mod topics;
mod unsubscribe;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::scenario::{Run, Scenario};
use crate::groups::Lab;

/// How many run at a time; more would only make each other late.
const AT_A_TIME: usize = 16;

/// The slow ones first.
const ALL: &[(&str, &[(&str, Run)])] = &[
    ("silence", silence::ALL),
    ("delay", delay::ALL),
    ("failover", failover::ALL),
    ("acks", acks::ALL),
    ("batch_ack", batch_ack::ALL),
    ("busy", busy::ALL),
    ("distribution", distribution::ALL),
    ("flow", flow::ALL),
    ("handshake", handshake::ALL),
    ("hostile", hostile::ALL),
    ("key_shared", key_shared::ALL),
    ("misc", misc::ALL),
    ("non_persistent", non_persistent::ALL),
    ("partitioned", partitioned::ALL),
    ("permits", permits::ALL),
    ("producer", producer::ALL),
    ("reader", reader::ALL),
    ("redelivery", redelivery::ALL),
    ("seek", seek::ALL),
    ("send", send::ALL),
    ("subscribe", subscribe::ALL),
    ("topics", topics::ALL),
    ("unsubscribe", unsubscribe::ALL),
];

/// Runs them all.
pub(crate) async fn observe(lab: Arc<Lab>) {
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut running = JoinSet::new();
    for (group, scenarios) in ALL {
        for (name, run) in *scenarios {
            let scenario = Scenario::new(format!("{group}/{name}"), lab.clone());
            // Waiting for half a minute takes nobody's place.
            let places = (*group != "silence").then(|| places.clone());
            running.spawn(async move {
                let _place = match places {
                    Some(places) => places.acquire_owned().await.ok(),
                    None => None,
                };
                run(&scenario).await;
            });
        }
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("a scenario came to its end");
    }
}
