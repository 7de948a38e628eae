//! Delayed delivery.

use std::time::{Duration, Instant};

use babelqueue_pulsar::{Consumer, SubscriptionType};
use pulsar_testing::broker;
use serde_json::json;

use crate::support::{Diary, ORDER, Scene, offline, poll, property};

on_every_type!(
    ;
    only where counted: a_delayed_message_is_handled_after_its_delay_and_its_retry_at_once;
    only where rewound: a_delay_is_not_honoured,
);

async fn a_delayed_message_is_handled_after_its_delay_and_its_retry_at_once(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "delay");
    let diary = Diary::default();
    let times = diary.clone();
    let begin = Instant::now();
    let builder = Consumer::builder().handler(ORDER, move |envelope, _| {
        times.note(begin.elapsed().as_millis().to_string());
        let attempts = envelope.attempts();
        async move { if attempts == 0 { Err(offline()) } else { Ok(()) } }
    });
    let consumer = scene.consumer(kind, builder).await;
    let publisher = scene.publisher().await;
    let sent = begin.elapsed();
    let delay = Duration::from_secs(3);
    let id = publisher.publish(ORDER, &json!({})).delay(delay).await;
    id.expect("a message");

    poll(&consumer).await;
    poll(&consumer).await;

    let times: Vec<_> = diary
        .lines()
        .iter()
        .map(|ms| Duration::from_millis(ms.parse().expect("milliseconds")))
        .collect();
    // Brokers of 4.0.1 deliver what is due within the next tick of their clock, a second, at once.
    assert!(
        times[0] + Duration::from_secs(1) >= sent + delay,
        "handled {:?} after it was sent",
        times[0] - sent
    );
    assert!(times[0] < sent + Duration::from_secs(10));
    assert!(
        times[1] < times[0] + delay,
        "the retry waited {:?}",
        times[1] - times[0]
    );
    let retry = scene.retried(1).await;
    assert_eq!(retry.deliver_at_ms, None);
    assert_eq!(property(&retry, "bq-delay").as_deref(), Some("3000"));
}

async fn a_delay_is_not_honoured(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "not-delayed");
    let diary = Diary::default();
    let builder = Consumer::builder().handler(ORDER, diary.succeeds());
    let consumer = scene.consumer(kind, builder).await;
    let publisher = scene.publisher().await;
    let hour = Duration::from_secs(3_600);
    let id = publisher.publish(ORDER, &json!({})).delay(hour).await;
    id.expect("a message");

    poll(&consumer).await;

    assert_eq!(diary.lines(), [format!("run {ORDER} 0")]);
    assert!(scene.written(&scene.topic).await[0].deliver_at_ms.is_some());
}
