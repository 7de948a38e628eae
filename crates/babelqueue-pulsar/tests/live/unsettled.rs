//! Messages that stay unsettled: what a running worker does with one whose record cannot be written (row 17 of the
//! decision table), and what a consumer says whose subscription is closed (rows 18 and 19).

use std::sync::Arc;

use babelqueue_pulsar::{
    Consumer, ConsumerError, ConsumerErrorKind, DEAD_LETTER_SUBSCRIPTION, GivenSubscription, InitialPosition,
    Pulsar, SubscriptionType,
};
use pulsar_testing::{Proxy, broker};
use tokio::sync::oneshot;

use crate::support::{
    Diary, ORDER, PATIENCE, SUB, Scene, closed_within_patience, dead_letter, offline, order, until, within,
};

on_every_type!(
    row_18_an_acknowledgement_on_a_closed_subscription_is_reported_and_returned,
    row_18_a_message_whose_acknowledgement_was_lost_comes_again_and_is_acknowledged_without_its_handler,
    row_18_an_acknowledgement_whose_confirmation_was_lost_is_reported_and_the_next_message_is_handled,
    polling_a_closed_subscription_is_an_error_at_once;
    only where counted: row_19_a_message_that_cannot_be_given_back_is_reported_and_returned;
    only where rewound:
        a_worker_writes_a_held_message_when_the_topic_is_back_without_handling_it_again,
        a_worker_that_stops_leaves_a_held_message_to_the_next_one,
);

async fn a_worker_writes_a_held_message_when_the_topic_is_back_without_handling_it_again(
    kind: SubscriptionType,
) {
    let scene = Scene::new(broker!(), "held");
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder.max_attempts(1)).await;
    scene.admin().terminate(&scene.dlq);
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(async move {
        consumer.run(async { stopped.await.unwrap_or(()) }).await;
        consumer
    });

    until("a few writes failed", || {
        diary.count("error Write envelope message: dead letter") >= 3
    })
    .await;
    assert_eq!(scene.backlog(), 1);
    scene.admin().delete(&scene.dlq, true);
    until("the message is settled", || scene.backlog() == 0).await;

    let records = scene.kept(&scene.dlq, DEAD_LETTER_SUBSCRIPTION).await;
    assert_eq!(records.len(), 1);
    assert_eq!(dead_letter(&records[0])["reason"], "failed");
    assert_eq!(diary.count("run "), 1);
    stop.send(()).expect("the worker is there");
    let consumer = within("the worker's end", worker).await.expect("no panic");
    closed_within_patience(&consumer).await;
}

async fn a_worker_that_stops_leaves_a_held_message_to_the_next_one(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "held-stop");
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder.max_attempts(1)).await;
    scene.admin().terminate(&scene.dlq);

    let failed = until("a write failed", || {
        diary.count("error Write envelope message: dead letter") >= 1
    });
    within("the worker's end", consumer.run(failed)).await;
    closed_within_patience(&consumer).await;

    assert_eq!(diary.count("run "), 1);
    assert_eq!(scene.backlog(), 1);
    let builder = Consumer::builder().handler(ORDER, diary.succeeds());
    let next = scene.consumer(kind, builder).await;
    crate::support::poll(&next).await;
    assert_eq!(diary.count(&format!("run {ORDER} 0")), 2);
    assert_eq!(scene.backlog(), 0);
}

async fn row_18_an_acknowledgement_on_a_closed_subscription_is_reported_and_returned(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-18");
    let diary = Diary::default();
    scene.send(order()).await;
    let subscription = scene.given(kind).await;
    let closing = Arc::clone(&subscription);
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, move |_, _| {
        let closing = Arc::clone(&closing);
        async move {
            closing.close(PATIENCE).await;
            Ok(())
        }
    });
    let consumer = GivenSubscription::new(subscription)
        .client(&scene.client)
        .build(builder)
        .expect("settings");

    let error = refused(&consumer).await;

    assert_eq!(error.kind(), ConsumerErrorKind::Ack);
    assert_eq!(
        diary.lines(),
        ["error Ack envelope message: acknowledgement was not confirmed"]
    );
    assert_eq!(scene.backlog(), 1);
}

