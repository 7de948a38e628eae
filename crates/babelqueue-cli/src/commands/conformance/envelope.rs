//! The blocks about the envelope itself.

use std::collections::BTreeMap;

use babelqueue_pulsar::inspect::{Behaviour, InspectOptions, Verdict};
use babelqueue_pulsar::{Data, DecodeErrorKind, Envelope, NewEnvelope, Properties, Stamp};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::suite::{Checked, Suite, deliver, expect, expect_json};
use crate::failure::chain;
use crate::json;

#[derive(Deserialize)]
struct Block<T> {
    cases: Vec<T>,
}

#[derive(Deserialize)]
struct Case<'a> {
    name: String,
    file: String,
    valid: bool,
    #[serde(borrow)]
    expect: Option<Expected<'a>>,
}

#[derive(Deserialize)]
struct Expected<'a> {
    urn: String,
    #[serde(borrow)]
    data: &'a RawValue,
    attempts: i64,
    lang: String,
    schema_version: i64,
    #[serde(borrow, default)]
    dead_letter: BTreeMap<String, &'a RawValue>,
}

/// Decoding and acceptance of each fixture, and that exactly the invalid ones are poison.
pub(super) async fn cases(suite: &Suite) -> Result<Checked, String> {
    let mut checked = Checked::default();
    for case in suite.block::<Vec<Case<'_>>>("cases")? {
        checked.add(&case.name, check_case(suite, &case).await);
    }
    Ok(checked)
}

async fn check_case(suite: &Suite, case: &Case<'_>) -> Result<(), String> {
    let body = suite.file(&case.file)?;
    expect("valid", case.valid, is_accepted(&body))?;
    match (case.name.as_str(), &case.expect) {
        ("invalid-unknown-schema-version", _) => {
            let refused = decode(&body)?.accepts().map_err(|why| why.reason());
            expect("reason", Err("unsupported_schema_version"), refused)?;
        }
        ("invalid-missing-urn", _) => {
            let kind = Envelope::decode(&body).map(|_| ()).map_err(|error| error.kind());
            expect("decoding", Err(DecodeErrorKind::NoIdentity), kind)?;
        }
        (_, Some(expected)) if case.valid => check_content(&decode(&body)?, expected)?,
        _ => {}
    }
    let inspection = deliver(body, Properties::new(), 0, &InspectOptions::default()).await?;
    expect("poison", !case.valid, inspection.verdict == Verdict::Poison)
}

fn check_content(envelope: &Envelope, expected: &Expected<'_>) -> Result<(), String> {
    let meta = envelope.meta();
    expect("urn", expected.urn.as_str(), envelope.urn())?;
    expect_json("data", expected.data.get(), Some(envelope.data_json()))?;
    expect("attempts", expected.attempts, envelope.attempts())?;
    expect("lang", expected.lang.as_str(), meta.lang())?;
    expect(
        "schema_version",
        Some(expected.schema_version),
        meta.schema_version(),
    )?;
    expect("meta.id is there", true, !meta.id().is_empty())?;
    expect("trace_id is there", true, !envelope.trace_id().is_empty())?;
    expect("created_at is there", true, meta.created_at().is_some())?;
    let encoded = encode(envelope)?;
    for (member, value) in &expected.dead_letter {
        let pointer = format!("/dead_letter/{member}");
        expect_json(&pointer, value.get(), json::at(&encoded, &pointer))?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct RoundTrip<'a> {
    name: String,
    file: String,
    expect_attempts: i64,
    #[serde(borrow)]
    expect_preserved: BTreeMap<String, &'a RawValue>,
}

/// What survives another attempt: encoded by hand, and published by a consumer whose handler failed.
pub(super) async fn roundtrip(suite: &Suite) -> Result<Checked, String> {
    let mut checked = Checked::default();
    for case in suite.block::<Block<RoundTrip<'_>>>("roundtrip")?.cases {
        checked.add(&case.name, check_roundtrip(suite, &case).await);
    }
    Ok(checked)
}

async fn check_roundtrip(suite: &Suite, case: &RoundTrip<'_>) -> Result<(), String> {
    let body = suite.file(&case.file)?;
    let envelope = decode(&body)?;
    let attempts = envelope.attempts() + 1;
    let urn = envelope.urn().to_owned();
    check_preserved("encoded", case, &encode(&envelope.with_attempts(attempts))?)?;
    let mut options = InspectOptions::default();
    options.handlers = vec![urn];
    options.handler = Behaviour::Fail;
    options.max_attempts = i32::MAX.unsigned_abs();
    let retried = deliver(body, Properties::new(), 0, &options).await?;
    expect("failing handler", Verdict::Retry, retried.verdict)?;
    let outgoing = retried
        .published
        .ok_or("failing handler: nothing was published")?;
    check_preserved("retried", case, text(&outgoing.body)?)
}

