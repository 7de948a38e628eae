//! `bqctl broker` as a process of its own; memory and CPU time of a process, as Linux tells them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// Builds `bqctl` as users install it; gives its path.
pub(crate) fn build() -> Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--package", "babelqueue-cli"])
        .status()?;
    if !built.success() {
        return Err("bqctl could not be built".into());
    }
    Ok(std::env::current_exe()?.with_file_name("bqctl"))
}

/// A running development broker; ends when this is dropped.
#[derive(Debug)]
pub(crate) struct DevBroker {
    child: Child,
    url: String,
    started_in: Duration,
}

impl DevBroker {
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let since = Instant::now();
        let mut child = Command::new(program)
            .args(["broker", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut broker = Self {
            child,
            url: String::new(),
            started_in: Duration::ZERO,
        };
        BufReader::new(output).read_line(&mut broker.url)?;
        broker.url.truncate(broker.url.trim_end().len());
        TcpStream::connect(address(&broker.url)?)?;
        broker.started_in = since.elapsed();
        Ok(broker)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// From the command to the first connection.
    pub(crate) fn started_in(&self) -> Duration {
        self.started_in
    }

    pub(crate) fn process(&self) -> Process {
        Process(self.child.id())
    }
}

impl Drop for DevBroker {
    fn drop(&mut self) {
        // It stores nothing, so there is nothing to end in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Host and port of a URL.
pub(crate) fn address(url: &str) -> Result<&str> {
    Ok(url
        .strip_prefix("pulsar://")
        .ok_or_else(|| format!("'{url}' is not a broker's URL"))?)
}

/// A process on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(u32);

/// Memory of a process in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) now: u64,
    pub(crate) peak: u64,
}

impl Process {
    /// This one.
    pub(crate) fn own() -> Self {
        Self(std::process::id())
    }

    /// Who listens on the port of this URL, if that can be seen from here.
    pub(crate) fn listening(url: &str) -> Option<Self> {
        let (_, port) = address(url).ok()?.rsplit_once(':')?;
        let port = format!(":{:04X}", port.parse::<u16>().ok()?);
        let socket = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
            let table = fs::read_to_string(table).ok()?;
            table.lines().find_map(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let listens = fields.get(1)?.ends_with(&port) && *fields.get(3)? == "0A";
                listens.then(|| format!("socket:[{}]", fields[9]))
            })
        })?;
        fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let mut files = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
            let is_it =
                files.any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*socket));
            is_it.then_some(Self(pid))
        })
    }

    /// CPU time so far of the threads that it has now, user and system.
    pub(crate) fn cpu(self) -> Result<Duration> {
        let mut sum = Duration::ZERO;
        for task in fs::read_dir(format!("/proc/{}/task", self.0))? {
            // Another thread may end meanwhile.
            let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else {
                continue;
            };
            let time = text.split_whitespace().next().ok_or("an empty schedstat")?;
            sum += Duration::from_nanos(time.parse()?);
        }
        Ok(sum)
    }

    pub(crate) fn memory(self) -> Result<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let bytes = |name: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.split_whitespace().next());
            Ok(kib.ok_or("a short status")?.parse::<u64>()? * 1024)
        };
        Ok(Memory {
            now: bytes("VmRSS:")?,
            peak: bytes("VmHWM:")?,
        })
    }
}
