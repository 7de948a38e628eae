//! With a broker: from `publish` to `consume` and what is between them.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use pulsar_testing::{Broker, broker, eventually};
use serde_json::Value;
use support::{Ended, bqctl, ended};

const URN: &str = "urn:babel:orders:created";

/// A broker with a topic of the test's own.
struct Bench {
    broker: Broker,
    topic: String,
}

impl Bench {
    fn new(broker: Broker, stem: &str) -> Self {
        let topic = broker.topic(stem);
        Self { broker, topic }
    }

    fn publish(&self, options: &[&str]) -> Vec<String> {
        let arguments = [&["publish", &self.topic, URN], options].concat();
        let ended = self.run(&arguments);
        ended.done().lines().map(str::to_owned).collect()
    }

    /// Consumes from the beginning to the end of this many.
    fn consume(&self, limit: &str, options: &[&str]) -> Ended {
        let fixed = [
            "consume",
            &self.topic,
            "--subscription",
            "s",
            "--from",
            "earliest",
            "--limit",
            limit,
        ];
        self.run(&[&fixed, options].concat())
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        ended(
            bqctl(arguments)
                .env("PULSAR_URL", self.broker.url())
                .timeout(Duration::from_secs(60)),
        )
    }

    fn spawn(&self, options: &[&str]) -> (Child, BufReader<ChildStdout>) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bqctl"))
            .args([
                "consume",
                &self.topic,
                "--subscription",
                "s",
                "--from",
                "earliest",
            ])
            .args(options)
            .env("PULSAR_URL", self.broker.url())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        (child, output)
    }

    fn backlog(&self) -> u64 {
        self.broker.admin().stats(&self.topic).subscriptions["s"].backlog
    }
}

