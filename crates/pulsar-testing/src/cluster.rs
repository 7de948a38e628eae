//! A cluster of two brokers that `scripts/pulsar-cluster` runs: a broker of it can be killed while the other goes on.

use std::path::Path;
use std::process::{Command, Stdio};

use ureq::http::Method;

use crate::admin::Admin;
use crate::http::Http;
use crate::instance::Instance;
use crate::rest::RestAdmin;

/// Two brokers, two bookies and a ZooKeeper on this machine; all of it ends when this is dropped. One at a time.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    brokers: [Member; 2],
}

#[derive(Debug)]
struct Member {
    http: Http,
    admin: RestAdmin,
    /// What its URL ends with.
    port: String,
}

impl Cluster {
    /// Starts one anew; it takes about 15 s and 1.2 GB. None where `scripts/pulsar` never fetched Pulsar's jars.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        if !Instance::jars_are_there() {
            return None;
        }
        let answer = run(&["up"]);
        let find = |key: &str| {
            let line = answer.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_else(|| panic!("scripts/pulsar-cluster up did not say {key}, but: {answer}"))
                .to_owned()
        };
        let url = find("PULSAR_URL=");
        let ports = url.rsplit_once("//").map_or("", |(_, hosts)| hosts);
        let mut ports = ports
            .split(',')
            .map(|host| format!(":{}", host.rsplit(':').next().unwrap_or_default()));
        let mut member = |key: &str| {
            let admin = find(key);
            Member {
                http: Http::new(&admin),
                admin: RestAdmin::new(&admin),
                port: ports.next().unwrap_or_default(),
            }
        };
        let brokers = [member("PULSAR_ADMIN_URL_1="), member("PULSAR_ADMIN_URL_2=")];
        Some(Self { url, brokers })
    }

    /// A service URL with both brokers.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a broker, 0 or 1, administers; each knows all topics while it is there.
    #[must_use]
    pub fn admin(&self, broker: usize) -> &dyn Admin {
        &self.brokers[broker].admin
    }

    /// Which broker, 0 or 1, serves a topic, as `asked` says; none while it does not say.
    #[must_use]
    pub fn owner(&self, asked: usize, topic: &str) -> Option<usize> {
        let path = format!("/lookup/v2/topic/{}", topic.replace("://", "/"));
        let answer = self.brokers[asked].http.call(&Method::GET, &path, None).ok()?;
        let url = answer["brokerUrl"].as_str()?;
        self.brokers.iter().position(|broker| url.ends_with(&broker.port))
    }

    /// Ends a broker, 0 or 1, with SIGKILL.
    ///
    /// # Panics
    /// When it cannot be done.
    pub fn kill(&self, broker: usize) {
        run(&["kill-broker", &(broker + 1).to_string()]);
    }

    /// Starts a broker again that was killed.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_again(&self, broker: usize) {
        run(&["start-broker", &(broker + 1).to_string()]);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The test's own outcome matters more.
        let _ = command(&["down"]).status();
    }
}

fn run(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("the script runs");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "scripts/pulsar-cluster {} failed: {complaints}",
        arguments.join(" ")
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn command(arguments: &[&str]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/pulsar-cluster");
    let mut command = Command::new(script);
    command.args(arguments).stdin(Stdio::null());
    command
}
