//! What the tests against a broker share: a topic of their own with everything ever written to it, and waiting
//! for conditions instead of times.

mod diary;
mod python;
mod records;
mod scene;

use std::time::Duration;

use babelqueue_pulsar::{Consumer, Failure};

pub(crate) use diary::Diary;
pub(crate) use python::{Peer, peer_or_skip};
pub(crate) use records::{
    ORDER, body, dead_letter, order, payload, properties, property, sorted, text, value_of,
};
pub(crate) use scene::{SUB, Scene, WITNESS, closed_within_patience};

/// Long enough for a broker on a busy machine, short enough for a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The result of `work`, which must come in time.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(result) => result,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// Waits until `check` holds without standing in the way of other tasks.
pub(crate) async fn until(what: &str, mut check: impl FnMut() -> bool) {
    let holds = async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    within(what, holds).await;
}

/// Takes one delivery to its settlement.
pub(crate) async fn poll(consumer: &Consumer) {
    let handled = within("a delivery", async {
        loop {
            match consumer.poll().await {
                Ok(0) => {}
                other => return other,
            }
        }
    });
    assert_eq!(handled.await.expect("a settled delivery"), 1);
}

/// What the failing handlers of these tests fail with.
pub(crate) fn offline() -> Failure {
    Failure::new("probe offline")
}
