//! Publishing and consuming on a real broker, each through the SDK and through the client below it.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use babelqueue_core::{Data, NewEnvelope, Properties, Stamp};
use babelqueue_pulsar::{Consumer, Pulsar, SubscriptionType, short_name};
use bytes::Bytes;
use pulsar_testing::{Broker, Position};
use pulsar_tokio::{Client, NewMessage};
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::Result;
use crate::meter::{Meter, Sample};

pub(crate) const URN: &str = "urn:babel:orders:created";
pub(crate) const SUBSCRIPTION: &str = "bench";
pub(crate) const UNCONFIRMED_ACKS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(300);

/// What is measured, once through the SDK and once through the bare client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Publishing with so many messages in flight.
    Publish(usize),
    /// Consuming with a handler that does nothing, acknowledgements confirmed.
    Consume,
}

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// `babelqueue-pulsar`.
    Sdk,
    /// `pulsar-tokio` alone, with the same bodies and properties.
    Bare,
}

/// All that is measured, in the order of a round.
pub const CASES: [(Task, Through); 6] = [
    (Task::Publish(64), Through::Bare),
    (Task::Publish(64), Through::Sdk),
    (Task::Publish(500), Through::Bare),
    (Task::Publish(500), Through::Sdk),
    (Task::Consume, Through::Bare),
    (Task::Consume, Through::Sdk),
];

/// The broker, and how much it is given to do.
#[derive(Debug)]
pub struct Bench {
    /// The broker of the environment.
    pub broker: Broker,
    /// Messages in each case.
    pub messages: u32,
    /// Tells how many allocations there were so far.
    pub count: fn() -> u64,
}

impl Bench {
    /// One case on a topic of its own, which is deleted afterwards.
    ///
    /// # Errors
    ///
    /// The broker is away, refuses, or is not done within five minutes.
    pub fn run(&self, (task, through): (Task, Through)) -> Result<Sample> {
        let topic = self.broker.topic("bench");
        let admin = self.broker.admin();
        admin.create_topic(&topic);
        admin.create_subscription(&topic, SUBSCRIPTION, Position::Earliest);
        // One thread does everything, so that its CPU time is the work and not the waking of others.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let sample = runtime.block_on(async { timeout(PATIENCE, self.on(&topic, task, through)).await })?;
        drop(runtime);
        admin.delete(&topic, true);
        sample
    }

    async fn on(&self, topic: &str, task: Task, through: Through) -> Result<Sample> {
        let client = Client::new(self.broker.url())?;
        match (task, through) {
            (Task::Publish(in_flight), Through::Bare) => self.publish_bare(&client, topic, in_flight).await,
            (Task::Publish(in_flight), Through::Sdk) => self.publish_sdk(client, topic, in_flight).await,
            (Task::Consume, Through::Bare) => {
                self.publish_bare(&client, topic, 500).await?;
                self.consume_bare(&client, topic).await
            }
            (Task::Consume, Through::Sdk) => {
                self.publish_bare(&client, topic, 500).await?;
                self.consume_sdk(client, topic).await
            }
        }
    }

    async fn publish_bare(&self, client: &Client, topic: &str, in_flight: usize) -> Result<Sample> {
        let (body, properties) = encoded(topic)?;
        let properties = properties.into_pairs();
        let producer = client.producer(topic).open().await?;
        let meter = Meter::start(self.count)?;
        let mut pending = VecDeque::with_capacity(in_flight);
        for _ in 0..self.messages {
            make_room(&mut pending, in_flight).await?;
            let message = NewMessage::new(body.clone()).properties(properties.iter().cloned());
            pending.push_back(producer.enqueue(message).await?);
        }
        make_room(&mut pending, 1).await?;
        let sample = meter.stop(self.messages)?;
        producer.close(PATIENCE).await;
        Ok(sample)
    }

    async fn publish_sdk(&self, client: Client, topic: &str, in_flight: usize) -> Result<Sample> {
        let publisher = Pulsar::from_client(client).publisher(topic).await?;
        let meter = Meter::start(self.count)?;
        let mut pending = VecDeque::with_capacity(in_flight);
        for _ in 0..self.messages {
            make_room(&mut pending, in_flight).await?;
            pending.push_back(publisher.publish(URN, &ORDER).enqueue());
        }
        make_room(&mut pending, 1).await?;
        let sample = meter.stop(self.messages)?;
        publisher.sink().close(PATIENCE).await;
        Ok(sample)
    }

    async fn consume_bare(&self, client: &Client, topic: &str) -> Result<Sample> {
        let meter = Meter::start(self.count)?;
        let consumer = client
            .consumer(topic, SUBSCRIPTION)
            .subscription_type(SubscriptionType::Shared)
            .open()
            .await?;
        let mut pending = VecDeque::with_capacity(UNCONFIRMED_ACKS);
        for _ in 0..self.messages {
            make_room(&mut pending, UNCONFIRMED_ACKS).await?;
            let message = consumer.receive().await?;
            pending.push_back(consumer.ack(message.ticket));
        }
        make_room(&mut pending, 1).await?;
        let sample = meter.stop(self.messages)?;
        consumer.close(PATIENCE).await;
        Ok(sample)
    }

    async fn consume_sdk(&self, client: Client, topic: &str) -> Result<Sample> {
        let meter = Meter::start(self.count)?;
        let (left, done) = (Arc::new(AtomicU32::new(self.messages)), Arc::new(Notify::new()));
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
        let consumer = Pulsar::from_client(client)
            .subscription(topic, SUBSCRIPTION)
            .subscription_type(SubscriptionType::Shared)
            .open(builder)
            .await?;
        consumer.run(done.notified()).await;
        let sample = meter.stop(self.messages)?;
        consumer.close().await?;
        Ok(sample)
    }
}

/// Waits for the oldest until fewer than `limit` are pending.
pub(crate) async fn make_room<F, T, E>(pending: &mut VecDeque<F>, limit: usize) -> Result<()>
where
    F: Future<Output = std::result::Result<T, E>>,
    E: std::error::Error + 'static,
{
    while pending.len() >= limit {
        if let Some(oldest) = pending.pop_front() {
            oldest.await?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
pub(crate) struct Order {
    order_id: u32,
    customer: &'static str,
    total: f64,
    note: &'static str,
}

pub(crate) const ORDER: Order = Order {
    order_id: 1042,
    customer: "customer-12",
    total: 119.5,
    note: "ring twice",
};

/// The body and the properties of the message that is published, as the SDK makes them.
///
/// # Errors
///
/// None: the message is well-formed.
pub fn encoded(topic: &str) -> Result<(Bytes, Properties)> {
    let stamp = Stamp {
        message_id: [7; 16],
        trace_id: [9; 16],
        now_ms: 1_790_000_000_000,
    };
    let envelope = NewEnvelope::new(URN, Data::from_serialize(&ORDER)?)
        .queue(short_name(topic))
        .build(&stamp)?;
    let properties = Properties::project(&envelope);
    Ok((envelope.encode()?, properties))
}
