//! Readers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pulsar_testing::{broker, eventually};
use pulsar_tokio::{Batching, ErrorKind, Health, MessageId, NewMessage, Producer, Reader, Seek, Start};

use crate::support::*;

async fn send_all(producer: &Producer, range: std::ops::Range<usize>) -> Vec<MessageId> {
    let mut receipts = Vec::new();
    for number in range {
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
    ids
}

async fn read(reader: &Reader, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    for _ in 0..count {
        texts.push(text(&within("a message", reader.read()).await.unwrap()));
    }
    texts
}

async fn is_at_the_end(reader: &Reader) -> bool {
    !within("an answer", reader.has_message_available()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_begins_where_it_is_told_to_and_leaves_no_subscription_behind() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("read"));
    for batching in [None, Some(Batching::new().max_delay(Duration::from_millis(200)))] {
        let topic = format!("{topic}-{}", batching.is_some());
        let mut producer = client.producer(&topic);
        if let Some(batching) = batching {
            producer = producer.batching(batching);
        }
        let producer = within("a producer", producer.open()).await.unwrap();
        let ids = send_all(&producer, 0..10).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let later = send_all(&producer, 10..15).await;
        let starts = [
            (Start::Earliest, 0),
            (Start::At(ids[4]), 4),
            (Start::After(ids[4]), 5),
            (Start::After(ids[9]), 10),
            (Start::PublishTime(u64::try_from(now).unwrap()), 10),
            (Start::After(later[4]), 15),
            (Start::Latest, 15),
        ];
        for (start, first) in starts {
            let reader = within("a reader", client.reader(&topic).start(start).open())
                .await
                .unwrap();
            assert_eq!(is_at_the_end(&reader).await, first == 15, "{start:?}");
            assert_eq!(read(&reader, 15 - first).await, numbers(first..15), "{start:?}");
            assert!(is_at_the_end(&reader).await, "{start:?}");
            assert!(reader.try_read().unwrap().is_none());
            eventually("nothing is kept of what was read", || {
                reader.stats()[0].open_entries == 0
            });
            reader.close(PATIENCE).await;
        }
        eventually("no subscription is left", || {
            broker.admin().stats(&topic).subscriptions.is_empty()
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_goes_on_behind_what_it_has_read_when_its_topic_moves() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("read-on"));
    let batching = Batching::new().max_delay(Duration::from_millis(200));
    let producer = within("a producer", client.producer(&topic).batching(batching).open())
        .await
        .unwrap();
    send_all(&producer, 0..30).await;
    let reader = within("a reader", client.reader(&topic).open()).await.unwrap();
    let latest = within("a reader", client.reader(&topic).start(Start::Latest).open())
        .await
        .unwrap();
    assert_eq!(read(&reader, 12).await, numbers(0..12));
    tokio::task::block_in_place(|| {
        broker.admin().unload(&topic);
        eventually("the readers are back", || {
            [&reader, &latest]
                .iter()
                .all(|reader| reader.stats()[0].health == Health::Open)
                && broker.admin().stats(&topic).subscriptions.len() == 2
        });
    });
    assert_eq!(read(&reader, 18).await, numbers(12..30));
    send_all(&producer, 30..33).await;
    assert_eq!(read(&reader, 3).await, numbers(30..33));
    assert_eq!(read(&latest, 3).await, numbers(30..33));
    assert!(is_at_the_end(&reader).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_can_be_moved() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("read-again"));
    let ids = send_all(&producer(&client, &topic).await, 0..10).await;
    let reader = within("a reader", client.reader(&topic).open()).await.unwrap();
    assert_eq!(read(&reader, 10).await, numbers(0..10));
    within("the seek", reader.seek(Seek::Message(ids[7])))
        .await
        .unwrap();
    assert!(!is_at_the_end(&reader).await);
    assert_eq!(read(&reader, 3).await, numbers(7..10));
    within("the seek", reader.seek(Seek::Earliest)).await.unwrap();
    assert_eq!(read(&reader, 2).await, numbers(0..2));
    within("the seek", reader.seek(Seek::Latest)).await.unwrap();
    assert!(is_at_the_end(&reader).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_partitions_are_read_and_a_message_is_no_start_for_several() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("read-partitions"));
    broker.admin().create_partitioned(&topic, 3);
    let ids = send_all(&producer(&client, &topic).await, 0..12).await;
    let reader = within("a reader", client.reader(&topic).open()).await.unwrap();
    let mut texts = read(&reader, 12).await;
    texts.sort_by_key(|text| text.parse::<usize>().unwrap());
    assert_eq!(texts, numbers(0..12));
    assert!(is_at_the_end(&reader).await);
    let opening = client.reader(&topic).start(Start::At(ids[0])).open();
    let error = within("a refusal", opening).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOption);
}
