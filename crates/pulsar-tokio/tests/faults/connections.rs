//! Connections that cannot be made, or lead nowhere.

use std::fs;
use std::time::{Duration, Instant};

use pulsar_testing::{Direction, broker, eventually};
use pulsar_tokio::{ErrorKind, Health, NewMessage, ServerError, SubscriptionType};

use crate::scene::*;
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_the_handshake_is_an_error_at_first_and_a_pause_later() {
    let scene = Scene::new(broker!(), "handshake");
    scene.proxy.hang_up(true);
    let start = Instant::now();
    let error = within("an answer", scene.client.producer(&scene.topic).open()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unreachable);
    assert!(start.elapsed() < Duration::from_secs(3));

    scene.proxy.hang_up(false);
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    scene.proxy.hang_up(true);
    let accepted = scene.proxy.accepted();
    scene.proxy.cut();
    eventually("both have tried more than once", || {
        scene.proxy.accepted() >= accepted + 6
    });
    scene.proxy.hang_up(false);
    scene.resumes(&producer, &consumer).await;
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_while_the_broker_refuses_connections() {
    let outage = Duration::from_secs(if soak() { 10 } else { 4 });
    let scene = Scene::new(broker!(), "refused");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    scene.proxy.refuse(true);
    scene.proxy.cut();
    let mut receipts = Vec::new();
    for number in 0..100 {
        receipts.push(
            producer
                .enqueue(NewMessage::new(number.to_string()))
                .await
                .unwrap(),
        );
    }
    // The length of the outage is what is tested.
    assert!(is_quiet(&consumer, outage).await);
    scene.proxy.refuse(false);
    let since = Instant::now();
    let mut tally = Tally::default();
    while tally.different() < 100 {
        tally.one(&consumer).await;
    }
    assert!(since.elapsed() < Duration::from_secs(6), "{:?}", since.elapsed());
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    tally.ends().await;
    // The proxy cuts a moment after it is told: what was sent until then may have got through without its receipt.
    assert!(tally.duplicates() <= 100, "{}", tally.duplicates());
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn producer_and_consumer_say_how_they_are_and_why() {
    let scene = Scene::new(broker!(), "health");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    let health = || [producer.health(), consumer.stats()[0].health];
    let errors = || [producer.last_error(), consumer.stats()[0].last_error.clone()];
    assert_eq!(health(), [Health::Open; 2]);
    assert!(errors().iter().all(Option::is_none));

    scene.proxy.refuse(true);
    scene.proxy.cut();
    eventually("both say why they are away", || {
        let is_it = |error: pulsar_tokio::Error| error.kind() == ErrorKind::Unreachable;
        errors().into_iter().all(|error| error.is_some_and(is_it))
    });
    assert_eq!(health(), [Health::Reconnecting; 2]);

    scene.proxy.refuse(false);
    scene.resumes(&producer, &consumer).await;
    assert_eq!(health(), [Health::Open; 2]);
    assert!(errors().iter().all(Option::is_none));

    within("the end", producer.close(PATIENCE)).await;
    within("the end", consumer.close(PATIENCE)).await;
    assert_eq!(health(), [Health::Ended; 2]);
    let is_it = |error: pulsar_tokio::Error| error.kind() == ErrorKind::Closed;
    assert!(errors().into_iter().all(|error| error.is_some_and(is_it)));
}

/// Nanoseconds on a processor of all threads of this process with this name.
fn time_of(threads: &str) -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux");
    let times = tasks.filter_map(|task| {
        let task = task.ok()?.path();
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let times = fs::read_to_string(task.join("schedstat")).ok()?;
        (name.trim() == threads).then(|| times.split(' ').next()?.parse::<u64>().ok())?
    });
    times.sum()
}

#[test]
fn a_black_hole_is_noticed_left_and_costs_nothing_meanwhile() {
    const THREADS: &str = "black-hole";
    let scene = Scene::new(broker!(), "hole");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(THREADS)
        .enable_all()
        .build()
        .unwrap();
    let work = runtime.spawn(async move {
        let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
        let producer = scene.patient_producer().await;
        scene.proxy.hold(Direction::Both);
        let receipt = producer.enqueue(NewMessage::new("held")).await.unwrap();
        let accepted = scene.proxy.accepted();
        let (start, before) = (Instant::now(), time_of(THREADS));
        assert!(is_quiet(&consumer, Duration::from_secs(5)).await);
        let (wall, spent) = (start.elapsed(), Duration::from_nanos(time_of(THREADS) - before));
        println!("{spent:?} of processor time in {wall:?}");
        assert!(spent < wall / 20, "{spent:?} in {wall:?}");
        assert!(
            scene.proxy.accepted() > accepted,
            "the dead connections were left"
        );
        scene.proxy.release(Direction::Both);
        scene.resumes(&producer, &consumer).await;
        within("a receipt", receipt).await.unwrap();
        scene.is_settled(&consumer).await;
    });
    runtime.block_on(work).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_only_takes_and_never_answers_is_left() {
    let scene = Scene::new(broker!(), "mute");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    scene.proxy.hold(Direction::ToClient);
    let receipt = producer.enqueue(NewMessage::new("held")).await.unwrap();
    assert!(is_quiet(&consumer, Duration::from_secs(3)).await);
    scene.proxy.release(Direction::ToClient);
    scene.resumes(&producer, &consumer).await;
    within("a receipt", receipt).await.unwrap();
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_way_loses_nothing_and_is_no_dead_one() {
    let scene = Scene::new(broker!(), "slow");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    scene.proxy.slow(Duration::from_millis(10));
    let accepted = scene.proxy.accepted();
    publish(&producer(&scene.client, &scene.topic).await, 100).await;
    let mut texts = drain(&consumer, 100).await;
    texts.sort_unstable_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(texts, numbers(0..100));
    assert!(
        scene.proxy.accepted() <= accepted + 1,
        "no connection was given up"
    );
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_that_fail_while_the_topic_is_unloaded_are_asked_again() {
    let scene = Scene::new(broker!(), "lookup");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    for code in [ServerError::ServiceNotReady, ServerError::AuthorizationError] {
        scene.proxy.fail_lookups(Some(code));
        scene.broker.admin().unload(&scene.topic);
        scene.proxy.cut();
        eventually("both say why they are away", || {
            let errors = [producer.last_error(), consumer.stats()[0].last_error.clone()];
            let is_it = |error: pulsar_tokio::Error| error.kind() == ErrorKind::Refused(code);
            errors.into_iter().all(|error| error.is_some_and(is_it))
        });
        // The length of the outage is what is tested.
        assert!(is_quiet(&consumer, Duration::from_secs(if soak() { 10 } else { 3 })).await);
        scene.proxy.fail_lookups(None);
        scene.resumes(&producer, &consumer).await;
    }
    scene.is_settled(&consumer).await;
}
