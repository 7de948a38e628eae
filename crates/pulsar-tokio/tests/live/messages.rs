//! Messages from end to end, against a broker.

use crate::support::*;
use bytes::Bytes;
use pulsar_testing::broker;
use pulsar_tokio::{Key, NewMessage, SubscriptionType};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_arrives_with_everything_it_was_sent_with() {
    let broker = broker!();
    let (client, topic) = (client(&broker), broker.topic("everything"));
    let consumer = consumer(&client, &topic, SubscriptionType::Shared).await;
    let producer = producer(&client, &topic).await;
    let key = Key {
        text: "c2NobMO8c3NlbA==".into(),
        base64: true,
    };
    let sent = NewMessage::new("Grüße, 世界 🚀")
        .property("größe", "ü")
        .property(&b"\xff\xfe"[..], &b"\x00\x80"[..])
        .property("twice", "1")
        .property("twice", "2")
        .key(key.clone())
        .ordering_key("order")
        .event_time_ms(1_234_567);
    let stored = within("a receipt", producer.send(sent)).await.unwrap();

    let got = receive(&consumer).await;
    assert_eq!(text(&got), "Grüße, 世界 🚀");
    let pair = |key: &'static [u8], value: &'static [u8]| (Bytes::from(key), Bytes::from(value));
    assert_eq!(
        got.properties,
        [
            pair("größe".as_bytes(), "ü".as_bytes()),
            pair(b"\xff\xfe", b"\x00\x80"),
            pair(b"twice", b"1"),
            pair(b"twice", b"2"),
        ]
    );
    assert_eq!(got.key, Some(key));
    assert_eq!(got.ordering_key.as_deref(), Some(&b"order"[..]));
    assert_eq!(got.event_time_ms, Some(1_234_567));
    assert_eq!(got.redelivery_count, 0);
    assert_eq!(Some(got.id), stored.id);
    assert_eq!(&*got.topic, topic);
    assert!(got.publish_time_ms > 1_600_000_000_000);
    ack(&consumer, got.ticket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_are_sent_and_settled_on_every_subscription_type() {
    const COUNT: usize = 3_000;
    let broker = broker!();
    let client = client(&broker);
    for kind in ALL_TYPES {
        let topic = broker.topic("thousands");
        let consumer = consumer(&client, &topic, kind).await;
        let producer = producer(&client, &topic).await;
        let (_, mut texts) = tokio::join!(publish(&producer, COUNT), drain(&consumer, COUNT));
        if kind.redelivers_singly() {
            // No order is promised there.
            texts.sort_by_key(|text| text.parse::<usize>().ok());
        }
        assert_eq!(texts, numbers(0..COUNT), "{kind}");
        assert_eq!(broker.admin().backlog(&topic, SUB), 0, "{kind}");
        consumer.close(PATIENCE).await;
        producer.close(PATIENCE).await;
    }
}
