//! `Key_Shared` with ranges of keys that consumers name themselves, and what else a consumer says of itself.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use pulsar_testing::broker;
use pulsar_tokio::{ConsumerBuilder, ErrorKind, NewMessage, SubscriptionType};

use crate::support::*;

const COUNT: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn consumers_get_the_keys_of_their_ranges_and_a_range_is_nobody_elses() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("ranges"));
    let opening = |range: RangeInclusive<u16>| {
        earliest(&client, &topic, SubscriptionType::KeyShared)
            .key_ranges([range])
            .open()
    };
    let low = within("a consumer", opening(0..=29_999)).await.unwrap();
    let high = within("a consumer", opening(30_000..=u16::MAX)).await.unwrap();
    let error = within("a refusal", opening(20_000..=40_000)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");

    let producer = producer(&client, &topic).await;
    for number in 0..COUNT {
        let message = NewMessage::new(number.to_string()).key(format!("key-{}", number % 20));
        within("a receipt", producer.send(message)).await.unwrap();
    }
    let mut keys = [BTreeSet::new(), BTreeSet::new()];
    let mut count = 0;
    while count < COUNT {
        for (consumer, keys) in [&low, &high].into_iter().zip(&mut keys) {
            while let Ok(message) = tokio::time::timeout(Duration::from_millis(100), consumer.receive()).await
            {
                let message = message.unwrap();
                keys.insert(message.key.unwrap().text);
                ack(consumer, message.ticket).await;
                count += 1;
            }
        }
    }
    assert!(keys[0].is_disjoint(&keys[1]));
    assert!(!keys[0].is_empty() && !keys[1].is_empty());
    assert_eq!(keys[0].len() + keys[1].len(), 20);
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_that_cannot_be_are_refused_by_name() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("ranges"));
    let shared = |kind| earliest(&client, &topic, kind);
    let refusals: [(ConsumerBuilder, &str); 3] = [
        (
            shared(SubscriptionType::Shared).key_ranges([0..=1]),
            "on a Shared subscription",
        ),
        #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        (
            shared(SubscriptionType::KeyShared).key_ranges([5..=4]),
            "5..=4 is empty",
        ),
        (
            shared(SubscriptionType::KeyShared).key_ranges([10..=20, 0..=10]),
            "0..=10 and 10..=20 overlap",
        ),
    ];
    for (builder, text) in refusals {
        let error = within("a refusal", builder.open()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_of_a_higher_priority_level_number_wait_for_the_others_on_failover() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("priority"));
    let opening = |level: u16| {
        earliest(&client, &topic, SubscriptionType::Failover)
            .priority(level)
            .property("level", level.to_string())
            .subscription_property("team", "billing")
            .open()
    };
    let spare = within("a consumer", opening(5)).await.unwrap();
    let first = within("a consumer", opening(0)).await.unwrap();
    publish(&producer(&client, &topic).await, 10).await;
    assert_eq!(drain(&first, 10).await.len(), 10);
    assert!(spare.try_receive().unwrap().is_none());
}
