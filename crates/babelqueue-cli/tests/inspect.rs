//! Deliveries in, decisions out. What each decision has to be is checked in `deliveries.rs`.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::run;

const ENVELOPE: &str =
    r#"{"job":"urn:babel:orders:created","trace_id":"t","data":{},"meta":{"schema_version":1},"attempts":0}"#;

#[test]
fn one_delivery_gets_a_readable_answer() {
    let ended = run(&["inspect", "--body", ENVELOPE, "--handler", "throw"], "");
    let answer = ended.done();
    for part in [
        "retry: ",
        "published again",
        "counted    1 of 3",
        "bq-attempts = \"1\"",
        "\"attempts\":1}",
    ] {
        assert!(answer.contains(part), "{part} is not in:\n{answer}");
    }
}

#[test]
fn the_options_are_the_consumer() {
    for (options, verdict) in [
        (&["--property", "bq-schema-version=2"][..], "gated: "),
        (&["--handlers", "urn:babel:other"], "retry: nobody handles it"),
        (
            &["--handlers", "urn:babel:other", "--on-unknown-urn"],
            "unknown_hook: ",
        ),
        (
            &[
                "--handlers",
                "urn:babel:other",
                "--on-unknown-urn=throw",
                "--no-retry",
            ],
            "nack: ",
        ),
        (&["--handler", "throw", "--max-attempts", "1"], "dead_letter: "),
        (
            &["--handler", "panic", "--redelivery-count", "2", "--no-dlq"],
            "drop: ",
        ),
    ] {
        let ended = run(&[&["inspect", "--body", ENVELOPE], options].concat(), "");
        assert!(ended.done().starts_with(verdict), "{options:?}: {}", ended.out);
    }
}

#[test]
fn a_body_may_come_from_standard_input() {
    assert!(
        run(&["inspect", "--body", "-"], "not json")
            .done()
            .starts_with("poison: ")
    );
}

#[test]
fn a_consumer_that_cannot_be_built_is_an_error() {
    let ended = run(
        &[
            "inspect",
            "--body",
            "x",
            "--no-retry",
            "--subscription-type",
            "exclusive",
        ],
        "",
    );
    ended.failed_with(&["retry"]);
}

#[test]
fn a_body_or_lines_are_demanded_and_not_both() {
    run(&["inspect"], "").is_usage_error();
    run(&["inspect", "--jsonl", "--body", "x"], "").is_usage_error();
}

#[test]
fn the_members_of_an_answer_have_their_order() {
    let ended = run(&["inspect", "--jsonl"], "{\"id\":\"a\",\"body_base64\":\"\"}\n");
    let mut last = 0;
    for member in [
        "id",
        "verdict",
        "action",
        "cause",
        "reason",
        "route",
        "mismatch",
        "attempts",
        "counted",
        "hooks",
        "on_error_envelope",
        "publish",
        "finish",
        "warnings",
        "dropped",
    ] {
        let place = ended.done().find(&format!("\"{member}\":")).unwrap();
        assert!(place >= last, "{member}");
        last = place;
    }
}

#[test]
fn bad_lines_are_told_with_their_number_and_the_rest_goes_on() {
    let input = concat!(
        "{\"id\":\"a\",\"body_base64\":\"\"}\n",
        "not json\n",
        "{\"id\":\"b\"}\n",
        "{\"id\":\"c\",\"body_base64\":\"?\"}\n",
        "{\"id\":\"d\",\"body_base64\":\"\",\"properties\":{\"bq-attempts\":1}}\n",
        "{\"id\":\"e\",\"body_base64\":\"\",\"redelivery_count\":-1}\n",
        "{\"id\":\"f\",\"body_base64\":\"\",\"context\":{\"max_attempts\":0}}\n",
        "{\"id\":\"g\",\"body_base64\":\"\",\"note\":{}}",
    );
    let ended = run(&["inspect", "--jsonl"], input);
    assert_eq!(ended.code, Some(1));
    let ids: Vec<String> = ended
        .out
        .lines()
        .map(|line| json(line)["id"].as_str().unwrap().into())
        .collect();
    assert_eq!(ids, ["a", "g"]);
    let told: Vec<_> = ended.err.lines().collect();
    assert_eq!(told.len(), 6, "{}", ended.err);
    for (line, number) in told.iter().zip(2..) {
        assert!(
            line.starts_with(&format!("bqctl: cannot inspect line {number}: ")),
            "{line}"
        );
    }
}

#[test]
fn a_fixed_clock_makes_the_output_repeatable() {
    let inspect = || {
        run(
            &["inspect", "--jsonl", "--now-ms", "1790000000123"],
            "{\"body_base64\":\"\"}\n",
        )
    };
    let first = inspect();
    assert_eq!(first.done(), inspect().done());
    let record = json(&first.out)["publish"]["body_base64"]
        .as_str()
        .unwrap()
        .to_owned();
    let record = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, record).unwrap();
    assert_eq!(
        json(&String::from_utf8(record).unwrap())["dead_letter"]["failed_at"],
        1_790_000_000_123_i64
    );
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bqctl"))
        .args(["inspect", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(b"{\"body_base64\":\"\"}\n").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    drop(output);
    // It leaves at the first line that nobody reads, so that writing to it may fail.
    let _ = input.write_all("{\"body_base64\":\"\"}\n".repeat(1_000).as_bytes());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
