//! `cargo run --release -p bench [-- [brokers | peers] [--smoke]]`, with the broker in `PULSAR_URL` and `PULSAR_ADMIN_URL`.

use std::process::{Command, Stdio};
use std::time::Duration;

use bench::meter::Sample;
use bench::report::Report;
use bench::work::{Bench, CASES};
use bench::{Result, brokers, codec, peers, results};
use pulsar_testing::Broker;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => layers(false),
        ["--smoke"] => layers(true),
        ["brokers"] => brokers::run(false),
        ["brokers", "--smoke"] => brokers::run(true),
        ["peers"] => peers::run(false),
        ["peers", "--smoke"] => peers::run(true),
        // What `peers` starts for each of our own lines.
        ["contender", who, task, url, topic, count] => peers::contend(who, task, url, topic, count),
        _ => Err("usage: bench [brokers | peers] [--smoke]".into()),
    }
}

/// The SDK beside its client, and its codec beside serde_json.
fn layers(smoke: bool) -> Result<()> {
    let (messages, rounds) = if smoke { (500, 1) } else { (50_000, 3) };
    let (time, codec_rounds) = if smoke { (1, 3) } else { (40, 15) };
    let bench = Bench {
        broker: Broker::real().ok_or("PULSAR_URL is not set; run it with scripts/with-pulsar")?,
        messages,
        count: || 0,
    };
    let mut report = Report::new(&bench, rounds)?;
    report.codec = Some(codec::measure(Duration::from_millis(time), codec_rounds)?);
    // Counting comes first: a broker is slow with its first thousands of messages.
    report.allocations = allocations(messages.min(10_000))?;
    for _ in 0..rounds {
        let round: Vec<Sample> = CASES
            .into_iter()
            .map(|case| bench.run(case))
            .collect::<Result<_>>()?;
        report.rounds.push(round);
    }
    let text = report.to_markdown()?;
    println!("{text}");
    if !smoke {
        results::put("Figures", &text)?;
    }
    Ok(())
}

/// Allocations a message of each case, counted by the other program of this package.
fn allocations(messages: u32) -> Result<Vec<f64>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "bench",
            "--bin",
            "allocations",
            "--",
        ])
        .arg(messages.to_string())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("counting the allocations failed".into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines
        .lines()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?)
}
