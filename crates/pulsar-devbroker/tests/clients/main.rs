//! Pulsar's own clients, each with a program that does what such clients are for and says what it saw: here that must
//! be what it saw on Pulsar.
//!
//! Without `PULSAR_URL` the programs run on the development broker, with it on that broker, so that the records of Pulsar
//! cannot be out of date.

mod record;

use std::path::{Path, PathBuf};

use pulsar_testing::{broker, program, program_or_skip};
use tokio::process::Command;

const PARTITIONS: u32 = 3;

#[tokio::test(flavor = "multi_thread")]
async fn pythons_client_sees_what_it_sees_on_pulsar() {
    let program = program_or_skip!(program::python(&folder().join("python/scenarios.py")));
    sees_what_it_sees_on_pulsar("python", program).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn javas_client_sees_what_it_sees_on_pulsar() {
    let program = program_or_skip!(program::java(&folder().join("java/Scenarios.java")));
    sees_what_it_sees_on_pulsar("java", program).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gos_client_sees_what_it_sees_on_pulsar() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = program_or_skip!(program::go(&folder().join("go/scenarios.go"), target).await);
    sees_what_it_sees_on_pulsar("go", program).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_client_sees_what_it_sees_on_pulsar() {
    let program = program_or_skip!(program::node(&folder().join("node/scenarios.js")));
    sees_what_it_sees_on_pulsar("node", program).await;
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

async fn sees_what_it_sees_on_pulsar(client: &str, program: Command) {
    let broker = broker!();
    // The other topics begin with its name, and the client makes them.
    let partitioned = broker.topic(client);
    broker.admin().create_partitioned(&partitioned, PARTITIONS);
    let written = program::run(program, &[broker.url(), &partitioned], "").await;
    // A client may have written lines of its own before.
    let seen = written.last().expect("observations");
    record::must_hold(client, &serde_json::from_str(seen).expect("a JSON object"));
}
