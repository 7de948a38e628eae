//! Row 17 of the decision table: a record that cannot be written, because its topic is terminated. The message is
//! not acknowledged, and the same decision is taken when it comes again.

use babelqueue_pulsar::pulsar_tokio::NewMessage;
use babelqueue_pulsar::{Consumer, ConsumerBuilder, SubscriptionType};
use pulsar_testing::broker;

use crate::support::{Diary, ORDER, Scene, body, closed_within_patience, order, poll};

on_every_type!(
    a_raw_record_that_cannot_be_written_leaves_the_message,
    a_poison_record_that_cannot_be_written_leaves_the_message,
    a_retry_of_poison_that_cannot_be_written_leaves_the_message,
    a_retry_of_an_unknown_urn_that_cannot_be_written_leaves_the_message,
    a_dead_letter_of_an_unknown_urn_that_cannot_be_written_leaves_the_message,
    a_retry_of_a_failed_message_that_cannot_be_written_leaves_the_message,
    a_dead_letter_of_a_failed_message_that_cannot_be_written_leaves_the_message,
);

const UNKNOWN: &str = "error UnknownUrn envelope message: no handler for urn:babel:orders:created";
const FAILED: &str = "error HandlerFailed envelope message: probe offline";

/// Which record cannot be written.
struct Unwritten {
    message: NewMessage,
    builder: fn(&Diary) -> ConsumerBuilder,
    /// What is noted of the delivery before the write; without the texts of poison.
    row: Vec<String>,
    /// What the hook calls the record.
    record: &'static str,
    envelope: &'static str,
    to_dead_letters: bool,
}

impl Unwritten {
    async fn leaves_the_message(self, scene: Scene, kind: SubscriptionType) {
        let diary = Diary::default();
        scene.send(self.message).await;
        let builder = (self.builder)(&diary);
        let (consumer, target) = match self.to_dead_letters {
            true => (scene.consumer_with_dlq(kind, builder).await, &scene.dlq),
            false => (scene.consumer(kind, builder).await, &scene.topic),
        };
        scene.admin().terminate(target);

        let write = format!(
            "error Write {} message: {} was not written to {target}",
            self.envelope, self.record
        );
        for delivery in 1..=2 {
            poll(&consumer).await;

            assert_eq!(scene.backlog(), 1);
            let lines = diary.lines();
            assert_eq!(lines.len(), delivery * (self.row.len() + 1), "{lines:?}");
            let (row, last) = lines.split_at(lines.len() - 1);
            let row = &row[row.len() - self.row.len()..];
            let pairs = row.iter().zip(&self.row);
            assert!(
                pairs.into_iter().all(|(line, start)| line.starts_with(start)),
                "{row:?}"
            );
            assert_eq!(last, [write.as_str()]);
        }
        closed_within_patience(&consumer).await;
        scene.nothing_written(1).await;
    }
}

fn no_handler(diary: &Diary) -> ConsumerBuilder {
    diary.hooks(Consumer::builder())
}

/// Without a line for each run, since the count that it sees depends on the subscription.
fn failing(diary: &Diary) -> ConsumerBuilder {
    diary
        .hooks(Consumer::builder())
        .handler(ORDER, |_, _| async { Err(crate::support::offline()) })
}

async fn a_raw_record_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-raw");
    let case = Unwritten {
        message: order().property("bq-schema-version", "2"),
        builder: failing,
        row: vec!["error UnsupportedSchemaVersion - message: ".into()],
        record: "raw record",
        envelope: "-",
        to_dead_letters: true,
    };
    case.leaves_the_message(scene, kind).await;
}

async fn a_poison_record_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-poison");
    let newer = body(ORDER, 0).replace("\"schema_version\":1", "\"schema_version\":2");
    let case = Unwritten {
        message: NewMessage::new(newer),
        builder: failing,
        row: vec!["error Poison envelope message: ".into()],
        record: "poison record",
        envelope: "envelope",
        to_dead_letters: true,
    };
    case.leaves_the_message(scene, kind).await;
}

async fn a_retry_of_poison_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-poison-retry");
    let case = Unwritten {
        message: NewMessage::new("[1]"),
        builder: failing,
        row: vec!["error Poison - message: ".into()],
        record: "retry",
        envelope: "-",
        to_dead_letters: false,
    };
    case.leaves_the_message(scene, kind).await;
}

async fn a_retry_of_an_unknown_urn_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-unknown-retry");
    let case = Unwritten {
        message: order(),
        builder: no_handler,
        row: vec![UNKNOWN.into()],
        record: "retry",
        envelope: "envelope",
        to_dead_letters: false,
    };
    case.leaves_the_message(scene, kind).await;
}

async fn a_dead_letter_of_an_unknown_urn_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-unknown");
    let case = Unwritten {
        message: order(),
        builder: |diary| no_handler(diary).max_attempts(1),
        row: vec![UNKNOWN.into()],
        record: "dead letter",
        envelope: "envelope",
        to_dead_letters: true,
    };
    case.leaves_the_message(scene, kind).await;
}

async fn a_retry_of_a_failed_message_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-retry");
    let case = Unwritten {
        message: order(),
        builder: failing,
        row: vec![FAILED.into()],
        record: "retry",
        envelope: "envelope",
        to_dead_letters: false,
    };
    case.leaves_the_message(scene, kind).await;
}

async fn a_dead_letter_of_a_failed_message_that_cannot_be_written_leaves_the_message(kind: SubscriptionType) {
    let scene = Scene::new(broker!(), "row-17-failed");
    let case = Unwritten {
        message: order(),
        builder: |diary| failing(diary).max_attempts(1),
        row: vec![FAILED.into()],
        record: "dead letter",
        envelope: "envelope",
        to_dead_letters: true,
    };
    case.leaves_the_message(scene, kind).await;
}
