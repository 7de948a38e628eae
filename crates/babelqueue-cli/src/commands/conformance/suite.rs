//! The suite as a folder: its manifest, whose numbers stay texts, and its fixtures.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use babelqueue_pulsar::inspect::{InspectOptions, Inspection, inspect};
use babelqueue_pulsar::{Body, Delivery, Properties};
use bytes::Bytes;
use serde::Deserialize;

use crate::failure::{Failure, chain};
use crate::json;

/// Blocks that this build checks, in the order in which they are run.
const KNOWN: [&str; 7] = [
    "cases",
    "roundtrip",
    "data_shape",
    "forbidden_keys",
    "pulsar.property_projection",
    "pulsar.attempts_reconciliation",
    "pulsar.schema_version_gate",
];

/// A folder with a manifest and its fixtures.
#[derive(Debug)]
pub(super) struct Suite {
    folder: PathBuf,
    /// The JSON texts of the blocks; those of `pulsar` are named `pulsar.<block>`.
    blocks: BTreeMap<String, String>,
}

impl Suite {
    pub(super) fn open(folder: PathBuf) -> Result<Self, Failure> {
        let path = folder.join("manifest.json");
        let cannot = format!("cannot read {}", path.display());
        let manifest = std::fs::read_to_string(&path).map_err(|error| Failure::new(&cannot, &error))?;
        let members: BTreeMap<String, &serde_json::value::RawValue> =
            serde_json::from_str(&manifest).map_err(|error| Failure::new(&cannot, &error))?;
        match members.get("schema_version").map(|version| version.get()) {
            Some("1") => {}
            Some(other) => {
                return Err(Failure::text(format!(
                    "{cannot}: schema_version is {other}, this version runs 1"
                )));
            }
            None => return Err(Failure::text(format!("{cannot}: there is no schema_version"))),
        }
        let mut blocks = BTreeMap::new();
        for (name, block) in members {
            match (name.as_str(), json::members(block.get())) {
                ("schema_version" | "description", _) => {}
                ("pulsar", Some(inner)) => {
                    for (name, block) in inner.into_iter().filter(|(name, _)| name != "description") {
                        blocks.insert(format!("pulsar.{name}"), block.get().to_owned());
                    }
                }
                _ => {
                    blocks.insert(name, block.get().to_owned());
                }
            }
        }
        Ok(Self { folder, blocks })
    }

    /// The names of all blocks, those that this build checks first.
    pub(super) fn blocks(&self) -> Vec<String> {
        let known = KNOWN.iter().filter(|name| self.blocks.contains_key(**name));
        let others = self.blocks.keys().filter(|name| !KNOWN.contains(&name.as_str()));
        known
            .map(|name| (*name).to_owned())
            .chain(others.cloned())
            .collect()
    }

    /// The content of a block.
    pub(super) fn block<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<T, String> {
        let text = self.blocks.get(name).ok_or("not in the manifest")?;
        serde_json::from_str(text).map_err(|error| format!("the manifest cannot be read: {error}"))
    }

    pub(super) fn file(&self, name: &str) -> Result<Bytes, String> {
        match std::fs::read(self.folder.join(name)) {
            Ok(content) => Ok(content.into()),
            Err(error) => Err(format!("cannot read {name}: {error}")),
        }
    }
}

/// The cases of a block, checked.
#[derive(Debug, Default)]
pub(super) struct Checked {
    cases: usize,
    failures: Vec<String>,
}

/// What became of a block.
#[derive(Debug)]
pub(super) enum Outcome {
    Passed(usize),
    Failed(String),
    Skipped(&'static str),
}

impl Checked {
    pub(super) fn add(&mut self, name: &str, result: Result<(), String>) {
        self.cases += 1;
        if let Err(why) = result {
            self.failures.push(format!("{name}: {why}"));
        }
    }

    pub(super) fn outcome(self) -> Outcome {
        match (self.cases, self.failures.as_slice()) {
            (0, _) => Outcome::Skipped("it has no cases"),
            (cases, []) => Outcome::Passed(cases),
            (cases, failures) => Outcome::Failed(format!(
                "{} of {cases} cases; {}",
                failures.len(),
                failures.join("; ")
            )),
        }
    }
}

/// Says what was expected when something else was found.
#[expect(
    clippy::needless_pass_by_value,
    reason = "calls read better, and most values are small"
)]
pub(super) fn expect<T: PartialEq + Debug>(what: &str, expected: T, found: T) -> Result<(), String> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, found {found:?}"))
    }
}

/// The same for JSON texts, which are compared as values.
pub(super) fn expect_json(what: &str, expected: &str, found: Option<&str>) -> Result<(), String> {
    match found {
        Some(found) if json::same(expected, found) => Ok(()),
        Some(found) => Err(format!(
            "{what}: expected {}, found {}",
            json::compact(expected),
            json::compact(found)
        )),
        None => Err(format!(
            "{what}: expected {}, found nothing",
            json::compact(expected)
        )),
    }
}

/// Lets a consumer with these options handle a delivery.
pub(super) async fn deliver(
    body: Bytes,
    properties: Properties,
    redelivery_count: u32,
    options: &InspectOptions,
) -> Result<Inspection, String> {
    let delivery = Delivery {
        body: Body::Bytes(body),
        properties,
        redelivery_count,
        queue: "conformance".into(),
    };
    inspect(delivery, options).await.map_err(|error| chain(&error))
}
