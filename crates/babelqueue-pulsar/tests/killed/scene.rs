//! A topic with all its messages, and what the workers have made of them so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use babelqueue_pulsar::pulsar_tokio::Payload;
use babelqueue_pulsar::{Envelope, Pulsar, SubscriptionType, dead_letter_topic};
use pulsar_testing::{Broker, Position};
use serde_json::{Value, json};

use crate::diary::Diary;
use crate::worker::{ATTEMPTS, ORDER, SUB, Worker, fails};

const WITNESS: &str = "witness";
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Scene {
    broker: Broker,
    topic: String,
    subscription_type: SubscriptionType,
    /// Of the messages that do not fail.
    succeeding: BTreeSet<String>,
    /// Of those that do.
    failing: BTreeSet<String>,
    diary: Diary,
    start: Instant,
}

impl Scene {
    pub(super) async fn new(broker: Broker, subscription_type: SubscriptionType, messages: usize) -> Self {
        let topic = broker.topic("killed");
        for (topic, subscription) in [(&topic, SUB), (&dead_letter_topic(&topic), WITNESS)] {
            broker.admin().create_topic(topic);
            broker
                .admin()
                .create_subscription(topic, subscription, Position::Earliest);
        }
        let (mut succeeding, mut failing) = (BTreeSet::new(), BTreeSet::new());
        for (n, id) in publish(&broker, &topic, messages).await.into_iter().enumerate() {
            let ids = if fails(n) { &mut failing } else { &mut succeeding };
            assert!(ids.insert(id), "an id twice");
        }
        Self {
            diary: Diary::new(&topic),
            broker,
            topic,
            subscription_type,
            succeeding,
            failing,
            start: Instant::now(),
        }
    }

    pub(super) fn worker(&self) -> Worker {
        Worker::spawn(
            self.broker.url(),
            &self.topic,
            self.subscription_type,
            self.diary.path(),
        )
    }

    pub(super) fn restart_broker(&self) {
        tokio::task::block_in_place(|| {
            self.broker.stop();
            self.broker.start();
        });
    }

    /// Waits until one of so many equal parts of what is not handled yet is handled. Counted from now, so that no
    /// worker is killed before it has done anything, however far its predecessor came.
    pub(super) async fn until_one_part_more_is_handled(&self, parts: usize) {
        let before = self.handled();
        let count = before + (self.succeeding.len() - before).div_ceil(parts);
        let what = format!("{count} are handled");
        until(&what, || self.handled() >= count).await;
    }

    fn handled(&self) -> usize {
        self.diary.runs("handled").len()
    }

    pub(super) async fn until_settled(&self) {
        until("all is settled", || {
            self.broker.admin().backlog(&self.topic, SUB) == 0
        })
        .await;
    }

    /// Every message is handled or a dead letter with the right attempts, and at most `may_repeat` ran or were
    /// written again.
    pub(super) async fn is_complete(&self, what: &str, may_repeat: usize) {
        let handled = self.diary.runs("handled");
        assert!(handled.keys().eq(&self.succeeding), "some are not handled");
        let failed = self.diary.runs("failed");
        assert!(failed.keys().eq(&self.failing), "some were not tried");
        let dead = self.dead_letters().await;
        assert!(dead.keys().eq(&self.failing), "some are no dead letters");

        for (id, attempts) in &handled {
            assert!(
                attempts.iter().all(|&attempts| attempts == 0),
                "{id}: {attempts:?}"
            );
        }
        for (id, attempts) in failed {
            let attempts: BTreeSet<_> = attempts.into_iter().collect();
            assert!(attempts.iter().copied().eq(0..ATTEMPTS), "{id}: {attempts:?}");
        }

        let again = repeated(handled.values().map(Vec::len));
        let written_again = repeated(dead.values().copied());
        println!(
            "{what}: {} handled, {again} of them again, {} dead letters, {written_again} of them again, in {:.1?}",
            self.succeeding.len(),
            self.failing.len(),
            self.start.elapsed()
        );
        assert!(again + written_again <= may_repeat, "at most {may_repeat}");
    }

    /// The dead letters, by id, and how often each was written.
    async fn dead_letters(&self) -> BTreeMap<String, usize> {
        let topic = dead_letter_topic(&self.topic);
        let count = self.broker.admin().backlog(&topic, WITNESS);
        let client = Pulsar::new(self.broker.url()).expect("a URL").client().clone();
        let reader = client.consumer(&topic, WITNESS).open().await.expect("a reader");
        let mut dead = BTreeMap::new();
        for _ in 0..count {
            let message = within("a dead letter", reader.receive())
                .await
                .expect("a dead letter");
            let Payload::Bytes(body) = &message.payload else {
                panic!("{} cannot be read", message.id);
            };
            let envelope = Envelope::decode(body).expect("an envelope");
            let id = envelope.meta().id().to_owned();
            let record: Value = serde_json::from_slice(body).expect("JSON");
            assert_eq!(record["dead_letter"]["attempts"], ATTEMPTS, "{id}");
            assert_eq!(record["dead_letter"]["reason"], "failed", "{id}");
            *dead.entry(id).or_default() += 1;
        }
        dead
    }
}

/// Publishes numbered messages on fifty keys and gives their ids in this order.
async fn publish(broker: &Broker, topic: &str, messages: usize) -> Vec<String> {
    let publisher = Pulsar::new(broker.url()).expect("a URL").publisher(topic).await;
    let publisher = publisher.expect("a publisher");
    let receipts: Vec<_> = (0..messages)
        .map(|n| {
            let order = publisher.publish(ORDER, &json!({"n": n}));
            order.key((n % 50).to_string()).enqueue()
        })
        .collect();
    let mut ids = Vec::with_capacity(messages);
    for receipt in receipts {
        let id = within("a receipt", receipt).await.expect("a receipt");
        ids.push(id.to_string());
    }
    ids
}

fn repeated(times: impl Iterator<Item = usize>) -> usize {
    times.map(|times| times - 1).sum()
}

async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(result) => result,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

async fn until(what: &str, mut check: impl FnMut() -> bool) {
    let holds = async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(what, holds).await;
}
