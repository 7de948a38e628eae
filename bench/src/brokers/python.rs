//! The same with Pulsar's Python client.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::{BYTES, SUBSCRIPTION};
use crate::Result;
use crate::protocol::BATCH;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/brokers/python.py");

pub(super) fn produce(url: &str, topic: &str, count: u32, batched: bool) -> Result<Duration> {
    let batch = if batched { BATCH } else { 1 };
    run(&[
        "produce",
        url,
        topic,
        &count.to_string(),
        &batch.to_string(),
        &BYTES.to_string(),
    ])
}

pub(super) fn consume(url: &str, topic: &str, count: u32) -> Result<Duration> {
    run(&["consume", url, topic, &count.to_string(), SUBSCRIPTION])
}

/// The version of the client.
pub(super) fn version() -> Result<String> {
    said(&["version"])
}

/// How long it took by the script's own clock: starting Python is not what is measured.
fn run(arguments: &[&str]) -> Result<Duration> {
    Ok(Duration::from_secs_f64(said(arguments)?.parse()?))
}

fn said(arguments: &[&str]) -> Result<String> {
    let python =
        pulsar_testing::python().ok_or("Pulsar's Python client is missing; run scripts/python-peer")?;
    let output = Command::new(python)
        .arg(SCRIPT)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("python.py {} failed", arguments[0]).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
