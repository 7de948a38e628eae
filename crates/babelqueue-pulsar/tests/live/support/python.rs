//! The peers written in Python, run as programs of their own.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// What a script may take at most.
const PATIENCE: Duration = Duration::from_secs(90);

/// The peer; returns from the test, with a line on standard error, when there is none.
macro_rules! peer_or_skip {
    () => {
        $crate::support::Peer::new(pulsar_testing::python_or_skip!())
    };
}
pub(crate) use peer_or_skip;

pub(crate) struct Peer {
    python: PathBuf,
}

impl Peer {
    pub(crate) fn new(python: PathBuf) -> Self {
        Self { python }
    }

    /// Starts a script of `tests/interop`.
    pub(crate) fn start(&self, script: &str, arguments: &[&str]) -> Child {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
        Command::new(&self.python)
            .arg(folder.join(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the interpreter starts")
    }

    /// Runs a script to its end with `input`; the lines that it wrote.
    pub(crate) async fn run(&self, script: &str, arguments: &[&str], input: &str) -> Vec<String> {
        let mut child = self.start(script, arguments);
        let mut stdin = child.stdin.take().expect("a piped input");
        let input = input.to_owned();
        // Beside it, since a script that writes while it reads would wait for us.
        let feeding = tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
        let output = finish(script, child).await;
        feeding
            .await
            .expect("no panic")
            .expect("the script reads its input");
        String::from_utf8(output.stdout)
            .expect("a text")
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

async fn finish(script: &str, child: Child) -> Output {
    let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = ended
        .unwrap_or_else(|_| panic!("{script} does not end"))
        .expect("an output");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{script} ended with {}: {complaints}",
        output.status
    );
    output
}
