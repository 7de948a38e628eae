//! Deliveries with the decision they have to get: our own, and the family's cases when they are at hand.

#![allow(clippy::unwrap_used)]

#[path = "../src/json.rs"]
#[allow(dead_code)]
mod json;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use babelqueue_pulsar::dead_letter::restore;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use support::run;

#[test]
fn every_delivery_of_ours_gets_its_decision() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/deliveries.jsonl"));
}

#[test]
fn every_delivery_of_the_family_gets_its_decision() {
    let folder = std::env::var_os("BABELQUEUE_CASES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases"),
        PathBuf::from,
    );
    let file = folder.join("deliveries.jsonl");
    if !file.is_file() {
        pulsar_testing::skip(
            "BABELQUEUE_REQUIRE_CASES",
            "needs deliveries.jsonl (name its folder in BABELQUEUE_CASES)",
        );
        return;
    }
    check(&file);
}

/// Runs the whole file through one call and compares line by line.
#[track_caller]
fn check(file: &Path) {
    let cases: Vec<Value> = std::fs::read_to_string(file).unwrap().lines().map(case).collect();
    let input: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let ended = run(&["inspect", "--jsonl", "--now-ms", "1790000000123"], &input);
    assert_eq!(ended.err, "");
    let answers: Vec<Value> = ended
        .done()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), cases.len());
    let problems: Vec<String> = cases
        .iter()
        .zip(&answers)
        .flat_map(|(case, answer)| problems(case, answer))
        .collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// A line; our own have the body as text.
fn case(line: &str) -> Value {
    let mut case: Value = serde_json::from_str(line).unwrap();
    if let Some(body) = case["body"].as_str() {
        case["body_base64"] = STANDARD.encode(body).into();
    }
    case
}

/// What is not as a case says.
fn problems(case: &Value, answer: &Value) -> Vec<String> {
    let mut check = Check {
        answer,
        body: STANDARD.decode(case["body_base64"].as_str().unwrap()).unwrap(),
        properties: &case["properties"],
        id: case["id"].as_str().unwrap(),
        problems: Vec::new(),
    };
    check.equal("id", &case["id"], &answer["id"]);
    for (name, expected) in case["expect"].as_object().unwrap() {
        check.member(name, expected);
    }
    check.problems
}

struct Check<'a> {
    id: &'a str,
    answer: &'a Value,
    body: Vec<u8>,
    properties: &'a Value,
    problems: Vec<String>,
}

