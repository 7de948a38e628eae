//! `bqctl conformance`: the official suite, run against this build.

mod envelope;
mod pulsar;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use self::suite::{Checked, Outcome, Suite};
use crate::failure::Failure;
use crate::output::{Line, line};

/// Runs the official conformance suite against this build
///
/// The folder holds manifest.json and the fixtures it names. A line is printed for each block: passed,
/// failed with the failing cases, or skipped with the reason; then one with the numbers of blocks. The
/// exit code is 1 when a block failed.
#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// The folder with manifest.json.
    folder: PathBuf,
}

pub(crate) async fn run(args: ConformanceArgs) -> Result<ExitCode, Failure> {
    let suite = Suite::open(args.folder)?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for name in suite.blocks() {
        let outcome = match block(&suite, &name).await {
            Some(Ok(checked)) => checked.outcome(),
            Some(Err(problem)) => Outcome::Failed(problem),
            None => Outcome::Skipped(reason(&name)),
        };
        let text = match outcome {
            Outcome::Passed(cases) => {
                passed += 1;
                format!("passed  {name} ({cases})")
            }
            Outcome::Failed(why) => {
                failed += 1;
                format!("failed  {name}: {why}")
            }
            Outcome::Skipped(why) => {
                skipped += 1;
                format!("skipped {name}: {why}")
            }
        };
        // The exit code is the answer for those who do not read.
        let (Line::Written | Line::Unread) = line(&text)?;
    }
    let (Line::Written | Line::Unread) =
        line(&format!("{passed} passed, {failed} failed, {skipped} skipped"))?;
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs a block; none when this build has nothing that it speaks about.
async fn block(suite: &Suite, name: &str) -> Option<Result<Checked, String>> {
    Some(match name {
        "cases" => envelope::cases(suite).await,
        "roundtrip" => envelope::roundtrip(suite).await,
        "data_shape" => envelope::data_shape(suite),
        "forbidden_keys" => envelope::forbidden_keys(suite),
        "pulsar.property_projection" => pulsar::property_projection(suite),
        "pulsar.attempts_reconciliation" => pulsar::attempts_reconciliation(suite).await,
        "pulsar.schema_version_gate" => pulsar::schema_version_gate(suite).await,
        _ => return None,
    })
}

fn reason(block: &str) -> &'static str {
    match block {
        "sqs" | "asb" | "kafka" | "kafka_poison" | "artemis" | "redis" | "rabbitmq" => {
            "the binding of another broker"
        }
        "idempotency" => "this build has no idempotency helper",
        "payload_schema" | "payload_schema_unicode" => "this build has no schema validator",
        _ => "unknown to this version",
    }
}
