//! Workers that are killed with SIGKILL, and a broker that is stopped under them: every message is handled or in the
//! dead-letter topic, attempts stay bounded, and what ran twice is counted and printed.

mod diary;
mod scene;
mod worker;

use std::env;

use babelqueue_pulsar::SubscriptionType;
use pulsar_testing::{Broker, Profile, broker, own_broker};

use crate::scene::Scene;
use crate::worker::IN_FLIGHT;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_workers_are_killed_on_shared() {
    kill_workers(broker!(), SubscriptionType::Shared).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_workers_are_killed_on_key_shared() {
    kill_workers(broker!(), SubscriptionType::KeyShared).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_workers_are_killed_on_failover() {
    kill_workers(broker!(), SubscriptionType::Failover).await;
}

async fn kill_workers(broker: Broker, subscription_type: SubscriptionType) {
    let (messages, kills) = if soak() { (10_000, 20) } else { (2_000, 5) };
    let scene = Scene::new(broker, subscription_type, messages).await;
    let mut worker = scene.worker();
    for kills_to_come in (1..=kills).rev() {
        scene.until_one_part_more_is_handled(kills_to_come + 1).await;
        drop(worker);
        worker = scene.worker();
    }
    scene.until_settled().await;
    drop(worker);
    let what = format!("{kills} workers killed on {subscription_type:?}");
    scene.is_complete(&what, kills * IN_FLIGHT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_the_broker_is_stopped_and_started() {
    let (messages, stops) = if soak() { (10_000, 5) } else { (1_000, 1) };
    let broker = own_broker!("stopped", Profile::default());
    let scene = Scene::new(broker, SubscriptionType::Shared, messages).await;
    let worker = scene.worker();
    for stops_to_come in (1..=stops).rev() {
        scene.until_one_part_more_is_handled(stops_to_come + 1).await;
        scene.restart_broker();
    }
    scene.until_settled().await;
    drop(worker);
    // The worker lives: at most the write that a stop meets is made twice.
    let what = format!("the broker stopped {stops} times");
    scene.is_complete(&what, stops).await;
}

fn soak() -> bool {
    env::var_os("BABELQUEUE_SOAK").is_some_and(|value| value == "1")
}
