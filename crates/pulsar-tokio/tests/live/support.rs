//! What the tests against a broker share.

use std::time::Duration;

use pulsar_testing::Broker;
use pulsar_tokio::{
    Client, Consumer, ConsumerBuilder, InitialPosition, Message, NewMessage, Payload, Producer,
};
use pulsar_tokio::{SubscriptionType, Ticket};

pub(crate) const SUB: &str = "sub";
pub(crate) const ALL_TYPES: [SubscriptionType; 4] = [
    SubscriptionType::Exclusive,
    SubscriptionType::Failover,
    SubscriptionType::Shared,
    SubscriptionType::KeyShared,
];

/// Long enough for a broker on a busy machine, short enough for a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn client(broker: &Broker) -> Client {
    Client::new(broker.url()).expect("the broker's URL is one")
}

pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(result) => result,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

pub(crate) async fn producer(client: &Client, topic: &str) -> Producer {
    within("a producer", client.producer(topic).open())
        .await
        .expect("a producer")
}

/// A consumer that begins at the first message.
pub(crate) fn earliest(client: &Client, topic: &str, kind: SubscriptionType) -> ConsumerBuilder {
    client
        .consumer(topic, SUB)
        .subscription_type(kind)
        .initial_position(InitialPosition::Earliest)
}

pub(crate) async fn consumer(client: &Client, topic: &str, kind: SubscriptionType) -> Consumer {
    within("a consumer", earliest(client, topic, kind).open())
        .await
        .expect("a consumer")
}

pub(crate) async fn receive(consumer: &Consumer) -> Message {
    within("a message", consumer.receive()).await.expect("a message")
}

pub(crate) async fn ack(consumer: &Consumer, ticket: Ticket) {
    within("a confirmation", consumer.ack(ticket))
        .await
        .expect("a confirmation");
}

/// True if nothing comes for a while.
pub(crate) async fn is_quiet(consumer: &Consumer, pause: Duration) -> bool {
    tokio::time::timeout(pause, consumer.receive()).await.is_err()
}

pub(crate) fn text(message: &Message) -> String {
    match &message.payload {
        Payload::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Payload::Undecodable { cause, .. } => panic!("{} cannot be decoded: {cause}", message.id),
    }
}

/// Sends `count` numbered messages and waits for the receipts.
pub(crate) async fn publish(producer: &Producer, count: usize) {
    let mut receipts = Vec::with_capacity(count);
    for number in 0..count {
        let message = NewMessage::new(number.to_string()).key(format!("k{}", number % 7));
        receipts.push(producer.enqueue(message).await.expect("room"));
    }
    for receipt in receipts {
        within("a receipt", receipt).await.expect("a receipt");
    }
}

/// Receives and acknowledges `count` messages; their texts in the order in which they came.
pub(crate) async fn drain(consumer: &Consumer, count: usize) -> Vec<String> {
    let mut texts = Vec::with_capacity(count);
    let mut acks = Vec::with_capacity(count);
    for _ in 0..count {
        let message = receive(consumer).await;
        texts.push(text(&message));
        acks.push(consumer.ack(message.ticket));
    }
    for ack in acks {
        within("a confirmation", ack).await.expect("a confirmation");
    }
    texts
}

pub(crate) fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}
