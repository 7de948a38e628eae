//! Publishing and consuming with `pulsar-tokio`, everything on one thread and one connection.

use std::collections::VecDeque;
use std::future::Future;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pulsar_tokio::{Client, Consumer, InitialPosition, NewMessage, SubscriptionType};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{BYTES, SUBSCRIPTION};
use crate::Result;
use crate::work::make_room;

const IN_FLIGHT: usize = 500;
const UNCONFIRMED_ACKS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs it on this thread, within five minutes.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { timeout(PATIENCE, work).await })?
}

pub(super) async fn subscribe(client: &Client, topic: &str) -> Result<Consumer> {
    let consumer = client
        .consumer(topic, SUBSCRIPTION)
        .subscription_type(SubscriptionType::Shared)
        .initial_position(InitialPosition::Earliest)
        .open();
    Ok(consumer.await?)
}

/// Makes the topic too.
pub(super) fn make_subscription(url: &str, topic: &str) -> Result<()> {
    block_on(async {
        let client = Client::new(url)?;
        subscribe(&client, topic).await?.close(PATIENCE).await;
        Ok(())
    })
}

pub(super) fn produce(url: &str, topic: &str, count: u32) -> Result<Duration> {
    block_on(async {
        let client = Client::new(url)?;
        let since = Instant::now();
        publish(&client, topic, count, BYTES, None).await?;
        Ok(since.elapsed())
    })
}

/// Publishes, each message with a permit where there is a semaphore, and waits until everything is stored.
pub(super) async fn publish(
    client: &Client,
    topic: &str,
    count: u32,
    bytes: usize,
    permits: Option<&Semaphore>,
) -> Result<()> {
    let body = Bytes::from(vec![b'x'; bytes]);
    let producer = client.producer(topic).open().await?;
    let mut pending = VecDeque::with_capacity(IN_FLIGHT);
    for _ in 0..count {
        make_room(&mut pending, IN_FLIGHT).await?;
        if let Some(permits) = permits {
            permits.acquire().await?.forget();
        }
        pending.push_back(producer.enqueue(NewMessage::new(body.clone())).await?);
    }
    make_room(&mut pending, 1).await?;
    producer.close(PATIENCE).await;
    Ok(())
}

pub(super) fn consume(url: &str, topic: &str, count: u32) -> Result<Duration> {
    block_on(async {
        let client = Client::new(url)?;
        let since = Instant::now();
        let consumer = subscribe(&client, topic).await?;
        take(&consumer, count, || {}).await?;
        let took = since.elapsed();
        consumer.close(PATIENCE).await;
        Ok(took)
    })
}

/// Receives so many messages and acknowledges each, until all of that is confirmed.
pub(super) async fn take(consumer: &Consumer, count: u32, mut taken: impl FnMut()) -> Result<()> {
    let mut pending = VecDeque::with_capacity(UNCONFIRMED_ACKS);
    for _ in 0..count {
        make_room(&mut pending, UNCONFIRMED_ACKS).await?;
        let message = consumer.receive().await?;
        pending.push_back(consumer.ack(message.ticket));
        taken();
    }
    make_room(&mut pending, 1).await
}
