//! Calling the program.

#![allow(dead_code)]

use assert_cmd::Command;

/// The program, without settings of the environment.
pub(crate) fn bqctl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bqctl"));
    command.args(arguments).env_remove("RUST_LOG");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PULSAR_") {
            command.env_remove(name);
        }
    }
    command
}

/// What it printed and how it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs it to its end with this standard input.
#[track_caller]
pub(crate) fn run(arguments: &[&str], input: &str) -> Ended {
    ended(bqctl(arguments).write_stdin(input))
}

#[track_caller]
pub(crate) fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ended {
    /// Fails with exit code 1 and one sentence that holds all of these.
    #[track_caller]
    pub(crate) fn failed_with(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{}", self.err);
        assert_eq!(self.out, "");
        self.one_sentence(parts);
    }

    #[track_caller]
    pub(crate) fn one_sentence(&self, parts: &[&str]) {
        assert!(self.err.starts_with("bqctl: cannot "), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "{part} is not in: {}", self.err);
        }
    }

    #[track_caller]
    pub(crate) fn is_usage_error(&self) {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert_eq!(self.out, "");
    }

    #[track_caller]
    pub(crate) fn done(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}", self.err);
        &self.out
    }
}
