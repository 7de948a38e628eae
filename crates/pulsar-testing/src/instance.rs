//! A broker that `scripts/pulsar` runs for one test. How a broker is started and stopped is the script's knowledge;
//! here are only its arguments and its answer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::profile::Profile;

#[derive(Debug)]
pub(crate) struct Instance {
    name: String,
    profile: Profile,
}

/// What the script says of a running broker.
pub(crate) struct Urls {
    pub(crate) broker: String,
    pub(crate) admin: String,
}

impl Instance {
    pub(crate) fn new(name: String, profile: &Profile) -> Self {
        let profile = profile.clone();
        Self { name, profile }
    }

    pub(crate) fn jars_are_there() -> bool {
        let jars = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pulsar/lib-4.0.7");
        jars.is_dir()
    }

    /// Starts it, with its ports and data if it ran before.
    #[track_caller]
    pub(crate) fn up(&self) -> Urls {
        let settings = self.profile.settings();
        let mut arguments = vec!["--heap", "256m", "--profile", self.profile.file()];
        for setting in &settings {
            arguments.extend(["--set", setting]);
        }
        let answer = self.must("up", &arguments);
        let find = |key: &str| {
            let line = answer.lines().find_map(|line| line.strip_prefix(key));
            line.map(str::to_owned)
                .unwrap_or_else(|| panic!("scripts/pulsar up did not say {key}, but: {answer}"))
        };
        Urls {
            broker: find("PULSAR_URL="),
            admin: find("PULSAR_ADMIN_URL="),
        }
    }

    #[track_caller]
    pub(crate) fn restart(&self) {
        self.must("restart", &[]);
    }

    #[track_caller]
    pub(crate) fn down(&self) {
        self.must("down", &[]);
    }

    #[track_caller]
    pub(crate) fn kill(&self) {
        self.must("kill", &[]);
    }

    #[track_caller]
    fn must(&self, command: &str, arguments: &[&str]) -> String {
        match self.run(command, arguments) {
            Ok(said) => said,
            Err(problem) => panic!("{problem}"),
        }
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Result<String, String> {
        let said = || format!("scripts/pulsar {command} --name {}", self.name);
        let output = Command::new(script())
            .args([command, "--name", &self.name])
            .args(arguments)
            // Such a broker lives for seconds: the second compiler would cost more than it gives back.
            .env("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{} cannot be run: {error}", said()))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} failed: {why}", said()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Killed, since an orderly stop takes five seconds and the data goes anyway. Not a panic: the test's own
        // outcome matters more.
        let removed = self
            .run("kill", &[])
            .and_then(|_| self.run("down", &["--remove"]));
        if let Err(problem) = removed {
            eprintln!("{problem}");
        }
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/pulsar")
}
