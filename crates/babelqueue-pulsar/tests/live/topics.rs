//! A worker on several topics: everything that is written of a message stays with the topic that it came from.

use babelqueue_pulsar::pulsar_tokio::Topics;
use babelqueue_pulsar::{Consumer, InitialPosition, Pulsar, SubscriptionType, dead_letter_topic, short_name};
use pulsar_testing::{Broker, broker};
use serde_json::json;

use crate::support::{Diary, ORDER, SUB, offline, until, within};

const CAP: u32 = 2;

async fn retries_and_dead_letters_stay_with_their_topic(broker: Broker, topics: Topics, names: [String; 2]) {
    let pulsar = Pulsar::new(broker.url()).expect("a URL");
    let diary = Diary::default();
    let notes = diary.clone();
    let builder = Consumer::builder()
        .max_attempts(CAP)
        .handler(ORDER, move |envelope, _message| {
            notes.note(format!("{} run {}", envelope.meta().queue(), envelope.attempts()));
            async { Err(offline()) }
        });
    for name in &names {
        let publisher = within("a publisher", pulsar.publisher(name).into_future())
            .await
            .expect("a publisher");
        publisher
            .publish(ORDER, &json!({"n": 1}))
            .await
            .expect("a message");
    }
    let subscription = pulsar
        .subscription(topics, SUB)
        .subscription_type(SubscriptionType::Shared)
        .initial_position(InitialPosition::Earliest)
        .dead_letters();
    let consumer = within("a consumer", subscription.open(builder))
        .await
        .expect("a consumer");
    let runs = names.len() * CAP as usize;
    let settled = until("all is settled", || {
        diary.lines().len() >= runs && names.iter().all(|name| broker.admin().backlog(name, SUB) == 0)
    });
    within("the end of the worker", consumer.run(settled)).await;

    let mut lines = diary.lines();
    lines.sort();
    let mut expected: Vec<_> = names
        .iter()
        .flat_map(|name| (0..CAP).map(move |run| format!("{} run {run}", short_name(name))))
        .collect();
    expected.sort();
    assert_eq!(lines, expected);
    for name in &names {
        // One for each message and attempt on the topic itself, one record beside it.
        assert_eq!(
            broker.admin().stats(name).msg_in_counter,
            u64::from(CAP),
            "{name}"
        );
        let dead = dead_letter_topic(name);
        assert_eq!(
            broker
                .admin()
                .backlog(&dead, babelqueue_pulsar::DEAD_LETTER_SUBSCRIPTION),
            1,
            "{dead}"
        );
    }
    consumer.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_topics_keep_their_retries_and_dead_letters_apart() {
    let broker = broker!();
    let names = [broker.topic("first"), broker.topic("second")];
    broker.admin().create_partitioned(&names[1], 2);
    let topics = Topics::of(&names);
    retries_and_dead_letters_stay_with_their_topic(broker, topics, names).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_of_a_pattern_keep_their_retries_and_dead_letters_apart() {
    let broker = broker!();
    let namespace = broker.namespace("kept-apart");
    let names = ["orders-first", "orders-second"].map(|local| broker.topic_in(&namespace, local));
    // Not the dead-letter topics, which lie beside them.
    let topics = Topics::pattern(format!("persistent://{namespace}/[^.]+"));
    retries_and_dead_letters_stay_with_their_topic(broker, topics, names).await;
}
