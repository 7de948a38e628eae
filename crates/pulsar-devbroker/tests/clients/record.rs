//! What a client saw on Pulsar, as it is checked in, beside what it sees now.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use pulsar_testing::Broker;
use serde_json::{Map, Value};

/// The version whose behaviour is recorded, with the default profile of `scripts/pulsar`.
const PULSAR: &str = "4.0.7";

/// Compares what the client has seen with the record; with `BABELQUEUE_RECORD` and a real Pulsar it becomes the record.
///
/// # Panics
/// With the differences.
#[track_caller]
pub(crate) fn must_hold(client: &str, seen: &Value) {
    let name = format!("tests/clients/real-{PULSAR}.{client}.json");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if env::var_os("BABELQUEUE_RECORD").is_some() && Broker::real().is_some() {
        fs::write(file, text(seen)).expect("a place for the record");
        return;
    }
    let recorded = fs::read_to_string(file).expect("a record (make record)");
    let recorded = serde_json::from_str(&recorded).expect("a record");
    let differences = differences(&recorded, seen);
    assert!(
        differences.is_empty(),
        "{client}: not what the record of Pulsar {PULSAR} says\n{differences}"
    );
}

fn differences(recorded: &Value, seen: &Value) -> String {
    let (recorded, seen) = (facts(recorded), facts(seen));
    let names: BTreeSet<_> = recorded.keys().chain(seen.keys()).collect();
    let mut lines = String::new();
    for name in names {
        let (expected, found) = (recorded.get(name), seen.get(name));
        if expected != found {
            let said = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            let (expected, found) = (said(expected), said(found));
            writeln!(lines, "{name}\n    Pulsar {expected}\n    here   {found}").expect("a text takes it");
        }
    }
    lines
}

/// Single observations by scenario and name.
fn facts(record: &Value) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("version of the client".to_owned(), record["client"].clone());
    for (scenario, seen) in record["observations"].as_object().into_iter().flatten() {
        match seen {
            Value::Object(seen) => {
                let named = seen
                    .iter()
                    .map(|(name, value)| (format!("{scenario}: {name}"), value.clone()));
                facts.extend(named);
            }
            seen => {
                facts.insert(scenario.clone(), seen.clone());
            }
        }
    }
    facts
}

/// As it is checked in: an observation a line.
fn text(record: &Value) -> String {
    let mut lines = Vec::new();
    for (scenario, seen) in record["observations"].as_object().into_iter().flatten() {
        let seen = match seen {
            Value::Object(seen) => {
                let lines: Vec<_> = seen
                    .iter()
                    .map(|(name, value)| format!("      {name:?}: {value}"))
                    .collect();
                format!("{{\n{}\n    }}", lines.join(",\n"))
            }
            seen => seen.to_string(),
        };
        lines.push(format!("    {scenario:?}: {seen}"));
    }
    let client = &record["client"];
    format!(
        "{{\n  \"client\": {client},\n  \"observations\": {{\n{}\n  }}\n}}\n",
        lines.join(",\n")
    )
}
