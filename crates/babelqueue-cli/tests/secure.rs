//! Against a real Pulsar with TLS and authentication, where `scripts/pulsar` has run before.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pulsar_testing::certificates::Authority;
use pulsar_testing::secure::{ADMIN, ADMIN_PASSWORD, ClientCertificates, Secure, expired_token, token};
use support::{Ended, bqctl, ended};

/// What a user can wait for to hear of a mistake.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A broker and a folder with credentials, gone with it.
struct Bench {
    broker: Secure,
    folder: PathBuf,
}

/// The bench, or skips where no real broker can be had.
macro_rules! bench {
    ($name:literal, $certificates:expr) => {{
        if !Secure::is_possible() {
            return pulsar_testing::skip(
                "BABELQUEUE_REQUIRE_BROKER",
                "needs a real Pulsar: certificates and credentials are checked by it",
            );
        }
        Bench::new($name, $certificates)
    }};
}

impl Bench {
    fn new(name: &str, certificates: ClientCertificates) -> Self {
        let broker = Secure::start(name, certificates);
        let folder = std::env::temp_dir().join(format!("bqctl-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let bench = Self { broker, folder };
        bench.file("ca.pem", bench.broker.authority().pem());
        bench
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Publishes through TLS with these options.
    fn publish(&self, options: &[&str]) -> Ended {
        let authority = self.folder.join("ca.pem");
        let reaching = [
            "--url",
            self.broker.tls_url(),
            "--tls-ca",
            authority.to_str().unwrap(),
        ];
        self.run(
            &[&["publish", "orders", "urn:babel:x"], &reaching[..], options].concat(),
            &[],
        )
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
        ended(
            bqctl(arguments)
                .envs(variables.iter().copied())
                .timeout(Duration::from_secs(60)),
        )
    }

    /// One sentence with all of `parts`, soon, and without any of the credentials.
    fn refused(&self, options: &[&str], parts: &[&str]) {
        let begun = Instant::now();
        let ended = self.publish(options);
        ended.failed_with(parts);
        assert!(
            begun.elapsed() < AT_ONCE,
            "{} after {:?}",
            ended.err,
            begun.elapsed()
        );
        assert!(!ended.err.contains("s3cret"), "{}", ended.err);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn tokens_and_passwords_come_from_files_variables_and_client_conf() {
    let bench = bench!("cli-unasked", ClientCertificates::Unasked);
    let (url, day) = (bench.broker.tls_url(), Duration::from_secs(24 * 3600));
    let good = token(ADMIN, day);
    let token_file = bench.file("token", &format!("{good}\n"));
    let password = bench.file("password", ADMIN_PASSWORD);

    bench.publish(&["--token-file", &token_file]).done();
    bench
        .publish(&["--basic-user", ADMIN, "--basic-password-file", &password])
        .done();

    let authority = bench.folder.join("ca.pem").display().to_string();
    let consume = [
        "consume",
        "orders",
        "--subscription",
        "s",
        "--from",
        "earliest",
        "--limit",
        "2",
    ];
    let variables = [
        ("PULSAR_URL", url),
        ("PULSAR_TLS_CA", &authority),
        ("PULSAR_TOKEN", &good),
    ];
    let consumed = bench.run(&consume, &variables);
    assert_eq!(consumed.done().lines().count(), 2);

    let conf = bench.file(
        "client.conf",
        &format!(
            "brokerServiceUrl={url}\ntlsTrustCertsFilePath={authority}\n\
             authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken\nauthParams=file://{token_file}\n"
        ),
    );
    let arguments = ["publish", "orders", "urn:babel:x", "--client-conf", &conf];
    bench.run(&arguments, &[]).done();

    // What is wrong is said at once.
    let expired = bench.file("expired", &expired_token(ADMIN));
    bench.refused(&["--token-file", &expired], &["\"token\""]);
    let nonsense = bench.file("nonsense", "s3cret-nonsense");
    bench.refused(&["--token-file", &nonsense], &["\"token\""]);
    let wrong = bench.file("wrong", "s3cret-password");
    bench.refused(
        &["--basic-user", ADMIN, "--basic-password-file", &wrong],
        &["\"basic\""],
    );
    bench.refused(&[], &["without authentication"]);
    let stranger = bench.file("stranger", &token("stranger", day));
    bench.refused(
        &["--token-file", &stranger],
        &["publish to orders", "uthorization"],
    );
    let authority = bench.file("ca.pem", Authority::new("a stranger").pem());
    bench.refused(&["--token-file", &token_file], &[url, "trusted authority"]);
    fs::remove_file(authority).unwrap();
    bench.refused(&["--token-file", &token_file], &["ca.pem", "cannot be read"]);
}

#[test]
fn a_client_certificate_comes_from_files() {
    let bench = bench!("cli-required", ClientCertificates::Required);
    let pair = |role: &str| {
        let certificate = bench.broker.client(role);
        (
            bench.file(&format!("{role}.pem"), &certificate.chain),
            bench.file(&format!("{role}.key"), &certificate.key),
        )
    };
    let (chain, key) = pair(ADMIN);
    bench.publish(&["--tls-cert", &chain, "--tls-key", &key]).done();

    bench.refused(&[], &[bench.broker.tls_url(), "requires a client certificate"]);
    let (chain, other) = (chain, pair("stranger").1);
    bench.refused(&["--tls-cert", &chain, "--tls-key", &other], &["key"]);
}
