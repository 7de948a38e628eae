//! Instructions and allocations a message, counted by valgrind, which sees what this process does and not what the kernel
//! does for it.
//!
//! Machines in a cloud often have no counters of their own. Each task runs with a few messages and with more; the
//! difference is what the messages took, without the start. Only ours are counted: valgrind cannot run Java and Go.

use std::process::{Command, Stdio};

use pulsar_testing::Broker;

use super::contender::{Contender, Field, figures};
use super::{Task, input, prepared};
use crate::Result;

/// What was counted of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) task: Task,
    pub(crate) contender: Contender,
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
}

/// What valgrind counts, and how it says so.
#[derive(Clone, Copy, Debug)]
enum Tool {
    Instructions,
    Allocations,
}

impl Tool {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Instructions => &["--tool=callgrind", "--callgrind-out-file=/dev/null"],
            Self::Allocations => &["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"],
        }
    }

    fn total(self, log: &str) -> Option<f64> {
        let marker = match self {
            Self::Instructions => "Collected :",
            Self::Allocations => "total heap usage:",
        };
        let (_, rest) = log.lines().find_map(|line| line.split_once(marker))?;
        rest.split_whitespace().next()?.replace(',', "").parse().ok()
    }
}

/// Counts, where there is a valgrind; empty where there is none.
///
/// # Errors
///
/// The broker is away, or a contender fails.
pub(crate) fn count(broker: &Broker, field: &Field, smoke: bool) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    let version = Command::new("valgrind").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        eprintln!("bench: instructions and allocations are not counted: valgrind is missing");
        return Ok(counts);
    }
    let (few, more) = if smoke { (100, 200) } else { (2_000, 12_000) };
    for task in Task::ALL {
        for contender in [Contender::Sdk, Contender::Bare] {
            if !field.able_to(task).any(|able| able == contender) {
                continue;
            }
            eprintln!(
                "bench: instructions and allocations of {}, {}",
                contender.name(),
                task.name()
            );
            let each = |tool| -> Result<f64> {
                let start = run(tool, broker, field, contender, task, few)?;
                let all = run(tool, broker, field, contender, task, more)?;
                Ok((all - start) / f64::from(more - few))
            };
            counts.push(Count {
                task,
                contender,
                instructions: each(Tool::Instructions)?,
                allocations: each(Tool::Allocations)?,
            });
        }
    }
    Ok(counts)
}

/// What a process does for so many messages.
fn run(
    tool: Tool,
    broker: &Broker,
    field: &Field,
    contender: Contender,
    task: Task,
    messages: u32,
) -> Result<f64> {
    let topic = prepared(broker, task, messages)?;
    let program = field.program(contender, task, broker.url(), &topic, messages)?;
    let log = std::env::temp_dir().join(format!("bench-valgrind-{}", std::process::id()));
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(tool.arguments())
        .arg(format!("--log-file={}", log.display()))
        .arg(program.get_program())
        .args(program.get_args())
        .stderr(Stdio::null());
    figures(&mut valgrind, &input(&topic)?)?;
    broker.admin().delete(&topic, true);
    let text = std::fs::read_to_string(&log)?;
    std::fs::remove_file(&log)?;
    let total = tool.total(&text);
    total.ok_or_else(|| format!("valgrind told no {tool:?}: {text}").into())
}
