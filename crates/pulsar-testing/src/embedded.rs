//! The development broker in this process: a fresh one for each test that asks, on a thread of its own.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pulsar_devbroker::{ControlError, DevBroker, Position as Place};
use pulsar_wire::proto::SchemaType;

use crate::admin::{Admin, OverQuota, Position, Schema};
use crate::profile::Profile;
use crate::stats::{ConsumerStats, ProducerStats, SubscriptionStats, TopicStats};

#[derive(Clone, Debug)]
pub(crate) struct Embedded {
    broker: Arc<DevBroker>,
}

impl Embedded {
    #[track_caller]
    pub(crate) fn start(profile: &Profile) -> Self {
        let mut builder = DevBroker::builder()
            .batch_index_acks(profile.batch_index)
            .deduplication(profile.deduplication);
        if let Some(time) = profile.keep_alive {
            builder = builder.keep_alive(time);
        }
        let broker = builder.start_on_thread().expect("a development broker");
        Self {
            broker: Arc::new(broker),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.broker.url()
    }

    pub(crate) fn stop(&self) {
        wait(self.broker.stop());
    }

    pub(crate) fn crash(&self) {
        wait(self.broker.crash());
    }

    #[track_caller]
    pub(crate) fn start_again(&self) {
        if let Err(error) = wait(self.broker.start_again()) {
            panic!("{error}");
        }
    }
}

impl Admin for Embedded {
    fn version(&self) -> String {
        "the development broker".to_owned()
    }

    fn create_topic(&self, topic: &str) {
        done(self.broker.create_topic(topic));
    }

    fn create_partitioned(&self, topic: &str, partitions: u32) {
        done(self.broker.create_partitioned(topic, partitions));
    }

    fn grow_partitions(&self, topic: &str, partitions: u32) {
        done(self.broker.grow_partitions(topic, partitions));
    }

    fn partitions(&self, topic: &str) -> u32 {
        self.broker.partitions(topic).unwrap_or(0)
    }

    fn exists(&self, topic: &str) -> bool {
        self.broker.partitions(topic).is_some()
    }

    fn unload(&self, topic: &str) {
        done(self.broker.unload(topic));
    }

    fn terminate(&self, topic: &str) {
        done(self.broker.terminate(topic));
    }

    fn delete(&self, topic: &str, force: bool) {
        match force {
            true => done(self.broker.delete_topic(topic)),
            false => done(self.broker.delete_unused_topic(topic)),
        }
    }

    fn create_subscription(&self, topic: &str, subscription: &str, position: Position) {
        done(
            self.broker
                .create_subscription(topic, subscription, place(position)),
        );
    }

    fn reset_cursor(&self, topic: &str, subscription: &str, position: Position) {
        done(self.broker.reset_cursor(topic, subscription, place(position)));
    }

    fn stats(&self, topic: &str) -> TopicStats {
        match self.broker.stats(topic) {
            Some(stats) => topic_stats(stats),
            None => panic!("topic {topic} not found"),
        }
    }

    fn backlog(&self, topic: &str, subscription: &str) -> u64 {
        self.stats(topic).subscription(subscription).backlog
    }

    fn set_schema(&self, topic: &str, schema: Schema<'_>) {
        let kind = match schema.kind {
            "STRING" => SchemaType::String,
            "JSON" => SchemaType::Json,
            "AVRO" => SchemaType::Avro,
            other => panic!("{other} is no kind of schema that tests use"),
        };
        let schema = pulsar_wire::proto::Schema {
            schema_data: schema.definition.to_owned().into(),
            r#type: kind.into(),
            ..Default::default()
        };
        done(self.broker.set_schema(topic, &schema));
    }

    fn create_namespace(&self, namespace: &str) {
        done(self.broker.create_namespace(namespace));
    }

    fn delete_namespace(&self, namespace: &str) {
        done(self.broker.delete_namespace(namespace));
    }

    fn enforce_schema(&self, namespace: &str, enforced: bool) {
        done(self.broker.enforce_schema(namespace, enforced));
    }

    fn set_deduplication(&self, namespace: &str, on: bool) {
        done(self.broker.set_deduplication(namespace, on));
    }

    fn limit_publishing(&self, namespace: &str, messages_per_second: Option<u32>) {
        done(self.broker.limit_publishing(namespace, messages_per_second));
    }

    fn limit_backlog(&self, namespace: &str, _bytes: u64, _over: OverQuota) {
        not_there("limit_backlog", namespace);
    }

    fn limit_delay(&self, namespace: &str, most: Duration) {
        done(self.broker.limit_delay(namespace, most));
    }

    fn limit_unacked(&self, namespace: &str, messages: u32) {
        done(self.broker.limit_unacked(namespace, messages.into()));
    }

    fn set_topic_creation(&self, namespace: &str, on: bool) {
        done(self.broker.set_topic_creation(namespace, on));
    }

    fn keep_acknowledged(&self, namespace: &str) {
        done(self.broker.keep_acknowledged(namespace));
    }
}

fn place(position: Position) -> Place {
    match position {
        Position::Earliest => Place::Earliest,
        Position::Latest => Place::Latest,
        Position::At { entry, .. } => Place::Entry(entry),
    }
}

#[track_caller]
fn not_there(call: &str, subject: &str) -> ! {
    panic!("the development broker has no {call}, asked for {subject}");
}

#[track_caller]
fn done(result: Result<(), ControlError>) {
    if let Err(error) = result {
        panic!("the development broker refuses: {error}");
    }
}

/// Waits for the broker, whatever runtime the caller may be on: the broker has its own.
fn wait<T: Send>(work: impl Future<Output = T> + Send) -> T {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(work)
    };
    thread::scope(|scope| scope.spawn(run).join().expect("it was waited for"))
}

fn topic_stats(stats: pulsar_devbroker::TopicStats) -> TopicStats {
    let subscriptions = stats.subscriptions.into_iter();
    TopicStats {
        msg_in_counter: stats.messages_in,
        msg_out_counter: stats.messages_out,
        producers: stats.producers.into_iter().map(producer).collect(),
        subscriptions: subscriptions
            .map(|(name, stats)| (name, subscription(stats)))
            .collect(),
    }
}

fn producer(stats: pulsar_devbroker::ProducerStats) -> ProducerStats {
    ProducerStats {
        name: stats.name,
        id: stats.id,
    }
}

fn subscription(stats: pulsar_devbroker::SubscriptionStats) -> SubscriptionStats {
    let active = stats.consumers.iter().find(|consumer| consumer.is_active);
    SubscriptionStats {
        backlog: stats.backlog,
        unacked: stats.unacked,
        delayed: stats.delayed,
        kind: stats.kind_name().to_owned(),
        active_consumer: active.map(|consumer| consumer.name.clone()),
        consumers: stats.consumers.into_iter().map(consumer).collect(),
    }
}

fn consumer(stats: pulsar_devbroker::ConsumerStats) -> ConsumerStats {
    ConsumerStats {
        name: stats.name,
        permits: stats.permits,
        unacked: stats.unacked,
        msg_out_counter: stats.messages_out,
    }
}
