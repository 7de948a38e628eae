//! Who takes part, and how its process is started.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Figures, Task};
use crate::Result;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/peers/programs");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Somebody who can publish and consume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `babelqueue-pulsar`.
    Sdk,
    /// `pulsar-tokio` alone.
    Bare,
    /// Frames on a socket, without a client: the least that a send can take.
    Protocol,
    PythonSdk,
    Python,
    Go,
    Java,
}

impl Contender {
    pub(crate) const ALL: [Self; 7] = [
        Self::Sdk,
        Self::Bare,
        Self::Protocol,
        Self::PythonSdk,
        Self::Python,
        Self::Go,
        Self::Java,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sdk => "our SDK",
            Self::Bare => "our client alone",
            Self::Protocol => "bare protocol",
            Self::PythonSdk => "BabelQueue for Python",
            Self::Python => "Python's client alone",
            Self::Go => "Go's client alone",
            Self::Java => "Java's client alone",
        }
    }

    /// The word for one of ours on our own command line.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::Sdk => Some("sdk"),
            Self::Bare => Some("bare"),
            Self::Protocol => Some("protocol"),
            _ => None,
        }
    }

    /// Which part of the messages it gets, so that nobody waits for it for minutes.
    pub(crate) fn slowness(self) -> u32 {
        match self {
            Self::PythonSdk | Self::Python => 5,
            _ => 1,
        }
    }

    pub(crate) fn is_peer(self) -> bool {
        self.word().is_none()
    }

    fn is_able_to(self, task: Task) -> bool {
        match self {
            Self::Protocol => task == Task::PublishOne,
            // It has no batches.
            Self::PythonSdk => task != Task::PublishBatches,
            _ => true,
        }
    }
}

/// Who is there.
#[derive(Debug)]
pub(crate) struct Field {
    this: PathBuf,
    python: Option<PathBuf>,
    go: Option<PathBuf>,
    java: Option<PathBuf>,
}

impl Field {
    /// Looks for everybody, and builds what has to be built.
    ///
    /// # Errors
    ///
    /// This program does not know its own path, or a peer's program has errors.
    pub(crate) fn assemble() -> Result<Self> {
        Ok(Self {
            this: std::env::current_exe()?,
            python: pulsar_testing::python(),
            go: go()?,
            java: java(),
        })
    }

    pub(crate) fn has(&self, contender: Contender) -> bool {
        match contender {
            Contender::Sdk | Contender::Bare | Contender::Protocol => true,
            Contender::PythonSdk | Contender::Python => self.python.is_some(),
            Contender::Go => self.go.is_some(),
            Contender::Java => self.java.is_some(),
        }
    }

    pub(crate) fn able_to(&self, task: Task) -> impl Iterator<Item = Contender> {
        Contender::ALL
            .into_iter()
            .filter(move |contender| contender.is_able_to(task) && self.has(*contender))
    }

    /// The process that does `task`.
    ///
    /// # Errors
    ///
    /// The contender is not there.
    pub(crate) fn program(
        &self,
        contender: Contender,
        task: Task,
        url: &str,
        topic: &str,
        messages: u32,
    ) -> Result<Command> {
        let missing = || format!("{} is missing", contender.name());
        let mut command = match contender {
            Contender::Sdk | Contender::Bare | Contender::Protocol => {
                let mut command = Command::new(&self.this);
                command.arg("contender").args(contender.word());
                command
            }
            Contender::PythonSdk | Contender::Python => {
                let mut command = Command::new(self.python.as_ref().ok_or_else(missing)?);
                let who = if contender == Contender::Python {
                    "bare"
                } else {
                    "sdk"
                };
                command.arg(Path::new(PROGRAMS).join("bench.py")).arg(who);
                command
            }
            Contender::Go => Command::new(self.go.as_ref().ok_or_else(missing)?),
            Contender::Java => {
                let mut command = Command::new("java");
                let libraries = self.java.as_ref().ok_or_else(missing)?;
                command.arg("-Xmx512m").arg("-cp").arg(libraries.join("*"));
                command.arg(Path::new(PROGRAMS).join("Bench.java"));
                command
            }
        };
        command.args([task.name(), url, topic, &messages.to_string()]);
        Ok(command)
    }
}

/// Runs a contender to its end.
///
/// # Errors
///
/// It fails, or says something else than its figures.
pub(crate) fn figures(program: &mut Command, input: &str) -> Result<Figures> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{program:?} failed: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().last().unwrap_or_default();
    Ok(serde_json::from_str(line).map_err(|error| format!("{program:?} said {line:?}: {error}"))?)
}

/// Go's program, built, where there is Go and its client can be fetched.
fn go() -> Result<Option<PathBuf>> {
    let module = Path::new(ROOT).join("crates/pulsar-testing/go");
    let fetched = Command::new("go")
        .args(["mod", "download"])
        .current_dir(&module)
        .output();
    if !fetched.is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let program = Path::new(ROOT).join("target/interop/go/bench");
    let built = Command::new("go")
        .arg("build")
        .arg("-o")
        .arg(&program)
        .arg(Path::new(PROGRAMS).join("bench.go"))
        .current_dir(&module)
        .status()?;
    if !built.success() {
        return Err("the Go program is not built".into());
    }
    Ok(Some(program.canonicalize()?))
}

/// The folder with Java's client, where there is a JDK too.
fn java() -> Option<PathBuf> {
    let libraries = Path::new(ROOT).join("target/pulsar/lib-4.0.7");
    let jdk = Command::new("javac").arg("-version").output();
    (libraries.is_dir() && jdk.is_ok_and(|output| output.status.success())).then_some(libraries)
}
