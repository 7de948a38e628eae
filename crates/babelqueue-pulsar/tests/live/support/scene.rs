//! A topic of the test's own. A witness subscription keeps whatever is written to it.

use std::sync::Arc;
use std::time::Duration;

use babelqueue_pulsar::pulsar_tokio::{
    self, Client, InitialPosition, Message, NewMessage, Producer, SubscriptionType,
};
use babelqueue_pulsar::{
    Consumer, ConsumerBuilder, Publisher, Pulsar, Subscription, dead_letter_topic, short_name,
};
use pulsar_testing::{Admin, Broker, Position};

use super::{PATIENCE, within};

/// The subscription of the consumer under test.
pub(crate) const SUB: &str = "workers";
/// The subscription that nobody acknowledges on.
pub(crate) const WITNESS: &str = "witness";

pub(crate) struct Scene {
    pub(crate) broker: Broker,
    pub(crate) client: Client,
    pub(crate) topic: String,
    pub(crate) dlq: String,
}

impl Scene {
    /// A new topic and its dead-letter topic, both watched from their first message on.
    pub(crate) fn new(broker: Broker, stem: &str) -> Self {
        let topic = broker.topic(stem);
        Self::on(broker, topic)
    }

    /// The same on a topic whose name is given; it must not be there yet.
    pub(crate) fn on(broker: Broker, topic: String) -> Self {
        let scene = Self::unmade(broker, topic);
        scene.admin().create_topic(&scene.topic);
        scene.watched()
    }

    /// The same on a topic with partitions.
    pub(crate) fn partitioned(broker: Broker, stem: &str, partitions: u32) -> Self {
        let topic = broker.topic(stem);
        let scene = Self::unmade(broker, topic);
        scene.admin().create_partitioned(&scene.topic, partitions);
        scene.watched()
    }

    fn unmade(broker: Broker, topic: String) -> Self {
        Self {
            client: Client::new(broker.url()).expect("the broker's URL is one"),
            dlq: dead_letter_topic(&topic),
            topic,
            broker,
        }
    }

    fn watched(self) -> Self {
        self.admin().create_topic(&self.dlq);
        self.watch(&self.topic);
        self.watch(&self.dlq);
        self
    }

    /// Keeps what is written to `topic` from now on.
    pub(crate) fn watch(&self, topic: &str) {
        self.admin()
            .create_subscription(topic, WITNESS, Position::Earliest);
    }

    pub(crate) fn admin(&self) -> &dyn Admin {
        self.broker.admin()
    }

    pub(crate) fn pulsar(&self) -> Pulsar {
        Pulsar::from_client(self.client.clone())
    }

    /// The queue's name in envelopes.
    pub(crate) fn queue(&self) -> &str {
        short_name(&self.topic)
    }

    /// The subscription under test, in the form that opens everything itself.
    pub(crate) fn subscription(&self, kind: SubscriptionType) -> Subscription {
        self.pulsar()
            .subscription(&self.topic, SUB)
            .subscription_type(kind)
            .initial_position(InitialPosition::Earliest)
    }

    /// A consumer with retries and without dead letters.
    pub(crate) async fn consumer(&self, kind: SubscriptionType, builder: ConsumerBuilder) -> Consumer {
        within("a consumer", self.subscription(kind).open(builder))
            .await
            .expect("a consumer")
    }

    /// A consumer with retries and dead letters.
    pub(crate) async fn consumer_with_dlq(
        &self,
        kind: SubscriptionType,
        builder: ConsumerBuilder,
    ) -> Consumer {
        within("a consumer", self.subscription(kind).dead_letters().open(builder))
            .await
            .expect("a consumer")
    }

    /// The subscription under test as a user opens it.
    pub(crate) async fn given(&self, kind: SubscriptionType) -> Arc<pulsar_tokio::Consumer> {
        let opening = self
            .client
            .consumer(&self.topic, SUB)
            .subscription_type(kind)
            .initial_position(InitialPosition::Earliest)
            .nack_delay(Duration::from_millis(50))
            .open();
        Arc::new(within("a subscription", opening).await.expect("a subscription"))
    }

    /// A publisher to the work topic.
    pub(crate) async fn publisher(&self) -> Publisher {
        within("a publisher", self.pulsar().publisher(&self.topic).into_future())
            .await
            .expect("a publisher")
    }

    /// A producer of the bare client.
    pub(crate) async fn producer(&self, topic: &str) -> Arc<Producer> {
        let producer = within("a producer", self.client.producer(topic).open()).await;
        Arc::new(producer.expect("a producer"))
    }

    /// Writes a message to the work topic through the bare client.
    pub(crate) async fn send(&self, message: NewMessage) {
        self.send_all([message]).await;
    }

    pub(crate) async fn send_all(&self, messages: impl IntoIterator<Item = NewMessage>) {
        let producer = self.producer(&self.topic).await;
        for message in messages {
            within("a receipt", producer.send(message))
                .await
                .expect("a receipt");
        }
        within("the end of a producer", producer.close(PATIENCE)).await;
    }

    /// How much the subscription under test has not settled.
    pub(crate) fn backlog(&self) -> u64 {
        self.admin().backlog(&self.topic, SUB)
    }

    /// Everything that was ever written to a watched topic, in order.
    pub(crate) async fn written(&self, topic: &str) -> Vec<Message> {
        self.kept(topic, WITNESS).await
    }

    /// Everything that a subscription has not acknowledged, in order; for topics without batches.
    pub(crate) async fn kept(&self, topic: &str, subscription: &str) -> Vec<Message> {
        let count = self.admin().backlog(topic, subscription);
        let all = u32::try_from(count).expect("a test's worth of messages").max(1);
        let opening = self.client.consumer(topic, subscription).receive_window(all);
        let reader = within("a reader", opening.open()).await.expect("a reader");
        let mut messages = Vec::new();
        for _ in 0..count {
            messages.push(within("a record", reader.receive()).await.expect("a record"));
        }
        within("the end of a reader", reader.close(PATIENCE)).await;
        messages
    }

    /// The one record that a consumer wrote behind the `sent` messages on the work topic.
    pub(crate) async fn retried(&self, sent: usize) -> Message {
        let mut written = self.written(&self.topic).await;
        assert_eq!(written.len(), sent + 1, "{written:?}");
        written.remove(sent)
    }

    /// The only record on the dead-letter topic.
    pub(crate) async fn dead_lettered(&self) -> Message {
        let mut written = self.written(&self.dlq).await;
        assert_eq!(written.len(), 1, "{written:?}");
        written.remove(0)
    }

    /// Nothing came to the work topic but what was sent, and nothing to the dead-letter topic.
    pub(crate) async fn nothing_written(&self, sent: usize) {
        assert_eq!(self.written(&self.topic).await.len(), sent);
        assert_eq!(self.written(&self.dlq).await.len(), 0);
    }
}

/// Closes a consumer, which must not hang.
pub(crate) async fn closed_within_patience(consumer: &Consumer) {
    within("the end of a consumer", consumer.close())
        .await
        .expect("an orderly end");
}
