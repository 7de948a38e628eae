//! What is confirmed when, and what goes on at the same time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use babelqueue_pulsar::pulsar_tokio;
use babelqueue_pulsar::{
    Consumer, Envelope, GivenSubscription, PublishErrorKind, Publisher, SubscriptionType,
};
use pulsar_testing::broker;
use serde_json::json;

use crate::support::{
    Diary, ORDER, PATIENCE, Scene, closed_within_patience, order, payload, poll, property, until, within,
};

on_every_type!(
    poll_returns_after_the_settlement_is_confirmed,
    run_goes_on_while_acknowledgements_are_unconfirmed;
    only where counted: two_consumers_handle_each_message_once,
);

async fn poll_returns_after_the_settlement_is_confirmed(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "poll");
    let diary = Diary::default();
    scene.send_all(std::iter::repeat_n(order(), 20)).await;
    let builder = Consumer::builder().handler(ORDER, diary.succeeds());
    let consumer = scene.consumer(kind, builder).await;

    for left in (0..20).rev() {
        poll(&consumer).await;
        assert_eq!(scene.backlog(), left);
    }
}

/// A consumer whose handler notes how many acknowledgements are unanswered when it is called.
async fn watching(scene: &Scene, kind: SubscriptionType) -> (Consumer, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (most, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let subscription: Arc<pulsar_tokio::Consumer> = scene.given(kind).await;
    let (watched, noted, counted) = (subscription.clone(), most.clone(), runs.clone());
    let builder = Consumer::builder().handler(ORDER, move |_, _| {
        noted.fetch_max(watched.stats()[0].unanswered_acks, Ordering::Relaxed);
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(()))
    });
    let consumer = GivenSubscription::new(subscription)
        .client(&scene.client)
        .build(builder)
        .expect("settings");
    (consumer, most, runs)
}

async fn run_goes_on_while_acknowledgements_are_unconfirmed(kind: SubscriptionType) {
    const MESSAGES: usize = 500;
    let scene = Scene::new(broker!(), "run");
    let producer = scene.producer(&scene.topic).await;
    let mut receipts = Vec::new();
    for _ in 0..MESSAGES {
        receipts.push(producer.enqueue(order()).await.expect("room"));
    }
    for receipt in receipts {
        within("a receipt", receipt).await.expect("a receipt");
    }
    let (consumer, most, runs) = watching(&scene, kind).await;
    for _ in 0..5 {
        poll(&consumer).await;
    }
    assert_eq!(most.load(Ordering::Relaxed), 0, "poll waits for confirmations");

    let handled = until("all are handled", || runs.load(Ordering::Relaxed) == MESSAGES);
    within("the worker's end", consumer.run(handled)).await;

    assert!(most.load(Ordering::Relaxed) > 0, "run waits for confirmations");
    assert_eq!(scene.backlog(), 0, "run ends when all is confirmed");
}

#[tokio::test]
async fn a_follow_up_of_a_handler_stays_in_the_trace() {
    let scene = Scene::new(broker!(), "trace");
    let publisher: Publisher = within("a publisher", scene.pulsar().publisher(&scene.dlq).into_future())
        .await
        .expect("a publisher");
    let builder = Consumer::builder().handler(ORDER, move |envelope, _| {
        let publisher = publisher.clone();
        async move {
            let data = json!({"order": envelope.meta().id()});
            let follow_up = publisher.publish("urn:babel:invoices:issued", &data);
            follow_up.in_trace_of(&envelope).await?;
            Ok(())
        }
    });
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;
    let id = scene
        .publisher()
        .await
        .publish(ORDER, &json!({}))
        .await
        .expect("a message");

    poll(&consumer).await;

    let first = Envelope::decode(&payload(&scene.written(&scene.topic).await[0])).expect("an envelope");
    let record = scene.dead_lettered().await;
    let follow_up = Envelope::decode(&payload(&record)).expect("an envelope");
    assert_eq!(follow_up.trace_id(), first.trace_id());
    assert_eq!(
        property(&record, "bq-trace-id").as_deref(),
        Some(first.trace_id())
    );
    assert_ne!(follow_up.meta().id(), first.meta().id());
    assert_eq!(
        follow_up.data_json(),
        format!(r#"{{"order":"{id}"}}"#),
        "the id that was returned is the one of the envelope"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_publish_through_one_publisher() {
    const TASKS: usize = 16;
    const EACH: usize = 100;
    let scene = Scene::new(broker!(), "many");
    let publisher = scene.publisher().await;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let publisher = publisher.clone();
            tokio::spawn(async move {
                // All at once: more than the producer has room for.
                let receipts: Vec<_> = (0..EACH)
                    .map(|n| publisher.publish(ORDER, &json!({"task": task, "n": n})).enqueue())
                    .collect();
                let mut ids = Vec::new();
                for receipt in receipts {
                    ids.push(within("a receipt", receipt).await.expect("a message").to_string());
                }
                ids
            })
        })
        .collect();
    let mut ids = BTreeSet::new();
    for task in tasks {
        ids.extend(task.await.expect("no panic"));
    }

    assert_eq!(ids.len(), TASKS * EACH);
    let mut next = [0; TASKS];
    for message in scene.written(&scene.topic).await {
        let envelope = Envelope::decode(&payload(&message)).expect("an envelope");
        assert!(ids.remove(envelope.meta().id()), "twice or unknown");
        let data: serde_json::Value = envelope.data().expect("data");
        let (task, n) = (data["task"].as_u64().unwrap(), data["n"].as_u64().unwrap());
        let next = &mut next[usize::try_from(task).unwrap()];
        assert_eq!(n, *next, "the order of a task's calls is kept");
        *next += 1;
    }
    assert_eq!(next, [EACH as u64; TASKS]);
}

#[tokio::test]
async fn closing_a_publisher_waits_for_all_that_was_published_although_nobody_holds_a_receipt() {
    const MORE_THAN_HAS_ROOM: usize = 1_200;
    let scene = Scene::new(broker!(), "dropped");
    let publisher = scene.publisher().await;
    for n in 0..MORE_THAN_HAS_ROOM {
        drop(publisher.publish(ORDER, &json!({"n": n})).enqueue());
    }

    within("the end of a publisher", publisher.sink().close(PATIENCE)).await;

    assert_eq!(scene.written(&scene.topic).await.len(), MORE_THAN_HAS_ROOM);
    let error = publisher.publish(ORDER, &json!({})).await.expect_err("closed");
    assert_eq!(error.kind(), PublishErrorKind::Closed);
}

async fn two_consumers_handle_each_message_once(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "two");
    let diary = Diary::default();
    let builder = || Consumer::builder().handler(ORDER, diary.succeeds());
    let (first, second) = (
        scene.consumer(kind, builder()).await,
        scene.consumer(kind, builder()).await,
    );
    scene.send_all(std::iter::repeat_n(order(), 100)).await;

    let all = || until("all are handled", || diary.count("run ") >= 100);
    within("both", async {
        tokio::join!(first.run(all()), second.run(all()))
    })
    .await;

    assert_eq!(diary.count("run "), 100);
    assert_eq!(scene.backlog(), 0);
    closed_within_patience(&first).await;
    closed_within_patience(&second).await;
}
