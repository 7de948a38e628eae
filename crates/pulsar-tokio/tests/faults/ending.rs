//! Ends of every kind: killed, closed, dropped.

use std::env;
use std::future::poll_fn;
use std::io::{BufRead, BufReader};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::task::Poll;
use std::time::{Duration, Instant};

use pulsar_testing::{broker, eventually};
use pulsar_tokio::{Client, NewMessage, SubscriptionType};

use crate::scene::*;
use crate::support::*;

/// For the worker: the broker and the topic.
const KILLED: &str = "PULSAR_TOKIO_TEST_KILLED";
const KILLED_AFTER: usize = 500;

/// Not a test of its own: the process that the next one kills.
#[tokio::test(flavor = "multi_thread")]
async fn killed_worker() {
    let Ok(killed) = env::var(KILLED) else {
        return;
    };
    let (url, topic) = killed.split_once(' ').expect("the broker and the topic");
    let consumer = consumer(&Client::new(url).unwrap(), topic, SubscriptionType::Shared).await;
    for _ in 0..KILLED_AFTER {
        let message = receive(&consumer).await;
        ack(&consumer, message.ticket).await;
    }
    println!("\nconfirmed");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn none_whose_confirmation_was_awaited_comes_again_after_a_kill() {
    const REST: usize = 100;
    let broker = broker!();
    let topic = broker.topic("killed");
    let client = client(&broker);
    // The subscription has to be there before the messages.
    consumer(&client, &topic, SubscriptionType::Shared)
        .await
        .close(PATIENCE)
        .await;
    publish(&producer(&client, &topic).await, KILLED_AFTER + REST).await;

    let mut worker = Command::new(env::current_exe().unwrap())
        .args(["--exact", "ending::killed_worker", "--nocapture"])
        .env(KILLED, format!("{} {topic}", broker.url()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(worker.stdout.take().unwrap());
    let confirmed = output.lines().any(|line| line.unwrap() == "confirmed");
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(confirmed);

    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    drain(&consumer, REST).await;
    assert!(is_quiet(&consumer, Duration::from_secs(1)).await, "0 come again");
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
    accounts_agree(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_with_a_full_queue_closes_at_once_and_loses_nothing() {
    const COUNT: usize = 1_000;
    let scene = Scene::new(broker!(), "full");
    let opening = earliest(&scene.client, &scene.topic, SubscriptionType::Shared)
        .receive_window(100)
        .open();
    let first = within("a consumer", opening).await.unwrap();
    publish(&producer(&scene.client, &scene.topic).await, COUNT).await;
    eventually("the queue is full", || first.stats()[0].queued == 100);
    let start = Instant::now();
    within("the end", first.close(PATIENCE)).await;
    assert!(start.elapsed() < Duration::from_secs(2));
    let second = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let mut texts = drain(&second, COUNT).await;
    texts.sort_unstable_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(texts, numbers(0..COUNT));
    scene.is_settled(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_is_dropped_still_sends_the_acknowledgements_that_wait() {
    const COUNT: usize = 300;
    let scene = Scene::new(broker!(), "dropped");
    let first = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    publish(&producer(&scene.client, &scene.topic).await, COUNT).await;
    scene.proxy.withhold("ACK_RESPONSE");
    let mut acks = Vec::new();
    for _ in 0..COUNT {
        let message = receive(&first).await;
        acks.push(first.ack(message.ticket));
    }
    drop(first);
    scene.proxy.pass("ACK_RESPONSE");
    for ack in acks {
        within("a confirmation", ack).await.unwrap();
    }
    let second = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    scene.is_settled(&second).await;
    assert!(second.try_receive().unwrap().is_none());
}

/// Polls `work` at most `polls` times and drops it.
async fn poll_and_drop<T>(polls: usize, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    let polled = poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if left <= 1 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    });
    within("the next poll", polled).await
}

#[tokio::test(flavor = "multi_thread")]
async fn futures_dropped_at_every_await_while_connections_are_cut_leak_nothing() {
    let scene = Scene::new(broker!(), "cancelled");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    for round in 0..30 {
        let polls = 1 + round % 5;
        let other = format!("{}-other", scene.topic);
        drop(poll_and_drop(polls, producer.send(NewMessage::new(round.to_string()))).await);
        if round % 3 == 0 {
            scene.proxy.cut();
        }
        drop(
            poll_and_drop(
                polls,
                earliest(&scene.client, &other, SubscriptionType::Exclusive).open(),
            )
            .await,
        );
        drop(poll_and_drop(polls, scene.client.producer(&other).name("one").open()).await);
        drop(poll_and_drop(polls, consumer.broker_stats()).await);
        if let Some(message) = poll_and_drop(polls, consumer.receive()).await {
            drop(poll_and_drop(polls, consumer.ack(message.unwrap().ticket)).await);
        }
    }
    scene.resumes(&producer, &consumer).await;
    while let Ok(Ok(message)) = tokio::time::timeout(Duration::from_secs(1), consumer.receive()).await {
        ack(&consumer, message.ticket).await;
    }
    assert_eq!(producer.pending(), 0);
    scene.is_settled(&consumer).await;
    let other = format!("{}-other", scene.topic);
    eventually("nothing is left open", || {
        if !scene.broker.admin().exists(&other) {
            return true;
        }
        let stats = scene.broker.admin().stats(&other);
        let consumers = stats.subscriptions.get(SUB).map_or(0, |sub| sub.consumers.len());
        consumers == 0 && stats.producers.is_empty()
    });
}
