//! Topics that get more partitions, several topics in one consumer, and topics found by a pattern.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pulsar_testing::{broker, eventually};
use pulsar_tokio::{ErrorKind, NewMessage, SubscriptionType, Topics};

use crate::support::*;

/// Quick enough for a test, slow enough to see that nothing depends on it.
const CHECK: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_are_added_while_messages_flow_are_used_and_nothing_is_lost() {
    const BEFORE: u32 = 2;
    const AFTER: u32 = 8;
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("growing"));
    broker.admin().create_partitioned(&topic, BEFORE);
    let opening = earliest(&client, &topic, SubscriptionType::Shared).partition_check(CHECK);
    let consumer = within("a consumer", opening.open()).await.unwrap();
    let producer = client.producer(&topic).partition_check(CHECK);
    let producer = within("a producer", producer.open()).await.unwrap();

    let sending = async {
        let mut sent = BTreeSet::new();
        let mut number = 0;
        // Until some have gone to every partition.
        let mut since_growth = 0;
        while since_growth < 20 * AFTER {
            let mut message = NewMessage::new(number.to_string());
            if number % 2 == 0 {
                message = message.key(format!("key-{}", number % 50));
            }
            within("a receipt", producer.send(message)).await.unwrap();
            sent.insert(number);
            number += 1;
            if number == 50 {
                tokio::task::block_in_place(|| broker.admin().grow_partitions(&topic, AFTER));
            }
            if producer.partitions() == AFTER as usize {
                since_growth += 1;
            }
        }
        sent
    };
    let receiving = async {
        let mut seen: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        loop {
            let message = tokio::time::timeout(Duration::from_secs(3), consumer.receive()).await;
            let Ok(message) = message else { break seen };
            let message = message.unwrap();
            let number = text(&message).parse().unwrap();
            seen.entry(number).or_default().insert(message.topic.to_string());
            assert_eq!(&*message.base_topic, topic);
            ack(&consumer, message.ticket).await;
        }
    };
    let (sent, seen) = tokio::join!(within("all sends", sending), receiving);
    assert_eq!(seen.keys().copied().collect::<BTreeSet<u32>>(), sent);
    let partitions: BTreeSet<_> = seen.into_values().flatten().collect();
    assert_eq!(partitions.len(), AFTER as usize);
    assert_eq!(consumer.stats().len(), AFTER as usize);
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
    producer.close(PATIENCE).await;
    consumer.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_to_a_partition_before_it_was_noticed_is_received() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("noticed-late"));
    broker.admin().create_partitioned(&topic, 1);
    // Only what is new, as the default is.
    let opening = client
        .consumer(&topic, SUB)
        .partition_check(Duration::from_secs(2));
    let consumer = within("a consumer", opening.open()).await.unwrap();
    broker.admin().grow_partitions(&topic, 3);
    let producer = producer(&client, &topic).await;
    publish(&producer, 30).await;
    let mut texts = drain(&consumer, 30).await;
    texts.sort_by_key(|text| text.parse::<usize>().unwrap());
    assert_eq!(texts, numbers(0..30));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_topics_are_consumed_with_one_consumer_and_each_message_tells_its_own() {
    let broker = broker!();
    let client = client(&broker);
    let (plain, divided) = (broker.topic("plain"), broker.topic("divided"));
    broker.admin().create_partitioned(&divided, 3);
    for kind in ALL_TYPES {
        let sub = format!("sub-{kind}");
        let topics = Topics::of([&plain, &divided, &plain]);
        let opening = client.consumer(topics, &sub).subscription_type(kind).open();
        let consumer = within("a consumer", opening).await.unwrap();
        assert_eq!(consumer.topic(), None);
        assert_eq!(consumer.topics().len(), 2);
        for topic in [&plain, &divided] {
            publish(&producer(&client, topic).await, 20).await;
        }
        let mut count = BTreeMap::new();
        for _ in 0..40 {
            let message = receive(&consumer).await;
            *count.entry(message.base_topic.to_string()).or_insert(0) += 1;
            ack(&consumer, message.ticket).await;
        }
        assert_eq!(
            count,
            BTreeMap::from([(plain.clone(), 20), (divided.clone(), 20)]),
            "{kind}"
        );
        assert_eq!(broker.admin().backlog(&plain, &sub), 0);
        assert_eq!(broker.admin().backlog(&divided, &sub), 0);
        consumer.close(PATIENCE).await;
        let error = consumer.try_receive().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_one_of_several_topics_cannot_be_opened_none_stays_open() {
    let broker = broker!();
    let client = client(&broker);
    let (free, taken) = (broker.topic("free"), broker.topic("taken"));
    let rival = consumer(&client, &taken, SubscriptionType::Exclusive).await;
    let topics = Topics::of([&free, &taken]);
    let error = within("a refusal", client.consumer(topics, SUB).open())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)));
    assert!(error.to_string().contains(&taken), "{error}");
    eventually("the other one is closed again", || {
        broker.admin().stats(&free).subscription(SUB).consumers.is_empty()
    });
    drop(rival);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_finds_topics_that_appear_and_lets_go_of_those_that_vanish() {
    let broker = broker!();
    let client = client(&broker);
    let namespace = broker.namespace("patterns");
    let name = |local: &str| broker.topic_in(&namespace, local);
    let (first, other) = (name("orders-first"), name("returns"));
    let first_producer = producer(&client, &first).await;
    let _ = producer(&client, &other).await;
    let pattern = format!("persistent://{namespace}/.*orders-.*");
    let opening = client
        .consumer(Topics::pattern(pattern), SUB)
        .subscription_type(SubscriptionType::Shared)
        .partition_check(CHECK);
    let consumer = within("a consumer", opening.open()).await.unwrap();
    let topics = || -> BTreeSet<String> { consumer.topics().iter().map(|topic| topic.to_string()).collect() };
    assert_eq!(topics(), BTreeSet::from([first.clone()]));
    publish(&first_producer, 5).await;
    assert_eq!(drain(&consumer, 5).await, numbers(0..5));

    // Published before the consumer knows of it.
    let second = name("orders-second");
    broker.admin().create_partitioned(&second, 2);
    let second_producer = producer(&client, &second).await;
    publish(&second_producer, 10).await;
    let mut texts = drain(&consumer, 10).await;
    texts.sort_by_key(|text| text.parse::<usize>().unwrap());
    assert_eq!(texts, numbers(0..10));
    assert_eq!(topics(), BTreeSet::from([first.clone(), second.clone()]));

    first_producer.close(PATIENCE).await;
    tokio::task::block_in_place(|| {
        broker.admin().delete(&first, true);
        eventually("the consumer lets go of the topic", || {
            topics() == BTreeSet::from([second.clone()])
        });
    });
    publish(&second_producer, 3).await;
    drain(&consumer, 3).await;
    consumer.close(PATIENCE).await;
    assert_eq!(consumer.try_receive().unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_may_find_nothing_at_first() {
    let broker = broker!();
    let client = client(&broker);
    let namespace = broker.namespace("empty-pattern");
    let topics = Topics::pattern(format!("persistent://{namespace}/.*"));
    let consumer = client.consumer(topics, SUB).partition_check(CHECK);
    let consumer = within("a consumer", consumer.open()).await.unwrap();
    assert!(consumer.try_receive().unwrap().is_none());
    let producer = producer(&client, &broker.topic_in(&namespace, "late")).await;
    publish(&producer, 3).await;
    assert_eq!(drain(&consumer, 3).await, numbers(0..3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_tells_of_new_and_deleted_topics_is_listened_to() {
    let broker = broker!();
    let client = client(&broker);
    let namespace = broker.namespace("told");
    let topics = Topics::pattern(format!("persistent://{namespace}/.*"));
    // Nobody looks by himself while the test runs.
    let opening = client
        .consumer(topics, SUB)
        .partition_check(Duration::from_secs(3_600));
    let consumer = within("a consumer", opening.open()).await.unwrap();
    let (first, second) = (
        broker.topic_in(&namespace, "first"),
        broker.topic_in(&namespace, "second"),
    );
    for topic in [&first, &second] {
        let producer = producer(&client, topic).await;
        publish(&producer, 3).await;
        assert_eq!(drain(&consumer, 3).await, numbers(0..3));
        producer.close(PATIENCE).await;
    }
    tokio::task::block_in_place(|| {
        broker.admin().delete(&first, true);
        eventually("the consumer lets go of the topic", || {
            consumer.topics() == [second.as_str().into()]
        });
    });
}
