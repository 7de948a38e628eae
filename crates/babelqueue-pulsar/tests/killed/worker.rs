//! The process that the tests kill: this test program once more, told by its environment to work.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use babelqueue_pulsar::{Consumer, Envelope, Failure, InitialPosition, Pulsar, SubscriptionType};
use serde_json::Value;

pub(super) const ORDER: &str = "urn:babel:orders:created";
pub(super) const SUB: &str = "workers";
pub(super) const ATTEMPTS: u32 = 3;
/// How many messages a worker has run and not seen confirmed at most: what one kill can make run again. Fewer than by
/// default, so that a worker that never acknowledges would be noticed.
pub(super) const IN_FLIGHT: usize = 100;

const URL: &str = "BABELQUEUE_TEST_KILLED_URL";
const TOPIC: &str = "BABELQUEUE_TEST_KILLED_TOPIC";
const TYPE: &str = "BABELQUEUE_TEST_KILLED_TYPE";
const DIARY: &str = "BABELQUEUE_TEST_KILLED_DIARY";

/// Every twentieth message fails whenever it is tried.
pub(super) fn fails(number: usize) -> bool {
    number.is_multiple_of(20)
}

/// A process that is killed with SIGKILL when it is dropped: it gets no chance to say goodbye.
pub(super) struct Worker(Child);

impl Worker {
    pub(super) fn spawn(url: &str, topic: &str, subscription_type: SubscriptionType, diary: &Path) -> Self {
        let worker = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", "worker::killed_worker", "--nocapture"])
            .env(URL, url)
            .env(TOPIC, topic)
            .env(TYPE, format!("{subscription_type:?}"))
            .env(DIARY, diary)
            .stdout(Stdio::null())
            .spawn();
        Self(worker.expect("a worker"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test of its own: what the process does. Notes each run in the diary before its outcome is known to anybody
/// else, in one write, so that no kill loses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_worker() {
    let (Ok(url), Ok(topic), Ok(diary)) = (env::var(URL), env::var(TOPIC), env::var(DIARY)) else {
        return;
    };
    let diary = OpenOptions::new().append(true).open(diary).expect("a diary");
    let work = move |envelope: Envelope, _| {
        let data: Value = envelope.data().expect("data");
        let number = data["n"].as_u64().expect("a number");
        let fails = fails(usize::try_from(number).expect("a small one"));
        let outcome = if fails { "failed" } else { "handled" };
        let line = format!("{outcome} {} {}\n", envelope.meta().id(), envelope.attempts());
        (&diary).write_all(line.as_bytes()).expect("a note");
        std::future::ready(if fails {
            Err(Failure::new("card refused"))
        } else {
            Ok(())
        })
    };
    let consumer = Consumer::builder()
        .handler(ORDER, work)
        .max_attempts(ATTEMPTS)
        .max_unconfirmed_acks(IN_FLIGHT);
    let consumer = Pulsar::new(&url)
        .expect("a URL")
        .subscription(&topic, SUB)
        .subscription_type(subscription_type())
        .initial_position(InitialPosition::Earliest)
        .dead_letters()
        .open(consumer)
        .await
        .expect("a consumer");
    consumer.run(std::future::pending::<()>()).await;
}

fn subscription_type() -> SubscriptionType {
    let name = env::var(TYPE).expect("a type");
    let types = [
        SubscriptionType::Shared,
        SubscriptionType::KeyShared,
        SubscriptionType::Failover,
    ];
    let found = types
        .into_iter()
        .find(|candidate| format!("{candidate:?}") == name);
    found.expect("a type that the tests use")
}