fn check_preserved(what: &str, case: &RoundTrip<'_>, encoded: &str) -> Result<(), String> {
    let attempts = case.expect_attempts.to_string();
    expect_json(
        &format!("{what} /attempts"),
        &attempts,
        json::at(encoded, "/attempts"),
    )?;
    for (pointer, value) in &case.expect_preserved {
        expect_json(
            &format!("{what} {pointer}"),
            value.get(),
            json::at(encoded, pointer),
        )?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
enum DataShape {
    Encode {
        name: String,
        urn: String,
        queue: String,
        data: serde_json::Value,
        expect_encoded_data_json: String,
    },
    Decode {
        name: String,
        file: String,
        valid: bool,
    },
}

/// That data is an object, written and read.
pub(super) fn data_shape(suite: &Suite) -> Result<Checked, String> {
    let mut checked = Checked::default();
    for case in suite.block::<Block<DataShape>>("data_shape")?.cases {
        match case {
            DataShape::Encode {
                name,
                urn,
                queue,
                data,
                expect_encoded_data_json,
            } => {
                let found = encoded_data(urn, queue, &data);
                let result = found.and_then(|found| expect("data", expect_encoded_data_json, found));
                checked.add(&name, result);
            }
            DataShape::Decode { name, file, valid } => {
                let result = suite.file(&file);
                let result = result.and_then(|body| expect("valid", valid, is_accepted(&body)));
                checked.add(&name, result);
            }
        }
    }
    Ok(checked)
}

fn encoded_data(urn: String, queue: String, data: &serde_json::Value) -> Result<String, String> {
    let stamp = Stamp {
        message_id: [1; 16],
        trace_id: [2; 16],
        now_ms: 3,
    };
    let data = Data::from_serialize(data).map_err(|error| chain(&error))?;
    let new = NewEnvelope::new(urn, data).queue(queue).build(&stamp);
    let encoded = encode(&new.map_err(|error| chain(&error))?)?;
    Ok(json::compact(
        json::at(&encoded, "/data").ok_or("there is no data")?,
    ))
}

#[derive(Deserialize)]
struct ForbiddenKey {
    name: String,
    file: String,
    forbidden_key: String,
    expect_absent_after_reencode: Vec<String>,
}

/// Keys that are read with a warning and never written.
pub(super) fn forbidden_keys(suite: &Suite) -> Result<Checked, String> {
    let mut checked = Checked::default();
    for case in suite.block::<Block<ForbiddenKey>>("forbidden_keys")?.cases {
        checked.add(&case.name, check_forbidden_key(suite, &case));
    }
    Ok(checked)
}

fn check_forbidden_key(suite: &Suite, case: &ForbiddenKey) -> Result<(), String> {
    let body = suite.file(&case.file)?;
    let key = case.forbidden_key.as_str();
    let envelope = decode(&body)?;
    let warned: Vec<_> = envelope.warnings().map(|warning| warning.pointer()).collect();
    if !warned.contains(&key) {
        return Err(format!("warnings: expected {key}, found {warned:?}"));
    }
    let encoded = encode(&envelope)?;
    for absent in &case.expect_absent_after_reencode {
        expect(absent, None, json::at(&encoded, absent))?;
    }
    check_rest(text(&body)?, &encoded, key)?;
    let by_hand = envelope.with_member(key, "1").map_err(|error| chain(&error))?;
    let refused = by_hand.encode().err();
    expect(
        "encoding with the key put in by hand",
        Some(key),
        refused.as_ref().and_then(|error| error.pointer()),
    )
}

/// That all but the key is as it was, the members of `meta` looked at one by one.
fn check_rest(original: &str, encoded: &str, key: &str) -> Result<(), String> {
    for parent in ["", "/meta"] {
        let members = json::at(original, parent)
            .and_then(json::members)
            .unwrap_or_default();
        for (name, value) in members {
            let pointer = format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"));
            if pointer != key && pointer != "/meta" {
                expect_json(&pointer, value.get(), json::at(encoded, &pointer))?;
            }
        }
    }
    Ok(())
}

fn is_accepted(body: &Bytes) -> bool {
    Envelope::decode(body).is_ok_and(|envelope| envelope.accepts().is_ok())
}

fn decode(body: &Bytes) -> Result<Envelope, String> {
    Envelope::decode(body).map_err(|error| format!("decoding failed: {}", chain(&error)))
}

fn encode(envelope: &Envelope) -> Result<String, String> {
    let encoded = envelope
        .encode()
        .map_err(|error| format!("encoding failed: {}", chain(&error)))?;
    Ok(text(&encoded)?.to_owned())
}

fn text(body: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(body).map_err(|error| error.to_string())
}
