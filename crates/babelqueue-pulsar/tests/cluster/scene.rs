//! Publisher and workers on the cluster, and what became of every message.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use babelqueue_pulsar::{Consumer, Envelope, InitialPosition, Pulsar, SubscriptionType};
use pulsar_testing::{Cluster, eventually};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::{sleep, timeout};

pub(crate) const PARTITIONS: u32 = 8;
const KEYS: u32 = 500;
pub(crate) const SUB: &str = "workers";
pub(crate) const ORDER: &str = "urn:babel:orders:created";
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Order {
    pub(crate) n: u32,
}

/// What was handled, in the order in which it was.
#[derive(Default)]
struct Diary {
    handled: Mutex<Vec<(u32, Instant)>>,
    count: AtomicU32,
}

impl Diary {
    fn note(&self, n: u32) {
        let mut handled = self.handled.lock().unwrap_or_else(PoisonError::into_inner);
        handled.push((n, Instant::now()));
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) struct Scene {
    cluster: Cluster,
    topic: String,
    messages: u32,
    diary: Arc<Diary>,
}

impl Scene {
    pub(crate) async fn new(cluster: Cluster, messages: u32) -> Self {
        let topic = "persistent://public/default/orders".to_owned();
        cluster.admin(0).create_partitioned(&topic, PARTITIONS);
        Self {
            cluster,
            topic,
            messages,
            diary: Arc::default(),
        }
    }

    fn pulsar(&self) -> Pulsar {
        Pulsar::new(self.cluster.url()).expect("a URL with two hosts")
    }

    /// Workers with a connection and an identity of their own each.
    pub(crate) async fn workers(&self, count: usize) -> Workers {
        let mut workers = Vec::new();
        for _ in 0..count {
            let diary = self.diary.clone();
            let builder = Consumer::builder().handler(ORDER, move |envelope: Envelope, _message| {
                let order: Order = envelope.data().expect("an order");
                diary.note(order.n);
                async { Ok(()) }
            });
            let consumer = self
                .pulsar()
                .subscription(&self.topic, SUB)
                .subscription_type(SubscriptionType::KeyShared)
                .initial_position(InitialPosition::Earliest)
                .open(builder)
                .await
                .expect("a consumer");
            workers.push(Worker::start(consumer));
        }
        Workers(workers)
    }

    /// Publishes all messages, each with one of the keys; when each was confirmed.
    pub(crate) fn publish(&self) -> JoinHandle<Vec<Instant>> {
        let (pulsar, topic, messages) = (self.pulsar(), self.topic.clone(), self.messages);
        tokio::spawn(async move {
            let publisher = pulsar.publisher(&topic).await.expect("a publisher");
            let mut receipts = std::collections::VecDeque::new();
            let mut confirmed = Vec::new();
            for n in 0..messages {
                if receipts.len() == 500 {
                    let oldest: babelqueue_pulsar::Receipt = receipts.pop_front().expect("a receipt");
                    oldest.await.expect("a confirmed message");
                    confirmed.push(Instant::now());
                }
                let publish = publisher.publish(ORDER, &Order { n }).key(key(n));
                receipts.push_back(publish.enqueue());
            }
            for receipt in receipts {
                receipt.await.expect("a confirmed message");
                confirmed.push(Instant::now());
            }
            confirmed
        })
    }

