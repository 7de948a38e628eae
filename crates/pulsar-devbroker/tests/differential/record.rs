//! What was seen, by name, and how two such records differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

/// The configuration of the broker that the record is of.
const CONFIGURATION: &str = "standalone, scripts/pulsar.d/base.conf with profiles/default.conf";

/// Observations by path: `group/scenario/field`.
#[derive(Debug, Default)]
pub(crate) struct Record {
    observations: Mutex<BTreeMap<String, Value>>,
}

impl Record {
    /// What the broker of the record calls itself.
    pub(crate) const BROKER: &str = "Pulsar Server4.0.7";

    /// Notes a value; each field of an object is an observation of its own, and each object of a list.
    pub(crate) fn note(&self, path: &str, value: impl Into<Value>) {
        let mut observations = self.observations.lock().expect("nobody panicked");
        flatten(path, value.into(), &mut observations);
    }

    pub(crate) fn len(&self) -> usize {
        self.observations.lock().expect("nobody panicked").len()
    }

    pub(crate) fn has_group(&self, group: &str) -> bool {
        let observations = self.observations.lock().expect("nobody panicked");
        observations.keys().any(|path| is_in(path, group))
    }

    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(file("pulsar-4.0.7.json")).expect("the record");
        let record: Value = serde_json::from_str(&text).expect("JSON");
        let observations = record["observations"].as_object().expect("observations");
        Self {
            observations: Mutex::new(observations.clone().into_iter().collect()),
        }
    }

    pub(crate) fn write(&self) {
        let record = json!({
            "broker": Self::BROKER,
            "configuration": CONFIGURATION,
            "observations": *self.observations.lock().expect("nobody panicked"),
        });
        let text = serde_json::to_string_pretty(&record).expect("JSON");
        fs::write(file("pulsar-4.0.7.json"), text + "\n").expect("the record is written");
    }
}

fn is_in(path: &str, group: &str) -> bool {
    path.split('/').next() == Some(group)
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/differential")
        .join(name)
}

fn flatten(path: &str, value: Value, into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&format!("{path}/{name}"), value, into);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_object) => {
            into.insert(format!("{path}/count"), json!(all.len()));
            for (index, value) in all.into_iter().enumerate() {
                flatten(&format!("{path}/{index}"), value, into);
            }
        }
        value => {
            let before = into.insert(path.to_owned(), value);
            assert!(before.is_none(), "{path} is noted twice");
        }
    }
}

/// What may differ, with the reason: a path, or all paths below one that ends in `/`.
pub(crate) struct Differences {
    accepted: Vec<(String, String)>,
}

impl Differences {
    pub(crate) fn none() -> Self {
        Self { accepted: Vec::new() }
    }

    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(file("differences.json")).expect("the differences");
        let list: BTreeMap<String, String> = serde_json::from_str(&text).expect("reasons by path");
        Self {
            accepted: list.into_iter().collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.accepted.len()
    }

    pub(crate) fn any_in(&self, group: &str) -> bool {
        self.accepted.iter().any(|(path, _)| is_in(path, group))
    }

    /// What is not as recorded and not accepted, and what is accepted and as recorded.
    pub(crate) fn compare(&self, recorded: &Record, seen: &Record) -> Vec<String> {
        let recorded = recorded.observations.lock().expect("nobody panicked");
        let seen = seen.observations.lock().expect("nobody panicked");
        let mut problems = Vec::new();
        let mut used = vec![false; self.accepted.len()];
        let mut paths: Vec<_> = recorded.keys().chain(seen.keys()).collect();
        paths.sort();
        paths.dedup();
        for path in paths {
            let (expected, found) = (recorded.get(path), seen.get(path));
            if expected == found {
                continue;
            }
            let covers =
                |accepted: &str| path == accepted || accepted.ends_with('/') && path.starts_with(accepted);
            match self.accepted.iter().position(|(accepted, _)| covers(accepted)) {
                Some(index) => used[index] = true,
                None => {
                    let say = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
                    problems.push(format!("{path}: recorded {}, seen {}", say(expected), say(found)));
                }
            }
        }
        for ((path, reason), used) in self.accepted.iter().zip(used) {
            if !used {
                problems.push(format!(
                    "{path}: accepted ({reason}), but there is no difference any more"
                ));
            }
        }
        problems
    }
}
