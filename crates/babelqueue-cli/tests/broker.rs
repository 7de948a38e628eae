//! `bqctl broker`: start, use, end.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::{Ended, bqctl, ended, run};

/// A running broker; killed if the test fails.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    fn start(options: &[&str]) -> Self {
        Self::spawn(
            Command::new(env!("CARGO_BIN_EXE_bqctl"))
                .args(["broker", "--port", "0"])
                .args(options),
        )
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut url).unwrap();
        let url = url.trim_end().to_owned();
        Self { child, url }
    }

    fn bqctl(&self, arguments: &[&str]) -> Ended {
        ended(
            bqctl(arguments)
                .env("PULSAR_URL", &self.url)
                .timeout(Duration::from_secs(60)),
        )
    }

    /// What it said on standard error, and how it ended.
    #[cfg(unix)]
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        let kill = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(kill.success());
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut text).unwrap();
        (status.code(), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const URN: &str = "urn:babel:orders:created";

#[test]
fn messages_go_through_it_from_publish_to_consume() {
    let broker = Running::start(&[]);
    broker
        .bqctl(&["publish", "orders", URN, "--data", "{\"id\":7}"])
        .done();
    let consume = [
        "consume",
        "orders",
        "--subscription",
        "s",
        "--from",
        "earliest",
        "--limit",
        "1",
    ];
    let consumed = broker.bqctl(&consume);
    assert!(
        consumed.done().contains("\"data\":{\"id\":7}"),
        "{}",
        consumed.out
    );
}

#[test]
#[cfg(unix)]
fn it_says_what_it_is_not_and_ends_in_order_on_signals() {
    for signal in ["-INT", "-TERM"] {
        let broker = Running::start(&[]);
        assert!(broker.url.starts_with("pulsar://127.0.0.1:"), "{}", broker.url);
        let (code, errors) = broker.end(signal);
        assert_eq!(code, Some(0), "{errors}");
        assert!(errors.contains("production is Apache Pulsar"), "{errors}");
        assert_eq!(errors.lines().count(), 1, "quiet without a terminal: {errors}");
    }
}

#[test]
fn a_port_in_use_is_an_error_that_names_the_option() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    run(&["broker", "--port", &port], "").failed_with(&["--port", &port]);
}

#[test]
fn its_options_reach_the_broker() {
    let options = [
        "--listen",
        "127.0.0.1",
        "--namespace",
        "acme/shop",
        "--partitioned",
        "acme/shop/orders=3",
        "--batch-index-acks",
        "--deduplication",
        "--strict-delay",
        "--failover-delay",
        "10ms",
        "--max-message-size",
        "1000",
    ];
    let broker = Running::start(&options);
    let topic = "persistent://acme/shop/orders";
    broker.bqctl(&["publish", topic, URN]).done();
    let large = format!("{{\"note\":\"{}\"}}", "x".repeat(1_000));
    broker
        .bqctl(&["publish", topic, URN, "--data", &large])
        .failed_with(&["cannot publish"]);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for options in [
        &["--partitioned", "orders"],
        &["--partitioned", "orders=0"],
        &["--listen", "localhost"],
        &["--port", "65536"],
        &["--failover-delay", "soon"],
        &["--max-message-size", "0"],
        &["--max-message-size", "2147483648"],
    ] {
        run(&[&["broker"], options.as_slice()].concat(), "").is_usage_error();
    }
}

#[test]
fn an_option_that_cannot_be_carried_out_is_told_once_with_what_is_wrong() {
    for (option, value, parts) in [
        (
            "--partitioned",
            "no/where/orders=2",
            ["namespace no/where of", "does not exist"],
        ),
        (
            "--partitioned",
            "ftp://orders=2",
            ["ftp://orders", "is not valid"],
        ),
        (
            "--partitioned",
            "orders=4000000000",
            ["4000000000", "1 to 100000"],
        ),
        ("--namespace", "acme", ["namespace 'acme'", "tenant/namespace"]),
        ("--listen", "192.0.2.1", ["192.0.2.1", "assign"]),
    ] {
        let ended = run(&["broker", "--port", "0", option, value], "");
        ended.failed_with(&parts);
        assert_eq!(ended.err.matches("start").count(), 1, "{}", ended.err);
    }
}

#[test]
fn a_bad_number_of_partitions_is_told_with_what_was_expected() {
    for (value, part) in [
        ("orders", "TOPIC=NUMBER"),
        ("orders=x", "'x'"),
        ("orders=0", "'0'"),
        ("=3", "TOPIC=NUMBER"),
    ] {
        let ended = run(&["broker", "--partitioned", value], "");
        ended.is_usage_error();
        assert!(ended.err.contains(part), "{part} is not in: {}", ended.err);
    }
}

#[test]
fn a_topic_with_partitions_may_have_an_equals_sign_in_its_name() {
    let broker = Running::start(&["--partitioned", "region=eu=2"]);
    broker.bqctl(&["publish", "region=eu", URN]).done();
}

/// What `script` gives it is a terminal.
#[test]
#[cfg(target_os = "linux")]
fn the_line_of_figures_never_wraps_on_a_narrow_terminal() {
    let Ok(mut script) = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!(
            "stty columns 40 && exec timeout --signal INT 4 {} broker --port 0",
            env!("CARGO_BIN_EXE_bqctl")
        ))
        .arg("/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
    else {
        eprintln!("skipped: no script(1) here");
        return;
    };
    let mut text = String::new();
    script.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    script.wait().unwrap();
    let figures = text.split("\x1b[2K").filter(|part| part.contains("topics "));
    let figures: Vec<&str> = figures.collect();
    assert!(!figures.is_empty(), "{text:?}");
    for line in figures {
        // Auto-wrap is off while it is written, and on again after it.
        assert!(
            line.starts_with("\x1b[?7l") && line.contains("\x1b[?7h"),
            "{line:?}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn it_survives_more_connections_than_it_may_have_files() {
    let command = format!(
        "ulimit -n 50; exec {} broker --port 0",
        env!("CARGO_BIN_EXE_bqctl")
    );
    let broker = Running::spawn(Command::new("sh").args(["-c", &command]));
    let addr = broker.url.trim_start_matches("pulsar://").to_owned();
    let connect = |_| TcpStream::connect(&addr).unwrap();
    let strangers: Vec<_> = (0..100).map(connect).collect();
    drop(strangers);
    broker.bqctl(&["publish", "orders", URN]).done();
}