    pub(crate) async fn until_handled(&self, count: u32) {
        let until = async {
            while self.diary.count.load(Ordering::Relaxed) < count {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, until).await.expect("messages are handled");
    }

    pub(crate) async fn until_all_are_handled(&self) {
        let until = async {
            while self.account().missing > 0 {
                sleep(Duration::from_millis(200)).await;
            }
        };
        if timeout(PATIENCE, until).await.is_err() {
            panic!("{} messages are missing", self.account().missing);
        }
    }

    /// Kills a broker that serves some partitions, and waits until the other one serves all of them.
    pub(crate) async fn kill_a_broker(&self) -> Outage {
        let partitions: Vec<_> = (0..PARTITIONS)
            .map(|index| format!("{}-partition-{index}", self.topic))
            .collect();
        let owners: Vec<_> = partitions
            .iter()
            .map(|partition| self.cluster.owner(0, partition))
            .collect();
        // The one that has more to lose.
        let of_second = owners.iter().filter(|owner| **owner == Some(1)).count();
        let victim = usize::from(of_second > owners.len() / 2);
        let survivor = 1 - victim;
        println!(
            "partitions of the killed broker: {}",
            if victim == 1 {
                of_second
            } else {
                owners.len() - of_second
            }
        );
        block_in_place(|| {
            self.cluster.kill(victim);
            let killed = Instant::now();
            let is_noticed = || {
                partitions
                    .iter()
                    .all(|partition| self.cluster.owner(survivor, partition) == Some(survivor))
            };
            while !is_noticed() {
                assert!(
                    killed.elapsed() < Duration::from_secs(60),
                    "the cluster never notices"
                );
                std::thread::sleep(Duration::from_millis(50));
            }
            Outage {
                killed,
                noticed: Instant::now(),
            }
        })
    }

    pub(crate) fn account(&self) -> Account {
        let handled = self.diary.handled.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times = vec![0_u32; self.messages as usize];
        for (n, _) in handled.iter() {
            times[*n as usize] += 1;
        }
        let mut newest: BTreeMap<u32, u32> = BTreeMap::new();
        let mut out_of_order = Vec::new();
        for (n, _) in handled.iter().filter(|(n, _)| times[*n as usize] == 1) {
            let before = newest.insert(n % KEYS, *n);
            if before > Some(*n) {
                out_of_order.push(format!("{n} behind {before:?}"));
            }
        }
        Account {
            missing: times.iter().filter(|times| **times == 0).count(),
            again: times.iter().filter(|times| **times > 1).count(),
            out_of_order,
            times: handled.iter().map(|(_, at)| *at).collect(),
        }
    }

    /// Nothing is left to be delivered.
    pub(crate) fn is_settled(&self) {
        let alive = (0..2).find(|broker| {
            self.cluster
                .owner(*broker, &format!("{}-partition-0", self.topic))
                .is_some()
        });
        let admin = self.cluster.admin(alive.expect("a broker that answers"));
        block_in_place(|| eventually("the backlog is empty", || admin.backlog(&self.topic, SUB) == 0));
    }
}

fn key(n: u32) -> String {
    format!("customer-{}", n % KEYS)
}

/// What became of the messages.
pub(crate) struct Account {
    pub(crate) missing: usize,
    /// How many were handled more than once.
    pub(crate) again: usize,
    /// Of those that were handled once.
    pub(crate) out_of_order: Vec<String>,
    pub(crate) times: Vec<Instant>,
}

/// A broker that is gone.
pub(crate) struct Outage {
    killed: Instant,
    noticed: Instant,
}

impl Outage {
    pub(crate) fn noticed_after(&self) -> Duration {
        self.noticed - self.killed
    }

    /// How long after the cluster had noticed it happened first.
    pub(crate) fn until_first(&self, times: &[Instant]) -> Duration {
        let first = times.iter().filter(|at| **at > self.noticed).min();
        first.expect("it goes on").duration_since(self.noticed)
    }
}

pub(crate) struct Workers(Vec<Worker>);

impl Workers {
    pub(crate) async fn close(self) {
        for worker in self.0 {
            worker.stop().await;
        }
    }
}

struct Worker {
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Worker {
    fn start(consumer: Consumer) -> Self {
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            consumer.run(async { _ = stopped.await }).await;
            consumer.close().await.expect("closed");
        });
        Self { stop, running }
    }

    async fn stop(self) {
        drop(self.stop);
        self.running.await.expect("no panic");
    }
}
