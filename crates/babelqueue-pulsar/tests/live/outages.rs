//! A worker while its broker goes away and while its topic moves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use babelqueue_pulsar::{Consumer, Envelope, SubscriptionType};
use pulsar_testing::{Broker, Profile, broker, own_broker};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::{ORDER, Scene, closed_within_patience, dead_letter, offline, payload, until, within};

/// A worker whose orders fail once, and never succeed where `n` is a multiple of 10; the runs of each order.
struct Worker {
    runs: Arc<Mutex<BTreeMap<String, usize>>>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Consumer>,
}

impl Worker {
    async fn start(scene: &Scene, kind: SubscriptionType) -> Self {
        let runs = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let noted = runs.clone();
        let builder = Consumer::builder().handler(ORDER, move |envelope, _| {
            let id = envelope.meta().id().to_owned();
            *noted.lock().expect("nobody panicked").entry(id).or_default() += 1;
            let data: serde_json::Value = envelope.data().expect("data");
            let fails = envelope.attempts() == 0 || data["n"].as_u64().is_some_and(|n| n % 10 == 0);
            async move { if fails { Err(offline()) } else { Ok(()) } }
        });
        let consumer = scene.consumer_with_dlq(kind, builder).await;
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            consumer.run(async { stopped.await.unwrap_or(()) }).await;
            consumer
        });
        Self { runs, stop, task }
    }

    async fn end(self) -> BTreeMap<String, usize> {
        self.stop.send(()).expect("the worker is there");
        let consumer = within("the worker's end", self.task).await.expect("no panic");
        closed_within_patience(&consumer).await;
        self.runs.lock().expect("nobody panicked").clone()
    }
}

/// Publishes orders with these numbers, a few at a time; their ids.
async fn publish(scene: &Scene, numbers: std::ops::Range<u32>) -> Vec<String> {
    let publisher = scene.publisher().await;
    let mut ids = Vec::new();
    for n in numbers {
        let id = publisher.publish(ORDER, &json!({"n": n})).await;
        ids.push(id.expect("a message").to_string());
    }
    ids
}

/// Every order came to its end: handled, or dead-lettered after at least three runs.
async fn assert_complete(scene: &Scene, ids: &[String], runs: &BTreeMap<String, usize>) {
    assert_eq!(runs.len(), ids.len());
    let records = scene.written(&scene.dlq).await;
    let mut dead: Vec<_> = records
        .iter()
        .map(|record| {
            assert_eq!(dead_letter(record)["attempts"], 3);
            let envelope = Envelope::decode(&payload(record)).expect("an envelope");
            envelope.meta().id().to_owned()
        })
        .collect();
    dead.sort();
    dead.dedup();
    let mut expected: Vec<_> = ids.iter().step_by(10).cloned().collect();
    expected.sort();
    assert_eq!(dead, expected);
    assert!(ids.iter().all(|id| runs[id] >= 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_survives_a_restart_of_its_broker() {
    let broker = own_broker!("worker", Profile::default());
    survives(broker, |broker| broker.restart()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_survives_a_crash_of_its_broker() {
    let broker = own_broker!("worker-crash", Profile::default());
    let crash = |broker: &Broker| {
        broker.kill();
        broker.start();
    };
    survives(broker, crash).await;
}

async fn survives(broker: Broker, outage: impl FnOnce(&Broker)) {
    let topic = broker.topic("outage");
    let scene = Scene::on(broker, topic);
    let worker = Worker::start(&scene, SubscriptionType::Shared).await;
    let mut ids = publish(&scene, 0..20).await;

    tokio::task::block_in_place(|| outage(&scene.broker));

    ids.extend(publish(&scene, 20..40).await);
    until("all is settled", || scene.backlog() == 0).await;
    let runs = worker.end().await;
    assert_complete(&scene, &ids, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_on_shared_survives_that_its_topics_move() {
    let scene = Scene::new(broker!(), "unload-shared");
    survives_unloading(scene, SubscriptionType::Shared).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_on_exclusive_survives_that_its_topics_move() {
    let scene = Scene::new(broker!(), "unload-exclusive");
    survives_unloading(scene, SubscriptionType::Exclusive).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_on_failover_survives_that_its_topics_move() {
    let scene = Scene::new(broker!(), "unload-failover");
    survives_unloading(scene, SubscriptionType::Failover).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_on_key_shared_survives_that_its_topics_move() {
    let scene = Scene::new(broker!(), "unload-key-shared");
    survives_unloading(scene, SubscriptionType::KeyShared).await;
}

async fn survives_unloading(scene: Scene, kind: SubscriptionType) {
    let worker = Worker::start(&scene, kind).await;
    let mut ids = Vec::new();
    for round in 0..3 {
        ids.extend(publish(&scene, round * 20..(round + 1) * 20).await);
        tokio::task::block_in_place(|| {
            scene.admin().unload(&scene.topic);
            scene.admin().unload(&scene.dlq);
        });
    }
    until("all is settled", || scene.backlog() == 0).await;
    let runs = worker.end().await;
    assert_complete(&scene, &ids, &runs).await;
}
