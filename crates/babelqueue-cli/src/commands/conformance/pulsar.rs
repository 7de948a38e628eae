//! The blocks about the Pulsar binding.

use std::collections::BTreeMap;

use babelqueue_pulsar::inspect::{Action, Behaviour, InspectOptions, Inspection, Verdict};
use babelqueue_pulsar::{Envelope, Properties, properties};
use bytes::Bytes;
use serde::Deserialize;

use super::suite::{Checked, Suite, deliver, expect};
use crate::failure::chain;

#[derive(Deserialize)]
struct Projection {
    envelope_file: String,
    properties: BTreeMap<String, String>,
}

/// The properties that a published envelope gets: these and no others.
pub(super) fn property_projection(suite: &Suite) -> Result<Checked, String> {
    let block: Projection = suite.block("pulsar.property_projection")?;
    let mut checked = Checked::default();
    checked.add(&block.envelope_file, check_projection(suite, &block));
    Ok(checked)
}

fn check_projection(suite: &Suite, block: &Projection) -> Result<(), String> {
    let envelope = Envelope::decode(&suite.file(&block.envelope_file)?).map_err(|error| chain(&error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let projected = Properties::project(&envelope);
    let projected: BTreeMap<_, _> = projected
        .iter()
        .map(|(key, value)| (text(key), text(value)))
        .collect();
    expect("properties", &block.properties, &projected)
}

#[derive(Deserialize)]
struct Reconciliations {
    cases: Vec<Reconciliation>,
}

#[derive(Deserialize)]
struct Reconciliation {
    name: String,
    body_attempts: i64,
    redelivery_count: u32,
    expected_attempts: i64,
}

/// The attempts that a handler sees of a message without the property.
pub(super) async fn attempts_reconciliation(suite: &Suite) -> Result<Checked, String> {
    let mut checked = Checked::default();
    let block: Reconciliations = suite.block("pulsar.attempts_reconciliation")?;
    for case in block.cases {
        checked.add(&case.name, check_reconciliation(&case).await);
    }
    Ok(checked)
}

async fn check_reconciliation(case: &Reconciliation) -> Result<(), String> {
    const URN: &str = "urn:babel:conformance:attempts";
    let body = format!(
        r#"{{"job":"{URN}","trace_id":"t","data":{{}},"meta":{{"schema_version":1}},"attempts":{}}}"#,
        case.body_attempts
    );
    let handled = deliver(
        body.into(),
        Properties::new(),
        case.redelivery_count,
        &handling(URN),
    )
    .await?;
    expect("verdict", Verdict::Handle, handled.verdict)?;
    expect("attempts", Some(case.expected_attempts), handled.attempts)
}

#[derive(Deserialize)]
struct Gate {
    property: String,
    fixture: String,
    cases: Vec<GateCase>,
}

#[derive(Deserialize)]
struct GateCase {
    value: Option<String>,
    #[serde(default)]
    absent: bool,
    expect: Pass,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Pass {
    Decode,
    Reject,
}

/// What the version property lets through, and what becomes of the rest.
pub(super) async fn schema_version_gate(suite: &Suite) -> Result<Checked, String> {
    let block: Gate = suite.block("pulsar.schema_version_gate")?;
    expect("property", properties::SCHEMA_VERSION, block.property.as_str())?;
    let body = suite.file(&block.fixture)?;
    let urn = Envelope::decode(&body)
        .map_err(|error| chain(&error))?
        .urn()
        .to_owned();
    let mut checked = Checked::default();
    for case in block.cases {
        let mut properties = Properties::new();
        let name = match (&case.value, case.absent) {
            (Some(value), false) => {
                properties.set(properties::SCHEMA_VERSION, value.clone());
                format!("{value:?}")
            }
            (_, true) => "absent".to_owned(),
            (None, false) => return Err("a case has neither a value nor is it absent".to_owned()),
        };
        let result = match case.expect {
            Pass::Decode => check_decoded(&body, properties, &handling(&urn)).await,
            Pass::Reject => check_rejected(&body, &properties, &handling(&urn)).await,
        };
        checked.add(&name, result);
    }
    Ok(checked)
}

async fn check_decoded(body: &Bytes, properties: Properties, options: &InspectOptions) -> Result<(), String> {
    let handled = deliver(body.clone(), properties, 0, options).await?;
    expect("verdict", Verdict::Handle, handled.verdict)?;
    expect("action", Action::Ack, handled.action)
}

/// With and without a dead-letter producer, also for a body that would be poison; no hook but `on_error`.
async fn check_rejected(
    body: &Bytes,
    properties: &Properties,
    options: &InspectOptions,
) -> Result<(), String> {
    let mut options = options.clone();
    options.on_unknown_urn = Some(Behaviour::Ok);
    for body in [body.clone(), Bytes::from_static(b"not json")] {
        options.dead_letter = false;
        let dropped = deliver(body.clone(), properties.clone(), 0, &options).await?;
        check_gated(&dropped)?;
        expect("without a DLQ", Action::Drop, dropped.action)?;
        expect("published without a DLQ", false, dropped.published.is_some())?;
        options.dead_letter = true;
        let raw = deliver(body.clone(), properties.clone(), 0, &options).await?;
        check_gated(&raw)?;
        expect("with a DLQ", Action::DeadLetter, raw.action)?;
        let outgoing = raw.published.ok_or("nothing was published with a DLQ")?;
        expect("record", &body, &outgoing.body)?;
        let pairs = |properties: &Properties| properties.clone().into_pairs();
        expect("properties", pairs(properties), pairs(&outgoing.properties))?;
    }
    Ok(())
}

fn check_gated(inspection: &Inspection) -> Result<(), String> {
    expect("verdict", Verdict::Gated, inspection.verdict)?;
    expect("hooks", ["on_error"].as_slice(), inspection.hooks.as_slice())
}

fn handling(urn: &str) -> InspectOptions {
    let mut options = InspectOptions::default();
    options.handlers = vec![urn.to_owned()];
    options
}