fn envelopes(ended: &Ended) -> Vec<Value> {
    ended
        .done()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn what_is_published_is_printed_with_its_options() {
    let bench = Bench::new(broker!(), "cli-options");
    let ids = bench.publish(&[
        "--data",
        "{ \"total\" : 1.50,\n\"id\":9007199254740993 }",
        "--trace-id",
        "t-7",
        "--key",
        "customer-12",
        "--header",
        "traceparent=00-ab",
        "--meta",
        "shop={\"n\":1.0}",
    ]);
    let ended = bench.consume("1", &[]);
    let line = ended.done();
    assert!(
        line.contains("\"data\":{\"total\":1.50,\"id\":9007199254740993}"),
        "{line}"
    );
    assert!(line.contains("\"shop\":{\"n\":1.0}"), "{line}");
    let envelope = &envelopes(&ended)[0];
    assert_eq!(
        (&envelope["trace_id"], &envelope["meta"]["id"]),
        (&"t-7".into(), &ids[0].as_str().into())
    );
}

#[test]
fn many_keep_their_order_and_have_ids_of_their_own() {
    let bench = Bench::new(broker!(), "cli-many");
    let ids = bench.publish(&["--count", "1500"]);
    let consumed = envelopes(&bench.consume("1500", &[]));
    let consumed: Vec<_> = consumed
        .iter()
        .map(|envelope| envelope["meta"]["id"].as_str().unwrap())
        .collect();
    // Not `assert_eq`: thousands of ids help nobody.
    assert!(consumed == ids, "the order is lost");
}

#[test]
fn a_limit_is_kept_exactly_and_acknowledged() {
    let bench = Bench::new(broker!(), "cli-limit");
    bench.publish(&["--count", "5"]);
    assert_eq!(envelopes(&bench.consume("2", &[])).len(), 2);
    eventually("two are acknowledged", || bench.backlog() == 3);
}

#[test]
fn a_command_gets_the_envelope_and_handles_it() {
    let bench = Bench::new(broker!(), "cli-exec");
    bench.publish(&[]);
    let handled = bench.consume("1", &["--exec", "read -r line && echo \"got $line\""]);
    assert!(
        handled
            .done()
            .starts_with("got {\"job\":\"urn:babel:orders:created\""),
        "{}",
        handled.out
    );
    eventually("it is acknowledged", || bench.backlog() == 0);
}

#[test]
fn a_failing_command_retries_and_then_dead_letters_with_its_last_words() {
    let bench = Bench::new(broker!(), "cli-exec-fails");
    bench.publish(&[]);
    let failed = bench.consume(
        "3",
        &[
            "--dead-letter",
            "--exec",
            "echo first >&2; echo no stock >&2; exit 3",
        ],
    );
    assert_eq!(failed.code, Some(0));
    let told = failed
        .err
        .lines()
        .filter(|line| line.starts_with("bqctl: message "))
        .count();
    assert_eq!(told, 3, "{}", failed.err);
    let dead_letters = format!("{}.dlq", bench.topic);
    let arguments = [
        "consume",
        &dead_letters,
        "--subscription",
        "babelqueue-dlq",
        "--limit",
        "1",
    ];
    let record = &envelopes(&bench.run(&arguments))[0];
    assert_eq!(record["attempts"], 3);
    assert_eq!(
        record["dead_letter"]["error"],
        "command failed, exit status 3: no stock"
    );
}

#[test]
fn a_failed_write_is_told_once() {
    let bench = Bench::new(broker!(), "cli-write");
    bench.publish(&[]);
    bench.broker.admin().terminate(&bench.topic);
    let failed = bench.consume("1", &["--exec", "exit 3"]);
    assert_eq!(failed.code, Some(0));
    let told = failed.err.matches("retry was not written").count();
    assert_eq!(told, 1, "{}", failed.err);
    assert!(
        !failed.err.contains('\u{1b}'),
        "colours in what is no terminal: {}",
        failed.err
    );
}

#[test]
fn a_command_need_not_read_its_input_nor_end_with_all_its_children() {
    let bench = Bench::new(broker!(), "cli-exec-rude");
    let data = format!("{{\"text\":\"{}\"}}", "x".repeat(500_000));
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("large.json");
    std::fs::write(&file, data).unwrap();
    bench.publish(&["--data", &format!("@{}", file.display())]);
    let handled = bench.consume("1", &["--exec", "sleep 30 >/dev/null & exit 0"]);
    assert_eq!(handled.done(), "");
    eventually("it is acknowledged", || bench.backlog() == 0);
}

#[test]
fn a_reader_that_leaves_ends_it_and_nothing_unprinted_is_acknowledged() {
    let bench = Bench::new(broker!(), "cli-head");
    bench.publish(&[]);
    let (child, mut output) = bench.spawn(&[]);
    output.read_line(&mut String::new()).unwrap();
    // No message is there that a write could fail with: that the reader has left is enough.
    drop(output);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
    bench.publish(&["--count", "3"]);
    let (child, output) = bench.spawn(&[]);
    drop(output);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(bench.consume("1", &[]).done().lines().count(), 1);
}

#[test]
#[cfg(unix)]
fn a_signal_lets_the_message_in_hand_finish() {
    let bench = Bench::new(broker!(), "cli-signal");
    bench.publish(&[]);
    let (child, mut output) = bench.spawn(&["--exec", "echo begun; sleep 2; echo done"]);
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    line.clear();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    eventually("it is acknowledged", || bench.backlog() == 0);
}

#[test]
#[cfg(unix)]
fn a_second_signal_ends_the_command_with_everything_it_started() {
    let bench = Bench::new(broker!(), "cli-signals");
    bench.publish(&[]);
    // The shell waits for its child, which has the output open as long as it lives.
    let (mut child, mut output) = bench.spawn(&["--exec", "echo begun; sleep 100; true"]);
    output.read_line(&mut String::new()).unwrap();
    let pid = child.id().to_string();
    let terminate = || Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(terminate().success());
    let mut told = BufReader::new(child.stderr.take().unwrap());
    // Signals that come too close together are one.
    while child.try_wait().unwrap().is_none() {
        terminate();
        std::thread::sleep(Duration::from_millis(50));
    }
    let begun = std::time::Instant::now();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
    std::io::Read::read_to_string(&mut told, &mut rest).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(50), "something lives on");
    assert!(rest.contains("stopped by a second signal"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(bench.backlog(), 1);
}

#[test]
fn a_delay_is_kept_on_a_shared_subscription() {
    let bench = Bench::new(broker!(), "cli-delay");
    bench.broker.admin().create_topic(&bench.topic);
    bench.publish(&["--delay", "8s"]);
    bench.publish(&[]);
    let consumed = envelopes(&bench.consume("2", &[]));
    let created = |at: usize| consumed[at]["meta"]["created_at"].as_i64().unwrap();
    assert!(created(0) > created(1), "the delayed one came first");
}

#[test]
fn every_type_of_subscription_can_be_used() {
    let bench = Bench::new(broker!(), "cli-types");
    bench.publish(&["--count", "4"]);
    for kind in ["shared", "exclusive", "failover", "key-shared"] {
        assert_eq!(
            bench.consume("1", &["--type", kind]).done().lines().count(),
            1,
            "{kind}"
        );
    }
}

#[test]
fn a_namespace_that_is_not_there_is_named() {
    let bench = Bench::new(broker!(), "cli-namespace");
    for arguments in [
        &["publish", "persistent://no-such/place/orders", URN][..],
        &[
            "consume",
            "persistent://no-such/place/orders",
            "--subscription",
            "s",
        ],
    ] {
        bench
            .run(arguments)
            .failed_with(&["persistent://no-such/place/orders"]);
    }
}

#[test]
fn a_busy_subscription_is_told_about() {
    let bench = Bench::new(broker!(), "cli-busy");
    bench.publish(&[]);
    let (mut child, mut output) = bench.spawn(&["--type", "exclusive"]);
    output.read_line(&mut String::new()).unwrap();
    bench
        .consume("1", &["--type", "exclusive"])
        .failed_with(&["another consumer holds the subscription"]);
    child.kill().unwrap();
    child.wait().unwrap();
}
