//! The tasks through our SDK, our client alone, and the bare protocol; each run in a process of its own.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use babelqueue_pulsar::{Batching, Consumer, InitialPosition, Pulsar, SubscriptionType};
use pulsar_tokio::{Client, NewMessage};
use pulsar_wire::proto::KeyValue;
use tokio::sync::Notify;

use super::{Figures, Task};
use crate::process::Process;
use crate::protocol::{BATCH, Connection, Sample};
use crate::work::{ORDER, SUBSCRIPTION, UNCONFIRMED_ACKS, URN, encoded, make_room};
use crate::{Result, brokers};

const PATIENCE: Duration = Duration::from_secs(60);
const KEYS: u32 = 100;

/// Does a task and prints what it took; for `peers`, which starts this program for each of our own lines.
///
/// # Errors
///
/// The words mean nothing, or the broker is away or refuses.
pub fn contend(who: &str, task: &str, url: &str, topic: &str, count: &str) -> Result<()> {
    let count: u32 = count.parse()?;
    let task = Task::ALL
        .into_iter()
        .find(|one| one.name() == task)
        .ok_or_else(|| format!("unknown task {task:?}"))?;
    // One thread does everything, so that its CPU time is the work and not the waking of others.
    let figures = brokers::block_on(async {
        match (who, task.consumes()) {
            ("protocol", false) => singly(url, topic, count).await,
            ("bare", false) => publish_bare(url, topic, task, count).await,
            ("bare", true) => consume_bare(url, topic, count).await,
            ("sdk", false) => publish_sdk(url, topic, task, count).await,
            ("sdk", true) => consume_sdk(url, topic, count).await,
            _ => Err(format!("{who:?} cannot do that").into()),
        }
    })?;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// A running measurement of this process.
struct Meter {
    since: Instant,
    cpu: Duration,
}

impl Meter {
    fn start() -> Result<Self> {
        let cpu = Process::own().cpu()?;
        let since = Instant::now();
        Ok(Self { since, cpu })
    }

    fn stop(&self, mut latencies: Vec<Duration>) -> Result<Figures> {
        let seconds = self.since.elapsed().as_secs_f64();
        let cpu = (Process::own().cpu()? - self.cpu).as_secs_f64();
        latencies.sort_unstable();
        let at = |part: usize| {
            let index = latencies.len() * part / 100;
            latencies.get(index).map(|latency| latency.as_secs_f64() * 1e6)
        };
        Ok(Figures {
            seconds,
            cpu,
            p50: at(50),
            p99: at(99),
            peak_kib: Process::own().memory()?.peak as f64 / 1024.0,
            messages: 0,
        })
    }
}

/// A receipt, with the time since when it is waited for.
struct Timed<F> {
    began: Instant,
    receipt: F,
}

impl<F: Future<Output = std::result::Result<T, E>> + Unpin, T, E> Future for Timed<F> {
    type Output = std::result::Result<Duration, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let began = self.began;
        let polled = Pin::new(&mut self.receipt).poll(context);
        polled.map(|result| result.map(|_| began.elapsed()))
    }
}

/// Receipts in the order of the sends, and how long those took that came.
struct Window<F> {
    pending: VecDeque<Timed<F>>,
    size: usize,
    latencies: Vec<Duration>,
}

impl<F, T, E> Window<F>
where
    F: Future<Output = std::result::Result<T, E>> + Unpin,
    E: std::error::Error + 'static,
{
    fn new(task: Task, count: u32) -> Self {
        let size = in_flight(task) as usize;
        Self {
            pending: VecDeque::with_capacity(size),
            size,
            latencies: Vec::with_capacity(count as usize),
        }
    }

    async fn room(&mut self, size: usize) -> Result<()> {
        while self.pending.len() >= size {
            if let Some(oldest) = self.pending.pop_front() {
                self.latencies.push(oldest.await?);
            }
        }
        Ok(())
    }

    async fn push(&mut self, receipt: F, began: Instant) -> Result<()> {
        self.pending.push_back(Timed { began, receipt });
        // Nothing else is on its way when each waits for the one before.
        self.room(self.size).await
    }

    async fn all(mut self) -> Result<Vec<Duration>> {
        self.room(1).await?;
        Ok(self.latencies)
    }
}

