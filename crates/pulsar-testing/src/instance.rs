//! A broker that `scripts/pulsar` runs for one test. How a broker is started and stopped is the script's knowledge;
//! here are only its arguments and its answer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::profile::Profile;

#[derive(Debug)]
pub(crate) struct Instance {
    name: String,
    file: &'static str,
    settings: Vec<String>,
}

/// What the script says of a running broker.
pub(crate) struct Urls {
    pub(crate) broker: String,
    pub(crate) admin: String,
    pub(crate) tls: Option<String>,
}

impl Instance {
    pub(crate) fn new(name: String, profile: &Profile) -> Self {
        Self {
            name,
            file: profile.file(),
            settings: profile.settings(),
        }
    }

    /// One with these lines of configuration besides the default ones.
    pub(crate) fn with_settings(name: String, settings: Vec<String>) -> Self {
        Self {
            name,
            file: Profile::default().file(),
            settings,
        }
    }

    pub(crate) fn jars_are_there() -> bool {
        let jars = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pulsar/lib-4.0.7");
        jars.is_dir()
    }

    /// Starts it, with its ports and data if it ran before.
    #[track_caller]
    pub(crate) fn up(&self) -> Urls {
        self.up_with(&[])
    }

    /// The same, with more arguments for the script.
    #[track_caller]
    pub(crate) fn up_with(&self, more: &[&str]) -> Urls {
        let mut arguments = vec!["--heap", "256m", "--profile", self.file];
        for setting in &self.settings {
            arguments.extend(["--set", setting]);
        }
        arguments.extend(more);
        let answer = self.must("up", &arguments);
        let find = |key: &str| {
            let line = answer.lines().find_map(|line| line.strip_prefix(key));
            line.map(str::to_owned)
        };
        let must_find = |key: &str| {
            find(key).unwrap_or_else(|| panic!("scripts/pulsar up did not say {key}, but: {answer}"))
        };
        Urls {
            broker: must_find("PULSAR_URL="),
            admin: must_find("PULSAR_ADMIN_URL="),
            tls: find("PULSAR_TLS_URL="),
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

pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/pulsar")
}
