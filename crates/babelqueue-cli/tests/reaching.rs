//! How the broker is reached: flags, environment and `client.conf`, and what is said when they don't work.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pulsar_testing::broker;
use support::{Ended, bqctl, ended};

const URN: &str = "urn:babel:orders:created";

/// Nobody listens there.
const ABSENT: &str = "pulsar://127.0.0.1:1";

/// Publishes to `topic` with these options and variables.
#[track_caller]
fn publish(topic: &str, options: &[&str], variables: &[(&str, &str)]) -> Ended {
    let arguments = [&["publish", topic, URN], options].concat();
    ended(
        bqctl(&arguments)
            .envs(variables.iter().copied())
            .timeout(Duration::from_secs(60)),
    )
}

/// A folder of the test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bqctl-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path: &Path = self.0.as_ref();
        let path = path.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let broker = broker!();
    let (url, topic) = (broker.url(), broker.topic("cli-reaching"));
    let folder = Folder::new("precedence");
    let here = folder.file(
        "here.conf",
        &format!("brokerServiceUrl={url}\nwebServiceUrl=http://w:8080\n"),
    );
    let nowhere = folder.file("nowhere.conf", &format!("brokerServiceUrl={ABSENT}\n"));

    publish(&topic, &["--client-conf", &here], &[]).done();
    publish(&topic, &[], &[("PULSAR_CLIENT_CONF", &here)]).done();
    publish(
        &topic,
        &["--client-conf", &here],
        &[("PULSAR_CLIENT_CONF", &nowhere)],
    )
    .done();
    publish(&topic, &["--client-conf", &nowhere], &[("PULSAR_URL", url)]).done();
    publish(&topic, &["--url", url], &[("PULSAR_URL", ABSENT)]).done();

    publish(&topic, &["--client-conf", &here], &[("PULSAR_URL", ABSENT)]).failed_with(&[ABSENT]);
    publish(&topic, &["--url", ABSENT], &[("PULSAR_URL", url)]).failed_with(&[ABSENT]);
}

#[test]
fn one_way_to_authenticate_on_the_command_line_replaces_that_of_the_environment() {
    let broker = broker!();
    let folder = Folder::new("identity");
    let token = folder.file("token", "a-token");

    // With the variables alone the file that is not there is told about.
    let variables = [
        ("PULSAR_URL", broker.url()),
        ("PULSAR_BASIC_USER", "ann"),
        ("PULSAR_BASIC_PASSWORD_FILE", "/no/such/password"),
    ];
    let topic = broker.topic("cli-identity");
    publish(&topic, &[], &variables).failed_with(&["/no/such/password"]);
    publish(&topic, &["--token-file", &token], &variables).done();
}

#[test]
fn files_that_are_not_there_are_named_before_anybody_waits() {
    let broker = broker!();
    let begun = Instant::now();
    for options in [
        &["--client-conf", "/no/such/file"][..],
        &["--token-file", "/no/such/file"],
        &["--basic-user", "ann", "--basic-password-file", "/no/such/file"],
        &["--oauth2-key-file", "/no/such/file"],
    ] {
        let options = [options, &["--url", broker.url()]].concat();
        publish("orders", &options, &[]).failed_with(&["/no/such/file", "cannot be read"]);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_broker_without_tls_is_told_about_at_once() {
    let broker = broker!();
    let url = broker.url().replace("pulsar://", "pulsar+ssl://");
    let begun = Instant::now();
    publish("orders", &["--url", &url], &[]).failed_with(&[&url, "is it a port without TLS?"]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn flags_that_contradict_or_lack_each_other_are_wrong_usage() {
    for options in [
        &["--tls-cert", "/c"][..],
        &["--tls-key", "/k"],
        &["--basic-user", "ann"],
        &["--basic-password-file", "/p"],
        &["--token-file", "/t", "--oauth2-key-file", "/k"],
        &[
            "--token-file",
            "/t",
            "--basic-user",
            "ann",
            "--basic-password-file",
            "/p",
        ],
        &[
            "--oauth2-key-file",
            "/k",
            "--basic-user",
            "ann",
            "--basic-password-file",
            "/p",
        ],
        &["--oauth2-issuer", "https://issuer"],
        &["--oauth2-audience", "a"],
        &["--oauth2-scope", "s"],
        &["--token-file", ""],
        &["--client-conf", ""],
        &["--listener", ""],
        &["--token", "s3cret"],
    ] {
        publish("orders", options, &[]).is_usage_error();
    }
}

#[test]
fn settings_that_contradict_each_other_are_wrong_usage_in_one_sentence() {
    let folder = Folder::new("contradictions");
    let conf = folder.file(
        "client.conf",
        "authPlugin=AuthenticationToken\nauthParams={\"s3cret\n",
    );
    for (options, variables, named) in [
        (
            &[][..],
            &[("PULSAR_TOKEN", "s3cret"), ("PULSAR_TOKEN_FILE", "/t")][..],
            "PULSAR_TOKEN and PULSAR_TOKEN_FILE",
        ),
        (
            &[],
            &[("PULSAR_TLS_CERT", "/c")],
            "PULSAR_TLS_CERT is set without PULSAR_TLS_KEY",
        ),
        (&["--client-conf", &conf], &[], "client.conf:2: authParams"),
        (
            &["--tls-cert", "/c", "--tls-key", "/k"],
            &[],
            "a client certificate is given, but pulsar://localhost:6650 is without TLS",
        ),
    ] {
        let ended = publish("orders", options, variables);
        ended.is_usage_error();
        ended.one_sentence(&[named]);
        assert!(!ended.err.contains("s3cret"), "{}", ended.err);
    }
}
