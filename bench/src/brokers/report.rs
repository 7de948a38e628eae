//! The tables, and what they say about the aims.

use std::fmt::Write;
use std::time::Duration;

use pulsar_testing::Broker;

use super::memory;
use super::{BYTES, CASES, Case, Client, Figures, Half, Load, python};
use crate::Result;
use crate::meter::median;
use crate::process::Memory;
use crate::protocol::BATCH;
use crate::report::{machine, verdict};

const START_AIM_MS: f64 = 100.0;
const PROGRAM_AIM_MB: f64 = 15.0;
const STORED_AIM_MIB: f64 = 1024.0;

/// How much of the memory at the first look may have come since, at the last, to be called flat.
const FLAT: f64 = 1.1;

/// Everything that was measured.
pub(super) struct Report {
    head: String,
    load: Load,
    /// For each round and case: the development broker, and the real one.
    pub(super) rounds: Vec<Vec<[Figures; 2]>>,
    pub(super) starts: Vec<Duration>,
    pub(super) program_bytes: u64,
    pub(super) stored: Option<Memory>,
    pub(super) passed: Vec<(u32, Memory)>,
}

/// The best of all rounds, for produce and for consume.
struct Best([Half; 2]);

impl Best {
    fn of(figures: impl Iterator<Item = Figures>) -> Self {
        let none = Half {
            rate: 0.0,
            cpu_us: None,
        };
        figures.fold(Self([none; 2]), |Self([produce, consume]), figures| {
            Self([better(produce, figures.produce), better(consume, figures.consume)])
        })
    }
}

/// Rates and CPU times are compared each for itself.
fn better(one: Half, other: Half) -> Half {
    Half {
        rate: one.rate.max(other.rate),
        cpu_us: one.cpu_us.into_iter().chain(other.cpu_us).reduce(f64::min),
    }
}

impl Report {
    pub(super) fn new(real: &Broker, load: Load) -> Result<Self> {
        Ok(Self {
            head: format!(
                "Written by `make bench-brokers`. {} Python client {}.",
                machine(real)?,
                python::version()?
            ),
            load,
            rounds: Vec::new(),
            starts: Vec::new(),
            program_bytes: 0,
            stored: None,
            passed: Vec::new(),
        })
    }

    fn best(&self, index: usize) -> [Best; 2] {
        [0, 1].map(|side| Best::of(self.rounds.iter().map(|round| round[index][side])))
    }

    pub(super) fn to_markdown(&self) -> Result<String> {
        let mut out = String::new();
        writeln!(out, "{}\n", self.head)?;
        let rounds = self.load.rounds;
        writeln!(
            out,
            "Messages of {BYTES} bytes, alone or in batches of {BATCH}, on a Shared subscription, \
             over one connection, acknowledged one by one. `bqctl broker` and Pulsar, each a process of its own, take \
             turns in {rounds} rounds; each figure is the best of its rounds. Our client runs on one thread and does \
             not batch, so its batches are sent as frames. Where the client is the slower part, the rates are the client's, \
             and only CPU time tells the brokers apart. A load average above the number of cores means that other \
             programs had part of the machine.\n"
        )?;
        writeln!(
            out,
            "Messages a second:\n\n| client | messages | development broker: produce / consume+ack | Pulsar: \
             produce / consume+ack | times as many |\n|---|---:|---:|---:|---:|"
        )?;
        for (index, case) in CASES.into_iter().enumerate() {
            let [dev, real] = self.best(index).map(|best| best.0.map(|half| half.rate));
            writeln!(
                out,
                "| {} | {} | {:.0} / {:.0} | {:.0} / {:.0} | {:.1} / {:.1} |",
                name(case),
                case.messages / self.load.part,
                dev[0],
                dev[1],
                real[0],
                real[1],
                dev[0] / real[0],
                dev[1] / real[1],
            )?;
        }
        writeln!(
            out,
            "\nCPU time of the broker in µs a message, user and system:\n\n| client | development broker: produce / \
             consume+ack | Pulsar: produce / consume+ack |\n|---|---:|---:|"
        )?;
        for (index, case) in CASES.into_iter().enumerate() {
            let [dev, real] = self.best(index).map(|best| best.0.map(|half| cpu(half.cpu_us)));
            writeln!(
                out,
                "| {} | {} / {} | {} / {} |",
                name(case),
                dev[0],
                dev[1],
                real[0],
                real[1]
            )?;
        }
        writeln!(out)?;
        self.aims(&mut out)?;
        Ok(out)
    }

    fn aims(&self, out: &mut String) -> Result<()> {
        writeln!(out, "Against the aims:\n")?;
        let is_faster = (0..CASES.len()).all(|index| {
            let [Best(dev), Best(real)] = self.best(index);
            dev.iter().zip(real).all(|(dev, real)| dev.rate >= real.rate)
        });
        writeln!(
            out,
            "- At least Pulsar's throughput in every case. {}",
            verdict(is_faster)
        )?;
        let starts = || self.starts.iter().map(|start| start.as_secs_f64() * 1e3);
        let start = median(starts());
        writeln!(
            out,
            "- From the command `bqctl broker` to the first connection: {start:.1} ms, the longest of {} {:.1} ms; the \
             aim is {START_AIM_MS:.0} ms. {}",
            self.starts.len(),
            starts().fold(0.0, f64::max),
            verdict(start < START_AIM_MS)
        )?;
        let program = self.program_bytes as f64 / 1e6;
        writeln!(
            out,
            "- `bqctl`, built for release: {program:.1} MB; the aim is {PROGRAM_AIM_MB:.0} MB. {}",
            verdict(program < PROGRAM_AIM_MB)
        )?;
        if let Some(stored) = self.stored {
            let peak = mib(stored.peak);
            writeln!(
                out,
                "- {} messages of {} bytes stored, none acknowledged: {:.0} MiB, at most {peak:.0}; the aim is \
                 {STORED_AIM_MIB:.0} MiB. {}",
                self.load.stored,
                memory::BYTES,
                mib(stored.now),
                verdict(peak < STORED_AIM_MIB)
            )?;
        }
        if let (Some((first, at_first)), Some((last, at_last))) = (self.passed.first(), self.passed.last()) {
            let looks: Vec<String> = self
                .passed
                .iter()
                .map(|(_, memory)| format!("{:.0}", mib(memory.now)))
                .collect();
            writeln!(
                out,
                "- With a consumer that keeps up, after each {first} of {last} messages: {} MiB, at most {:.0}; the aim \
                 is that it does not grow. {}",
                looks.join(", "),
                mib(at_last.peak),
                verdict(mib(at_last.now) <= FLAT * mib(at_first.now))
            )?;
        }
        Ok(())
    }
}

fn name(case: Case) -> String {
    let client = match case.client {
        Client::Ours => "ours",
        Client::Python => "Python",
    };
    let mode = if case.batched { "batches" } else { "single" };
    format!("{client}, {mode}")
}

fn cpu(us: Option<f64>) -> String {
    us.map_or_else(|| "–".to_owned(), |us| format!("{us:.1}"))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
