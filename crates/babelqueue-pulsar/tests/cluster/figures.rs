//! What a message costs with one, two and four workers; printed, since it depends on the machine.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use babelqueue_pulsar::{Batching, Consumer, InitialPosition, Pulsar, SubscriptionType};
use pulsar_testing::Cluster;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::scene::{ORDER, Order, PARTITIONS, SUB};

pub(crate) async fn print_figures(cluster: &Cluster, messages: u32) {
    for workers in [1, 2, 4] {
        let topic = format!("persistent://public/default/figures-{workers}");
        cluster.admin(0).create_partitioned(&topic, PARTITIONS);
        let pulsar = Pulsar::new(cluster.url()).expect("a URL");
        // Makes the subscription.
        drop(consumers(&pulsar, &topic, 1, &Left::new(0)).await);
        let publisher = pulsar
            .publisher(&topic)
            .batching(Batching::new())
            .max_pending(5_000);
        let publisher = publisher.await.expect("a publisher");
        let receipts: Vec<_> = (0..messages)
            .map(|n| {
                publisher
                    .publish(ORDER, &Order { n })
                    .key(format!("k{}", n % 100))
                    .enqueue()
            })
            .collect();
        for receipt in receipts {
            receipt.await.expect("a confirmed message");
        }
        let left = Left::new(messages);
        let (began, cpu) = (Instant::now(), cpu());
        let mut running = Vec::new();
        for consumer in consumers(&pulsar, &topic, workers, &left).await {
            let left = left.clone();
            running.push(tokio::spawn(async move {
                consumer.run(left.all()).await;
                consumer.close().await.expect("closed");
            }));
        }
        for worker in running {
            timeout(Duration::from_secs(120), worker)
                .await
                .expect("in time")
                .expect("no panic");
        }
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{workers} workers: {:.0} messages a second, {:.1} µs of CPU time each",
            f64::from(messages) / seconds,
            (self::cpu() - cpu).as_secs_f64() * 1e6 / f64::from(messages),
        );
    }
}

async fn consumers(pulsar: &Pulsar, topic: &str, count: usize, left: &Arc<Left>) -> Vec<Consumer> {
    let mut consumers = Vec::new();
    for _ in 0..count {
        let left = left.clone();
        let builder = Consumer::builder().handler(ORDER, move |_envelope, _message| {
            left.one_less();
            async { Ok(()) }
        });
        let subscription = pulsar
            .subscription(topic, SUB)
            .subscription_type(SubscriptionType::KeyShared)
            .initial_position(InitialPosition::Earliest);
        consumers.push(subscription.open(builder).await.expect("a consumer"));
    }
    consumers
}

/// How many messages are still to be handled.
struct Left {
    count: AtomicU32,
    none: Notify,
}

impl Left {
    fn new(count: u32) -> Arc<Self> {
        Arc::new(Self {
            count: AtomicU32::new(count),
            none: Notify::new(),
        })
    }

    fn one_less(&self) {
        if self.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.none.notify_waiters();
        }
    }

    async fn all(self: Arc<Self>) {
        let none = self.none.notified();
        tokio::pin!(none);
        none.as_mut().enable();
        if self.count.load(Ordering::Relaxed) > 0 {
            none.await;
        }
    }
}

/// User and system time of this process.
fn cpu() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}
