//! The interpreter that `scripts/python-peer` prepares: BabelQueue for Python and Pulsar's Python client, the peers of
//! the interop tests.

use std::fs;
use std::path::{Path, PathBuf};

/// The interpreter with the Python peer, or `None` where `scripts/python-peer` did not run or was interrupted.
#[must_use]
pub fn python() -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/interop/venv");
    let venv = fs::canonicalize(venv).ok()?;
    venv.join("installed").is_file().then(|| venv.join("bin/python"))
}