impl Check<'_> {
    fn member(&mut self, name: &str, expected: &Value) {
        match name {
            "why" | "no_crash" => {}
            "verdict" if expected == "any" => {
                let found = !self.answer["verdict"].is_null();
                self.holds("a verdict", found);
            }
            "payload_recoverable" => self.recoverable(),
            "verdict" | "route" | "attempts" | "counted" | "reason" | "action" | "on_error_envelope"
            | "hooks" | "finish" | "dropped" | "warnings" => self.equal(name, expected, &self.answer[name]),
            "mismatch" => self.equal(name, expected, &self.answer[name].is_array().into()),
            "body_job" => self.equal(name, expected, &self.answer["mismatch"][1]),
            "record" => self.record(expected.as_str().unwrap()),
            "raw" => self.pointer("/raw", &expected.to_string()),
            "contains" => self.holds(name, self.text().contains(expected.as_str().unwrap())),
            "members" => self.members(expected),
            "dead_letter_attempts" => self.pointer("/dead_letter/attempts", &expected.to_string()),
            "dlq" => self.dead_letter(expected),
            "republish" => self.republish(expected),
            _ => self
                .problems
                .push(format!("{}: {name} is not known to this test", self.id)),
        }
    }

    fn equal(&mut self, what: &str, expected: &Value, found: &Value) {
        if expected != found {
            self.problems
                .push(format!("{}: {what} is {found}, not {expected}", self.id));
        }
    }

    fn holds(&mut self, what: &str, holds: bool) {
        if !holds {
            self.problems
                .push(format!("{}: {what} does not hold of {}", self.id, self.answer));
        }
    }

    fn record(&mut self, kind: &str) {
        self.equal("to", &"dlq".into(), &self.answer["publish"]["to"]);
        if kind == "raw_bytes_no_dead_letter" {
            self.holds(kind, self.published() == self.body);
            self.equal(
                "properties",
                self.properties,
                &self.answer["publish"]["properties"],
            );
            return;
        }
        self.pointer("/dead_letter/reason", "\"poison\"");
        self.equal(
            "properties",
            self.properties,
            &self.answer["publish"]["properties"],
        );
        let body = String::from_utf8(self.body.clone());
        let names: Vec<String> = json::members(&self.text()).unwrap().into_keys().collect();
        match kind {
            "object_plus_dead_letter" => {
                let body = body.unwrap();
                let original = body.trim().strip_suffix('}').unwrap().trim_end();
                let record = self.text();
                let rest = record.strip_prefix(original);
                self.holds(
                    kind,
                    rest.is_some_and(|rest| {
                        rest.trim_start_matches([',', ' '])
                            .starts_with("\"dead_letter\":{")
                    }),
                );
            }
            "wrapped_text" => {
                self.pointer("/raw", &Value::from(body.unwrap()).to_string());
                self.holds(kind, names == ["dead_letter", "raw"]);
            }
            "wrapped_base64" => {
                self.pointer("/raw", &Value::from(STANDARD.encode(&self.body)).to_string());
                self.pointer("/raw_encoding", "\"base64\"");
                self.holds(kind, names == ["dead_letter", "raw", "raw_encoding"]);
            }
            _ => self
                .problems
                .push(format!("{}: record {kind} is not known to this test", self.id)),
        }
    }

    fn members(&mut self, expected: &Value) {
        let text = self.text();
        let mut members: BTreeMap<_, _> = json::members(&text).unwrap();
        members.remove("dead_letter");
        let found: Value = members
            .into_iter()
            .map(|(name, value)| (name, serde_json::from_str(value.get()).unwrap()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        self.equal("members", expected, &found);
    }

    fn dead_letter(&mut self, expected: &Value) {
        self.equal("to", &"dlq".into(), &self.answer["publish"]["to"]);
        for (name, expected) in expected.as_object().unwrap() {
            match name.as_str() {
                "properties" => self.has_properties(expected),
                "body_job" => self.pointer("/job", &expected.to_string()),
                "dead_letter_members" => {
                    let count = self.text().matches("\"dead_letter\":").count();
                    self.equal(name, expected, &count.into());
                }
                "original_queue_not" => {
                    let text = self.text();
                    let found = json::at(&text, "/dead_letter/original_queue").unwrap();
                    self.holds(name, !json::same(found, &expected.to_string()));
                }
                _ => self
                    .problems
                    .push(format!("{}: dlq {name} is not known to this test", self.id)),
            }
        }
    }

    fn republish(&mut self, expected: &Value) {
        self.equal("to", &"topic".into(), &self.answer["publish"]["to"]);
        for (name, expected) in expected.as_object().unwrap() {
            match name.as_str() {
                "bq-attempts" => self.equal(name, expected, &self.answer["publish"]["properties"][name]),
                "body_attempts" => self.pointer("/attempts", &expected.to_string()),
                "properties" => self.has_properties(expected),
                "preserve" => {
                    for (pointer, literal) in expected.as_object().unwrap() {
                        self.pointer(pointer, literal.as_str().unwrap());
                    }
                }
                "absent" => {
                    for pointer in expected.as_array().unwrap() {
                        let absent = json::at(&self.text(), pointer.as_str().unwrap()).is_none();
                        self.holds(&format!("absent {pointer}"), absent);
                    }
                }
                _ => self
                    .problems
                    .push(format!("{}: republish {name} is not known to this test", self.id)),
            }
        }
    }

    fn has_properties(&mut self, expected: &Value) {
        for (key, value) in expected.as_object().unwrap() {
            self.equal(key, value, &self.answer["publish"]["properties"][key]);
        }
    }

    /// That nothing of the original is lost: nothing was written, or what was can be undone.
    fn recoverable(&mut self) {
        if self.answer["publish"]["to"] == "dlq" {
            let restored = restore(&self.published()).map(|restored| restored.into_body());
            let body = self.body.trim_ascii();
            self.holds(
                "recoverable",
                restored.is_some_and(|restored| restored.trim_ascii() == body),
            );
        }
    }

    /// The value at a pointer into the published body, numbers as decimals.
    fn pointer(&mut self, pointer: &str, expected: &str) {
        let text = self.text();
        let equal = json::at(&text, pointer).is_some_and(|found| {
            let numbers = expected.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            json::same(expected, found)
                || (numbers && json::Decimal::new(expected) == json::Decimal::new(found))
        });
        if !equal {
            self.problems
                .push(format!("{}: {pointer} of {text} is not {expected}", self.id));
        }
    }

    fn published(&self) -> Vec<u8> {
        STANDARD
            .decode(self.answer["publish"]["body_base64"].as_str().unwrap_or_default())
            .unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.published()).into_owned()
    }
}
