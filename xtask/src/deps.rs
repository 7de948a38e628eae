//! Which crate may know which: arrows of the layout point inwards only.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use serde_json::Value;

/// What a crate must not depend on, directly or through others (tests and build scripts aside).
const RULES: [(&str, &[&str], &str); 6] = [
    (
        "babelqueue-core",
        &[
            "tokio",
            "async-std",
            "smol",
            "mio",
            "socket2",
            "rand",
            "getrandom",
            "uuid",
            "tracing",
            "log",
            "chrono",
            "time",
        ],
        "the core has no runtime, socket, clock, random source or log",
    ),
    (
        "babelqueue",
        &["pulsar-wire", "pulsar-tokio", "pulsar"],
        "the runtime knows no broker",
    ),
    (
        "pulsar-wire",
        &["babelqueue-core", "babelqueue", "babelqueue-pulsar", "tokio"],
        "the protocol knows no envelope and no socket",
    ),
    (
        "pulsar-tokio",
        &["babelqueue-core", "babelqueue", "babelqueue-pulsar"],
        "the client knows no envelope",
    ),
    (
        "pulsar-devbroker",
        &[
            "babelqueue-core",
            "babelqueue",
            "babelqueue-pulsar",
            "pulsar-tokio",
        ],
        "the development broker knows no envelope and no client",
    ),
    (
        "babelqueue-pulsar",
        &["babelqueue-cli"],
        "an adapter knows no tool",
    ),
];

pub(crate) fn check() -> ExitCode {
    let metadata = match metadata() {
        Ok(metadata) => metadata,
        Err(error) => {
            eprintln!("xtask: cannot read the workspace: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut broken = 0;
    for (name, forbidden, why) in RULES {
        let known = reachable(&metadata, name);
        assert!(known.contains(name), "no crate {name} in the workspace");
        for dependency in forbidden.iter().filter(|dependency| known.contains(**dependency)) {
            eprintln!("{name} depends on {dependency}, but {why}");
            broken += 1;
        }
    }
    if broken == 0 {
        println!("{} rules hold", RULES.len());
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn metadata() -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// The names of all crates that `name` needs to be built, itself included.
fn reachable(metadata: &Value, name: &str) -> BTreeSet<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let name_of = |id: &str| {
        let package = packages.iter().find(|package| package["id"] == id);
        package.map(|package| text(&package["name"])).unwrap_or_default()
    };
    let nodes = list(&metadata["resolve"]["nodes"]);
    let mut todo: Vec<String> = nodes
        .iter()
        .map(|node| text(&node["id"]))
        .filter(|id| name_of(id) == name)
        .collect();
    let mut seen = BTreeSet::new();
    let mut names = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        names.insert(name_of(&id));
        let Some(node) = nodes.iter().find(|node| node["id"] == *id) else {
            continue;
        };
        for dependency in list(&node["deps"]) {
            let is_normal = list(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null());
            if is_normal {
                todo.push(text(&dependency["pkg"]));
            }
        }
    }
    names
}
