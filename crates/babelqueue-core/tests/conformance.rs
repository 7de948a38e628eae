//! The format by example: our own vectors, and the official suite when it is at hand.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use babelqueue_core::dead_letter::{DeadLetter, Reason, poison_record, restore};
use babelqueue_core::{
    Body, Data, Delivery, Envelope, NewEnvelope, NotAccepted, Plan, Policy, Properties, Refusal, Stamp, plan,
    properties,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

fn vectors(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(name);
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    document["cases"].as_array().unwrap().clone()
}

fn body(case: &Value) -> Bytes {
    match case["body"].as_str() {
        Some(text) => text.to_owned().into(),
        None => STANDARD
            .decode(case["body_base64"].as_str().unwrap())
            .unwrap()
            .into(),
    }
}

fn delivery(body: Bytes) -> Delivery {
    let properties = Properties::new();
    Delivery {
        body: Body::Bytes(body),
        properties,
        redelivery_count: 0,
        queue: "lab".into(),
    }
}

/// The rule that `plan` reports, or "accepted".
fn verdict(body: Bytes) -> String {
    match plan(&delivery(body), &Policy::default(), |_| true) {
        Plan::Dispatch(_) => "accepted".to_owned(),
        Plan::Refuse(Refusal::Poison(poison)) => poison.cause().rule().to_owned(),
        Plan::Refuse(Refusal::Gated(_)) => "gated".to_owned(),
    }
}

fn pointers(envelope: &Envelope) -> Vec<&'static str> {
    envelope.warnings().map(|warning| warning.pointer()).collect()
}

#[test]
fn every_poison_vector_gets_its_rule_and_its_record() {
    let block = DeadLetter::new(Reason::Poison, "lab", 1, 1_790_000_000_123)
        .caused_by("why", Some("BabelQueueError".into()));
    let block_text = concat!(
        r#"{"reason":"poison","error":"why","exception":"BabelQueueError","failed_at":1790000000123,"#,
        r#""original_queue":"lab","attempts":1,"lang":"rust"}"#
    );
    for case in vectors("poison.json") {
        let body = body(&case);
        assert_eq!(verdict(body.clone()), case["rule"], "{}", case["name"]);
        let expected = case["record"].as_str().unwrap().replace("«D»", block_text);
        let record = poison_record(&body, &block);
        assert_eq!(
            String::from_utf8(record.to_vec()).unwrap(),
            expected,
            "{}",
            case["name"]
        );
        assert!(restore(&record).is_some(), "{}", case["name"]);
    }
}

#[test]
fn every_verdict_vector_gets_its_verdict() {
    for case in vectors("verdicts.json") {
        let name = &case["name"];
        let body = body(&case);
        assert_eq!(verdict(body.clone()), case["verdict"], "{name}");
        let decoded = Envelope::decode(&body);
        if let Some(pointer) = case["pointer"].as_str() {
            assert_eq!(decoded.as_ref().unwrap_err().pointer(), Some(pointer), "{name}");
        }
        if let Some(reason) = case["reason"].as_str() {
            assert_eq!(
                decoded.as_ref().unwrap().accepts().map_err(NotAccepted::reason),
                Err(reason),
                "{name}"
            );
        }
        if let Some(urn) = case["urn"].as_str() {
            assert_eq!(decoded.as_ref().unwrap().urn(), urn, "{name}");
        }
        if let Some(warnings) = case["warnings"].as_array() {
            assert_eq!(pointers(decoded.as_ref().unwrap()), *warnings, "{name}");
        }
    }
}

#[test]
fn every_rewrite_vector_changes_only_what_it_should() {
    for case in vectors("rewrites.json") {
        let envelope = Envelope::decode(&body(&case)).unwrap();
        assert_eq!(
            pointers(&envelope),
            *case["warnings"].as_array().unwrap(),
            "{}",
            case["name"]
        );
        let encoded = envelope
            .with_attempts(case["attempts"].as_i64().unwrap())
            .encode()
            .unwrap();
        assert_eq!(
            std::str::from_utf8(&encoded).unwrap(),
            case["out"],
            "{}",
            case["name"]
        );
    }
}

/// Where the official suite lies, if it does.
fn official() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("BABELQUEUE_CONFORMANCE").map_or_else(beside, PathBuf::from);
    if folder.join("manifest.json").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: no official suite; name its folder in BABELQUEUE_CONFORMANCE");
    None
}

struct Suite {
    folder: PathBuf,
    manifest: Value,
}

impl Suite {
    fn open() -> Option<Self> {
        let folder = official()?;
        let manifest = serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
        Some(Self { folder, manifest })
    }

    fn cases(&self, pointer: &str) -> &Vec<Value> {
        self.manifest.pointer(pointer).and_then(Value::as_array).unwrap()
    }

    fn file(&self, name: &Value) -> Bytes {
        std::fs::read(self.folder.join(name.as_str().unwrap()))
            .unwrap()
            .into()
    }
}

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

