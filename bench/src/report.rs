//! The tables, and what they say about the aims.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use pulsar_testing::Broker;

use crate::Result;
use crate::codec::Figures;
use crate::meter::{Sample, median};
use crate::work::{Bench, CASES, Task, Through, encoded};

/// What our layer may cost a message over the bare client, in µs of CPU time.
const LAYER_AIM: f64 = 3.0;

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    machine: String,
    setup: String,
    /// The codec's figures, for a small and a large body.
    pub codec: Option<[Figures; 2]>,
    /// Allocations a message, for each case.
    pub allocations: Vec<f64>,
    /// The samples of each round, for each case.
    pub rounds: Vec<Vec<Sample>>,
}

impl Report {
    /// An empty report that knows where and how it is measured.
    ///
    /// # Errors
    ///
    /// The broker does not tell its version.
    pub fn new(bench: &Bench, rounds: usize) -> Result<Self> {
        let machine = machine(&bench.broker)?;
        let setup = format!(
            "{} messages of {} bytes with 6 properties in each case, each on a fresh topic without partitions; \
             medians of {rounds} rounds in which the cases take turns. The client runs on one thread, and CPU time \
             is that thread's, user and system. No batches, no compression; subscriptions are Shared. The bare \
             client sends the same body and properties, made once.",
            bench.messages,
            encoded(&bench.broker.topic("bench"))?.0.len(),
        );
        Ok(Self {
            machine,
            setup,
            codec: None,
            allocations: Vec::new(),
            rounds: Vec::new(),
        })
    }

    /// The report as text.
    ///
    /// # Errors
    ///
    /// None.
    pub fn to_markdown(&self) -> Result<String> {
        let mut out = String::new();
        writeln!(out, "Written by `make bench`. {}\n", self.machine)?;
        self.broker(&mut out)?;
        if let Some(codec) = &self.codec {
            write_codec(&mut out, codec)?;
        }
        self.aims(&mut out)?;
        Ok(out)
    }

    fn broker(&self, out: &mut String) -> Result<()> {
        writeln!(out, "## On a real broker\n\n{}\n", self.setup)?;
        writeln!(
            out,
            "| | CPU µs a message | of all rounds | allocations a message | messages a second |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|")?;
        for (index, (task, through)) in CASES.into_iter().enumerate() {
            let of = |pick: fn(&Sample) -> f64| self.rounds.iter().map(move |round| pick(&round[index]));
            let cpu = || of(|sample| sample.cpu_us);
            writeln!(
                out,
                "| {}, {} | {:.2} | {:.2} to {:.2} | {:.1} | {:.0} |",
                name(task),
                match through {
                    Through::Sdk => "SDK",
                    Through::Bare => "bare client",
                },
                median(cpu()),
                cpu().fold(f64::INFINITY, f64::min),
                cpu().fold(0.0, f64::max),
                self.allocations.get(index).copied().unwrap_or(f64::NAN),
                median(of(|sample| sample.rate)),
            )?;
        }
        Ok(writeln!(out)?)
    }

    fn aims(&self, out: &mut String) -> Result<()> {
        writeln!(out, "## Against the aims\n")?;
        writeln!(
            out,
            "Our layer is to cost at most {LAYER_AIM:.0} µs of CPU time a message over the bare client:\n"
        )?;
        for (index, pair) in CASES.chunks_exact(2).enumerate() {
            let (bare, sdk) = (2 * index, 2 * index + 1);
            // Within a round both ran under the same conditions.
            let layer = median(
                self.rounds
                    .iter()
                    .map(|round| round[sdk].cpu_us - round[bare].cpu_us),
            );
            let more = self.allocations.get(sdk).zip(self.allocations.get(bare));
            writeln!(
                out,
                "- {}: {layer:+.2} µs and {:+.1} allocations a message. {}",
                name(pair[0].0),
                more.map_or(f64::NAN, |(sdk, bare)| sdk - bare),
                verdict(layer <= LAYER_AIM),
            )?;
        }
        writeln!(
            out,
            "\nReading an envelope with the verdict is to be no slower than serde_json to a `Value`:\n"
        )?;
        for figures in self.codec.iter().flatten() {
            writeln!(
                out,
                "- {} bytes: {:.2} times the time of serde_json. {}",
                figures.bytes,
                figures.decode / figures.value_read,
                verdict(figures.decode <= figures.value_read),
            )?;
        }
        Ok(())
    }
}

fn write_codec(out: &mut String, codec: &[Figures; 2]) -> Result<()> {
    writeln!(
        out,
        "## Codec\n\nNanoseconds for one body, on one core, medians.\n"
    )?;
    let [small, large] = codec;
    writeln!(
        out,
        "| | {} bytes | {} bytes |\n|---|---:|---:|",
        small.bytes, large.bytes
    )?;
    type Pick = fn(&Figures) -> f64;
    let rows: [(&str, Pick); 5] = [
        ("read: `Envelope::decode` and `accepts`", |figures| figures.decode),
        ("read: `serde_json::from_slice::<Value>`", |figures| {
            figures.value_read
        }),
        ("write: `Envelope::encode` of a decoded envelope", |figures| {
            figures.encode
        }),
        ("write: `serde_json::to_vec` of that `Value`", |figures| {
            figures.value_write
        }),
        ("decide: `plan`, the reading included", |figures| figures.plan),
    ];
    for (row, pick) in rows {
        writeln!(out, "| {row} | {:.0} | {:.0} |", pick(small), pick(large))?;
    }
    Ok(writeln!(out)?)
}

fn name(task: Task) -> String {
    match task {
        Task::Publish(in_flight) => format!("publish, {in_flight} in flight"),
        Task::Consume => "consume, acknowledgements confirmed".into(),
    }
}

/// Where and with what it is measured.
///
/// # Errors
///
/// The system does not tell.
pub(crate) fn machine(broker: &Broker) -> Result<String> {
    let version = broker.admin().version();
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = fs::read_to_string("/proc/loadavg")?;
    Ok(format!(
        "{}, {} ({} cores, Linux {}), {}, {version} standalone on the same machine. Load average at the \
         start {}. Commit {}.",
        shell("date", &["-u", "+%F %H:%M UTC"]),
        cpu.map_or("unknown CPU", |(_, model)| model),
        std::thread::available_parallelism()?,
        fs::read_to_string("/proc/sys/kernel/osrelease")?.trim(),
        shell("rustc", &["--version"]),
        load.split(' ').next().unwrap_or_default(),
        shell("git", &["describe", "--always", "--dirty"]),
    ))
}

pub(crate) fn verdict(met: bool) -> &'static str {
    if met { "Met." } else { "**Missed.**" }
}

fn shell(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| format!("{program} unknown"))
}