async fn row_18_a_message_whose_acknowledgement_was_lost_comes_again_and_is_acknowledged_without_its_handler(
    kind: SubscriptionType,
) {
    let scene = Scene::new(broker!(), "row-18-lost");
    let proxy = Proxy::before(&scene.broker);
    let diary = Diary::default();
    scene.send(order()).await;
    let consumer = behind(&proxy, &scene, kind, &diary).await;
    let before = proxy.accepted();

    let error = refused_when_cut_off_from(&consumer, &proxy, "ACK").await;

    assert_eq!(error.kind(), ConsumerErrorKind::Ack);
    assert_eq!(diary.lines(), handled_without_confirmation());
    assert_eq!(scene.backlog(), 1);
    until("it is acknowledged again", || proxy.kept_back("ACK") == 2).await;
    assert!(proxy.accepted() > before);
    proxy.pass("ACK");
    until("the broker has it", || scene.backlog() == 0).await;
    assert_eq!(diary.lines(), handled_without_confirmation());
}

async fn row_18_an_acknowledgement_whose_confirmation_was_lost_is_reported_and_the_next_message_is_handled(
    kind: SubscriptionType,
) {
    let scene = Scene::new(broker!(), "row-18-unconfirmed");
    let proxy = Proxy::before(&scene.broker);
    let diary = Diary::default();
    scene.send(order()).await;
    let consumer = behind(&proxy, &scene, kind, &diary).await;

    let error = refused_when_cut_off_from(&consumer, &proxy, "ACK_RESPONSE").await;

    assert_eq!(error.kind(), ConsumerErrorKind::Ack);
    assert_eq!(diary.lines(), handled_without_confirmation());
    assert_eq!(scene.backlog(), 0);
    proxy.pass("ACK_RESPONSE");
    scene.send(order()).await;
    crate::support::poll(&consumer).await;
    let mut lines = handled_without_confirmation();
    lines.push(format!("run {ORDER} 0"));
    assert_eq!(diary.lines(), lines);
    assert_eq!(scene.backlog(), 0);
}

/// A consumer whose handler succeeds, behind the proxy.
async fn behind(proxy: &Proxy, scene: &Scene, kind: SubscriptionType, diary: &Diary) -> Consumer {
    let subscription = Pulsar::new(proxy.url())
        .expect("the proxy's URL is one")
        .subscription(&scene.topic, SUB)
        .subscription_type(kind)
        .initial_position(InitialPosition::Earliest);
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    within("a consumer", subscription.open(builder))
        .await
        .expect("a consumer")
}

/// Takes one delivery to the error that it ends with, as the connection is cut when such a frame is on its way.
async fn refused_when_cut_off_from(consumer: &Consumer, proxy: &Proxy, frame: &'static str) -> ConsumerError {
    proxy.withhold(frame);
    let losing = async {
        until("the message is acknowledged", || proxy.kept_back(frame) == 1).await;
        proxy.cut();
    };
    tokio::join!(refused(consumer), losing).0
}

fn handled_without_confirmation() -> Vec<String> {
    vec![
        format!("run {ORDER} 0"),
        "error Ack envelope message: acknowledgement was not confirmed".to_owned(),
    ]
}

async fn row_19_a_message_that_cannot_be_given_back_is_reported_and_returned(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-19");
    let diary = Diary::default();
    scene.send(order()).await;
    let subscription = scene.given(kind).await;
    let closing = Arc::clone(&subscription);
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, move |_, _| {
        let closing = Arc::clone(&closing);
        async move {
            closing.close(PATIENCE).await;
            Err(offline())
        }
    });
    let consumer = GivenSubscription::new(subscription)
        .build(builder)
        .expect("settings");

    let error = refused(&consumer).await;

    assert_eq!(error.kind(), ConsumerErrorKind::Nack);
    assert_eq!(
        diary.lines(),
        [
            "error HandlerFailed envelope message: probe offline",
            "error Nack envelope message: message could not be given back"
        ]
    );
    assert_eq!(scene.backlog(), 1);
}

async fn polling_a_closed_subscription_is_an_error_at_once(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "closed");
    let consumer = scene.consumer(kind, Consumer::builder()).await;
    closed_within_patience(&consumer).await;

    let error = within("an error", consumer.poll()).await.expect_err("closed");

    assert_eq!(error.kind(), ConsumerErrorKind::Receive);
    assert!(!error.is_transient());
    closed_within_patience(&consumer).await;
}

/// Takes one delivery to the error that it ends with.
async fn refused(consumer: &Consumer) -> ConsumerError {
    let refused = async {
        loop {
            match consumer.poll().await {
                // On Failover the broker waits a second before it delivers anything.
                Ok(0) => {}
                Ok(handled) => panic!("{handled} messages are settled"),
                Err(error) => return error,
            }
        }
    };
    within("an error", refused).await
}