#[test]
fn the_official_cases_hold() {
    let Some(suite) = Suite::open() else { return };
    for case in suite.cases("/cases") {
        let body = suite.file(&case["file"]);
        assert_eq!(
            verdict(body.clone()) == "accepted",
            case["valid"],
            "{}",
            case["name"]
        );
        if case["valid"] == false {
            continue;
        }
        let envelope = Envelope::decode(&body).unwrap();
        let expect = &case["expect"];
        assert_eq!(envelope.urn(), expect["urn"], "{}", case["name"]);
        assert_eq!(
            envelope.data::<Value>().unwrap(),
            expect["data"],
            "{}",
            case["name"]
        );
        assert_eq!(envelope.attempts(), expect["attempts"], "{}", case["name"]);
        assert_eq!(envelope.meta().lang(), expect["lang"], "{}", case["name"]);
        assert_eq!(
            envelope.meta().schema_version(),
            expect["schema_version"].as_i64(),
            "{}",
            case["name"]
        );
        for (member, value) in expect["dead_letter"].as_object().into_iter().flatten() {
            assert_eq!(
                parsed(&envelope.encode().unwrap())["dead_letter"][member],
                *value,
                "{member}"
            );
        }
    }
}

#[test]
fn the_official_roundtrips_hold() {
    let Some(suite) = Suite::open() else { return };
    for case in suite.cases("/roundtrip/cases") {
        let envelope = Envelope::decode(&suite.file(&case["file"])).unwrap();
        let attempts = envelope.attempts() + 1;
        let encoded = parsed(&envelope.with_attempts(attempts).encode().unwrap());
        assert_eq!(encoded["attempts"], case["expect_attempts"], "{}", case["name"]);
        for (pointer, value) in case["expect_preserved"].as_object().unwrap() {
            assert_eq!(
                encoded.pointer(pointer),
                Some(value),
                "{} {pointer}",
                case["name"]
            );
        }
    }
}

#[test]
fn the_official_data_shapes_hold() {
    let Some(suite) = Suite::open() else { return };
    for case in suite.cases("/data_shape/cases") {
        if case["mode"] == "decode" {
            let accepted = verdict(suite.file(&case["file"])) == "accepted";
            assert_eq!(accepted, case["valid"], "{}", case["name"]);
            continue;
        }
        let data = Data::from_serialize(&case["data"]).unwrap();
        let stamp = Stamp {
            message_id: [1; 16],
            trace_id: [2; 16],
            now_ms: 3,
        };
        let envelope = NewEnvelope::new(case["urn"].as_str().unwrap(), data)
            .queue(case["queue"].as_str().unwrap())
            .build(&stamp)
            .unwrap();
        let encoded = Envelope::decode(&envelope.encode().unwrap()).unwrap();
        assert_eq!(
            encoded.data_json(),
            case["expect_encoded_data_json"],
            "{}",
            case["name"]
        );
    }
}

#[test]
fn the_official_forbidden_keys_are_warned_about_and_dropped() {
    let Some(suite) = Suite::open() else { return };
    for case in suite.cases("/forbidden_keys/cases") {
        let body = suite.file(&case["file"]);
        let envelope = Envelope::decode(&body).unwrap();
        let key = case["forbidden_key"].as_str().unwrap();
        assert!(pointers(&envelope).contains(&key), "{key}");
        let encoded = parsed(&envelope.encode().unwrap());
        for absent in case["expect_absent_after_reencode"].as_array().unwrap() {
            assert_eq!(encoded.pointer(absent.as_str().unwrap()), None, "{key}");
        }
        assert_eq!(encoded["attempts"], parsed(&body)["attempts"], "{key}");
        let refused = envelope.with_member(key, "1").unwrap().encode().unwrap_err();
        assert_eq!(refused.pointer(), Some(key));
    }
}

#[test]
fn the_official_projection_holds() {
    let Some(suite) = Suite::open() else { return };
    let block = &suite.manifest["pulsar"]["property_projection"];
    let envelope = Envelope::decode(&suite.file(&block["envelope_file"])).unwrap();
    let projected: serde_json::Map<String, Value> = Properties::project(&envelope)
        .iter()
        .map(|(key, value)| {
            (
                String::from_utf8(key.to_vec()).unwrap(),
                String::from_utf8_lossy(value).into(),
            )
        })
        .collect();
    assert_eq!(Value::Object(projected), block["properties"]);
}

#[test]
fn the_official_reconciliations_hold() {
    let Some(suite) = Suite::open() else { return };
    for case in suite.cases("/pulsar/attempts_reconciliation/cases") {
        let body = format!(
            r#"{{"job":"u","trace_id":"t","data":{{}},"meta":{{"schema_version":1}},"attempts":{}}}"#,
            case["body_attempts"]
        );
        let redelivery_count = case["redelivery_count"].as_u64().unwrap().try_into().unwrap();
        let delivery = Delivery {
            redelivery_count,
            ..delivery(body.into())
        };
        let Plan::Dispatch(work) = plan(&delivery, &Policy::default(), |_| true) else {
            panic!("{} is refused", case["name"]);
        };
        assert_eq!(work.attempts(), case["expected_attempts"], "{}", case["name"]);
    }
}

#[test]
fn the_official_gate_holds_whatever_the_body_is() {
    let Some(suite) = Suite::open() else { return };
    let body = suite.file(&suite.manifest["pulsar"]["schema_version_gate"]["fixture"]);
    for case in suite.cases("/pulsar/schema_version_gate/cases") {
        let gated = case["expect"] == "reject";
        for body in [body.clone(), Bytes::from_static(b"not json")] {
            let mut delivery = delivery(body);
            if let Some(value) = case["value"].as_str() {
                delivery
                    .properties
                    .set(properties::SCHEMA_VERSION, value.to_owned());
            }
            let plan = plan(&delivery, &Policy::default(), |_| true);
            assert_eq!(
                matches!(plan, Plan::Refuse(Refusal::Gated(_))),
                gated,
                "{}",
                case["name"]
            );
        }
    }
}