async fn singly(url: &str, topic: &str, count: u32) -> Result<Figures> {
    let (body, properties) = encoded(topic)?;
    let properties = properties.into_pairs();
    let properties = properties.into_iter().map(|(key, value)| KeyValue { key, value });
    let sample = Sample {
        body,
        properties: properties.collect(),
    };
    let mut connection = Connection::open(url, topic).await?;
    let meter = Meter::start()?;
    let latencies = connection.send_singly(count, &sample).await?;
    meter.stop(latencies)
}

async fn publish_bare(url: &str, topic: &str, task: Task, count: u32) -> Result<Figures> {
    let (body, properties) = encoded(topic)?;
    let properties = properties.into_pairs();
    let client = Client::new(url)?;
    let mut opening = client.producer(topic).max_pending(in_flight(task));
    if task == Task::PublishBatches {
        opening = opening.batching(batching());
    }
    let producer = opening.open().await?;
    let keys = keys();
    let meter = Meter::start()?;
    let mut window = Window::new(task, count);
    for number in 0..count {
        let began = Instant::now();
        let mut message = NewMessage::new(body.clone()).properties(properties.iter().cloned());
        if task == Task::PublishBatches {
            message = message.key(keys[(number % KEYS) as usize].as_str());
        }
        window.push(producer.enqueue(message).await?, began).await?;
    }
    let latencies = window.all().await?;
    let figures = meter.stop(latencies);
    producer.close(PATIENCE).await;
    figures
}

async fn publish_sdk(url: &str, topic: &str, task: Task, count: u32) -> Result<Figures> {
    let pulsar = Pulsar::new(url)?;
    let mut opening = pulsar.publisher(topic).max_pending(in_flight(task));
    if task == Task::PublishBatches {
        opening = opening.batching(batching());
    }
    let publisher = opening.await?;
    let keys = keys();
    let meter = Meter::start()?;
    let mut window = Window::new(task, count);
    for number in 0..count {
        let began = Instant::now();
        let mut publish = publisher.publish(URN, &ORDER);
        if task == Task::PublishBatches {
            publish = publish.key(keys[(number % KEYS) as usize].as_str());
        }
        window.push(publish.enqueue(), began).await?;
    }
    let latencies = window.all().await?;
    let figures = meter.stop(latencies);
    publisher.sink().close(PATIENCE).await;
    figures
}

fn in_flight(task: Task) -> u32 {
    match task {
        Task::PublishOne => 1,
        Task::PublishBatches => 5_000,
        _ => 500,
    }
}

/// As the other clients are set.
fn batching() -> Batching {
    Batching::new().max_messages(BATCH)
}

fn keys() -> Vec<String> {
    (0..KEYS).map(|key| key.to_string()).collect()
}

async fn consume_bare(url: &str, topic: &str, count: u32) -> Result<Figures> {
    let meter = Meter::start()?;
    let consumer = Client::new(url)?
        .consumer(topic, SUBSCRIPTION)
        .subscription_type(SubscriptionType::Shared)
        .initial_position(InitialPosition::Earliest)
        .open()
        .await?;
    let mut pending = VecDeque::with_capacity(UNCONFIRMED_ACKS);
    for _ in 0..count {
        make_room(&mut pending, UNCONFIRMED_ACKS).await?;
        let message = consumer.receive().await?;
        pending.push_back(consumer.ack(message.ticket));
    }
    make_room(&mut pending, 1).await?;
    consumer.close(PATIENCE).await;
    meter.stop(Vec::new())
}

async fn consume_sdk(url: &str, topic: &str, count: u32) -> Result<Figures> {
    let meter = Meter::start()?;
    let (left, done) = (Arc::new(AtomicU32::new(count)), Arc::new(Notify::new()));
    let all = done.clone();
    let builder = Consumer::builder()
        .max_unconfirmed_acks(UNCONFIRMED_ACKS)
        .on_error(|error, _, _| eprintln!("bench: {error}"))
        .handler(URN, move |_envelope, _message| {
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                all.notify_one();
            }
            async { Ok(()) }
        });
    let consumer = Pulsar::new(url)?
        .subscription(topic, SUBSCRIPTION)
        .subscription_type(SubscriptionType::Shared)
        .initial_position(InitialPosition::Earliest)
        .open(builder)
        .await?;
    consumer.run(done.notified()).await;
    consumer.close().await?;
    meter.stop(Vec::new())
}
