//! Subscriptions that are moved, and where topics end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pulsar_testing::{broker, eventually};
use pulsar_tokio::{Batching, ErrorKind, MessageId, NewMessage, Producer, Seek, SubscriptionType, Topics};

use crate::support::*;

/// Sends numbered messages, one after the other; their ids.
async fn send_all(producer: &Producer, range: std::ops::Range<usize>) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for number in range {
        let stored = within("a receipt", producer.send(NewMessage::new(number.to_string())))
            .await
            .unwrap();
        ids.push(stored.id.unwrap());
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_settled_runs_again_after_a_seek_to_the_beginning_on_every_subscription_type() {
    let broker = broker!();
    let client = client(&broker);
    for kind in ALL_TYPES {
        let topic = broker.topic("seek-earliest");
        let consumer = consumer(&client, &topic, kind).await;
        send_all(&producer(&client, &topic).await, 0..10).await;
        assert_eq!(drain(&consumer, 10).await.len(), 10);
        within("the seek", consumer.seek(Seek::Earliest)).await.unwrap();
        let mut texts = drain(&consumer, 10).await;
        texts.sort_by_key(|text| text.parse::<usize>().unwrap());
        assert_eq!(texts, numbers(0..10), "{kind}");
        assert_eq!(broker.admin().backlog(&topic, SUB), 0, "{kind}");
        assert_eq!(consumer.stats()[0].open_entries, 0, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seek_to_a_message_begins_with_it_and_drops_what_was_received_ahead() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("seek-message"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let ids = send_all(&producer(&client, &topic).await, 0..20).await;
    assert_eq!(drain(&consumer, 3).await, numbers(0..3));
    within("the seek", consumer.seek(Seek::Message(ids[12])))
        .await
        .unwrap();
    assert_eq!(drain(&consumer, 8).await, numbers(12..20));
    within("the seek", consumer.seek(Seek::Message(ids[5])))
        .await
        .unwrap();
    assert_eq!(drain(&consumer, 15).await, numbers(5..20));
    assert_eq!(broker.admin().backlog(&topic, SUB), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seek_into_a_batch_begins_with_that_member() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("seek-batch"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let batching = Batching::new().max_delay(Duration::from_secs(1));
    let producer = client.producer(&topic).batching(batching).open();
    let producer = within("a producer", producer).await.unwrap();
    let mut receipts = Vec::new();
    for number in 0..10 {
        receipts.push(
            producer
                .enqueue(NewMessage::new(number.to_string()))
                .await
                .unwrap(),
        );
    }
    let mut ids = Vec::new();
    for receipt in receipts {
        ids.push(within("a receipt", receipt).await.unwrap().id.unwrap());
    }
    assert!(ids[6].batch_index > 0, "{:?}", ids[6]);
    drain(&consumer, 10).await;
    within("the seek", consumer.seek(Seek::Message(ids[6])))
        .await
        .unwrap();
    assert_eq!(drain(&consumer, 4).await, numbers(6..10));
    eventually("the entry is acknowledged", || {
        broker.admin().backlog(&topic, SUB) == 0
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seek_to_the_end_skips_what_is_there_and_one_to_a_time_begins_with_what_was_published_then() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("seek-time"));
    let consumer = consumer(&client, &topic, SubscriptionType::Exclusive).await;
    let producer = producer(&client, &topic).await;
    send_all(&producer, 0..5).await;
    // Publish times have milliseconds.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let between = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    tokio::time::sleep(Duration::from_millis(20)).await;
    send_all(&producer, 5..10).await;
    within("the seek", consumer.seek(Seek::Latest)).await.unwrap();
    send_all(&producer, 10..12).await;
    assert_eq!(drain(&consumer, 2).await, numbers(10..12));
    let to = Seek::PublishTime(u64::try_from(between).unwrap());
    within("the seek", consumer.seek(to)).await.unwrap();
    assert_eq!(drain(&consumer, 7).await, numbers(5..12));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_in_hand_when_the_subscription_moved_cannot_be_settled_and_comes_again() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("seek-in-hand"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    send_all(&producer(&client, &topic).await, 0..2).await;
    let in_hand = receive(&consumer).await;
    within("the seek", consumer.seek(Seek::Earliest)).await.unwrap();
    let error = within("an answer", consumer.ack(in_hand.ticket))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SessionLost);
    consumer.nack(in_hand.ticket).unwrap();
    assert_eq!(drain(&consumer, 2).await, numbers(0..2));
    assert!(is_quiet(&consumer, Duration::from_millis(1_500)).await);
    eventually("broker and client agree about the permits", || {
        let theirs = broker.admin().stats(&topic).subscription(SUB).consumers[0].permits;
        theirs == consumer.stats()[0].permits
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn all_partitions_move_to_a_place_and_one_to_a_message() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("seek-partitions"));
    broker.admin().create_partitioned(&topic, 3);
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let ids = send_all(&producer(&client, &topic).await, 0..9).await;
    drain(&consumer, 9).await;
    within("the seek", consumer.seek(Seek::Earliest)).await.unwrap();
    assert_eq!(drain(&consumer, 9).await.len(), 9);
    within("the seek", consumer.seek(Seek::Message(ids[0])))
        .await
        .unwrap();
    // Three lie in its partition.
    assert_eq!(drain(&consumer, 3).await[0], "0");
    assert!(consumer.try_receive().unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_id_that_tells_no_partition_is_refused_where_there_are_several() {
    let broker = broker!();
    let client = client(&broker);
    let (one, other) = (broker.topic("one"), broker.topic("other"));
    let ids = send_all(&producer(&client, &one).await, 0..1).await;
    let opening = client.consumer(Topics::of([&one, &other]), SUB).open();
    let consumer = within("a consumer", opening).await.unwrap();
    let error = within("a refusal", consumer.seek(Seek::Message(ids[0])))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOption);
    assert!(error.to_string().contains(&ids[0].to_string()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_of_every_partition_is_told() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("last"));
    broker.admin().create_partitioned(&topic, 2);
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let last = within("an answer", consumer.last_message_ids()).await.unwrap();
    assert!(
        last.len() == 2 && last.iter().all(|(_, id)| id.is_none()),
        "{last:?}"
    );
    let ids = send_all(&producer(&client, &topic).await, 0..4).await;
    let last = within("an answer", consumer.last_message_ids()).await.unwrap();
    for (topic, id) in last {
        let newest = ids
            .iter()
            .filter(|id| topic.ends_with(&id.partition.to_string()))
            .max();
        assert_eq!(
            id.map(|id| (id.ledger, id.entry)),
            newest.map(|id| (id.ledger, id.entry))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_is_given_up_is_gone_and_one_with_other_consumers_stays() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("unsubscribed"));
    let first = consumer(&client, &topic, SubscriptionType::Shared).await;
    let second = consumer(&client, &topic, SubscriptionType::Shared).await;
    let error = within("a refusal", first.unsubscribe(PATIENCE))
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
    assert!(error.to_string().contains(&topic), "{error}");
    second.close(PATIENCE).await;
    within("the end", first.unsubscribe(PATIENCE)).await.unwrap();
    assert!(!broker.admin().stats(&topic).subscriptions.contains_key(SUB));
    assert_eq!(first.try_receive().unwrap_err().kind(), ErrorKind::Closed);
}
