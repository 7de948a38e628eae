//! What other clients publish, consumed by a worker: batches of all kinds, and what cannot be decoded.

mod batches;
mod chunked;
#[path = "../../../pulsar-tokio/tests/live/raw.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod raw;
#[path = "../live/support/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with other tests")]
mod support;
mod undecodable;

use std::path::{Path, PathBuf};

use pulsar_testing::program::{self, Missing};
use tokio::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

fn python(script: &str) -> Result<Command, Missing> {
    let mut command = program::python(&folder().join("python").join(script))?;
    // For the module that the scripts of all tests share.
    command.env("PYTHONPATH", folder().join("../interop"));
    Ok(command)
}

fn java(source: &str) -> Result<Command, Missing> {
    program::java(&folder().join("java").join(source))
}

async fn go(source: &str) -> Result<Command, Missing> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    program::go(&folder().join("go").join(source), target).await
}
