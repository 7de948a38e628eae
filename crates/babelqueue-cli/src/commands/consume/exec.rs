//! A handler that is a command: the envelope goes to its standard input, its exit status is the verdict.

use std::io::{self, Write, stderr};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use babelqueue_pulsar::Failure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// How long what a command left running in the background may keep its standard error open.
const GRACE: Duration = Duration::from_millis(500);

/// How much of the end of its standard error is kept to find the last line in.
const TAIL: usize = 2_048;

/// Runs the command to its end. Dropping the future kills it, and what it has started.
pub(super) async fn run(command: &str, text: &str) -> Result<(), Failure> {
    let mut child = spawn(command)?;
    let mut group = Group(child.id());
    let (stdin, child_stderr) = (child.stdin.take(), child.stderr.take());
    let line = format!("{text}\n");
    let mut tail = Vec::new();
    let status = {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A command need not read what it is given.
                let _ = stdin.write_all(line.as_bytes()).await;
            }
        };
        let listen = async {
            if let Some(child_stderr) = child_stderr {
                let _ = listen(child_stderr, &mut tail).await;
            }
        };
        let talk = async { tokio::join!(feed, listen) };
        tokio::pin!(talk);
        tokio::select! {
            status = child.wait() => {
                let _ = timeout(GRACE, talk).await;
                status
            }
            _ = &mut talk => child.wait().await,
        }
    };
    // What it left running in the background is meant to go on.
    group.0 = None;
    verdict(status?, &tail)
}

/// The process group of a command. Only the shell would be killed without it, and not what the shell waits for.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.filter(|_| cfg!(unix)) {
            let kill = format!("kill -s KILL -- -{leader}");
            // There is nobody left to tell when it cannot be killed.
            let _ = std::process::Command::new("sh")
                .args(["-c", &kill])
                .stderr(Stdio::null())
                .status();
        }
    }
}

fn spawn(command: &str) -> io::Result<Child> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // Ctrl-C in a terminal goes to the whole group; the command shall finish its message.
    #[cfg(unix)]
    shell.process_group(0);
    shell.spawn()
}

/// Passes on what the command says and keeps the end of it.
async fn listen(mut child_stderr: ChildStderr, tail: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 4_096];
    loop {
        let read = child_stderr.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let _ = stderr().write_all(&buffer[..read]);
        tail.extend_from_slice(&buffer[..read]);
        if tail.len() > TAIL {
            tail.drain(..tail.len() - TAIL);
        }
    }
}

fn verdict(status: ExitStatus, tail: &[u8]) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    let ended = match status.code() {
        Some(code) => format!("exit status {code}"),
        None => format!("killed by {status}"),
    };
    let tail = String::from_utf8_lossy(tail);
    let last = tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    Err(Failure::new(match last {
        Some(last) => format!("command failed, {ended}: {last}"),
        None => format!("command failed, {ended}"),
    }))
}
