//! Rows 7 and 12 of the decision table: what is acknowledged although, or because, a handler or hook saw it.

use babelqueue_pulsar::{Consumer, SubscriptionType};
use pulsar_testing::broker;

use crate::support::{Diary, ORDER, Scene, order, poll};

on_every_type!(
    row_7_a_message_nobody_handles_is_acknowledged_after_the_hook,
    row_7_a_failing_hook_counts_as_a_failing_handler,
    row_12_a_handled_message_is_acknowledged,
    row_12_the_property_routes_and_a_mismatch_is_told_before_the_handler_runs,
);

async fn row_7_a_message_nobody_handles_is_acknowledged_after_the_hook(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-7");
    let diary = Diary::default();
    scene
        .send(order().property("bq-job", "urn:babel:orders:moved"))
        .await;
    let builder = diary.hooks(Consumer::builder()).on_unknown_urn(diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(
        diary.lines(),
        [
            format!("mismatch urn:babel:orders:moved {ORDER}"),
            format!("run {ORDER} 0")
        ]
    );
    scene.nothing_written(1).await;
}

async fn row_7_a_failing_hook_counts_as_a_failing_handler(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-7-fails");
    let diary = Diary::default();
    scene.send(order()).await;
    let builder = diary.hooks(Consumer::builder()).on_unknown_urn(diary.fails());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(
        diary.lines(),
        [
            format!("run {ORDER} 0"),
            "error HandlerFailed envelope message: probe offline".into()
        ]
    );
    assert_eq!(scene.backlog(), 1);
    scene.retried(1).await;
}

async fn row_12_a_handled_message_is_acknowledged(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-12");
    let diary = Diary::default();
    scene.send(order().property("bq-attempts", "2")).await;
    let builder = diary.hooks(Consumer::builder()).handler(ORDER, diary.succeeds());
    let consumer = scene.consumer_with_dlq(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(diary.lines(), [format!("run {ORDER} 2")]);
    scene.nothing_written(1).await;
}

async fn row_12_the_property_routes_and_a_mismatch_is_told_before_the_handler_runs(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-12-mismatch");
    let diary = Diary::default();
    scene
        .send(order().property("bq-job", " urn:babel:orders:moved\t"))
        .await;
    let builder = diary
        .hooks(Consumer::builder())
        .handler("urn:babel:orders:moved", diary.succeeds());
    let consumer = scene.consumer(kind, builder).await;

    poll(&consumer).await;

    assert_eq!(scene.backlog(), 0);
    assert_eq!(
        diary.lines(),
        [
            format!("mismatch urn:babel:orders:moved {ORDER}"),
            format!("run {ORDER} 0")
        ]
    );
}
