//! The tables, and what they say about the aims.

use std::fmt::Write;
use std::process::Command;

use pulsar_testing::Broker;

use super::contender::{Contender, Field};
use super::instructions::Count;
use super::{Figures, Load, Task};
use crate::Result;
use crate::meter::median;
use crate::report::{machine, verdict};
use crate::work::encoded;

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Report {
    machine: String,
    setup: String,
    missing: Vec<Contender>,
    samples: Vec<(Task, Contender, Figures)>,
    pub(crate) counts: Vec<Count>,
}

/// What the full SDK may cost: µs of CPU time a message, or µs of latency over the bare protocol.
const CPU_AIMS: [(Task, f64); 4] = [
    (Task::Publish, 5.0),
    (Task::PublishBatches, 2.0),
    (Task::Consume, 6.5),
    (Task::ConsumeBatches, 2.5),
];
const LATENCY_AIM: f64 = 50.0;
const MEMORY_AIM_MIB: f64 = 64.0;

impl Report {
    pub(crate) fn new(broker: &Broker, load: Load, field: &Field) -> Result<Self> {
        let setup = format!(
            "{} messages of {} bytes with 6 properties in each case ({} where each waits for the one before), on a fresh \
             topic without partitions; Python gets a fifth of them. Medians of {} rounds in which all take turns. Each is a process of its own; CPU time \
             is that of the whole process while it works, its start left out, and for Java a warm-up too. Latencies are from \
             the call to the receipt. Subscriptions are Shared, each message is acknowledged by itself. Our acknowledgements \
             wait for the broker's confirmation, those of the other clients do not. BabelQueue for Python publishes with 64 threads, since each call waits for its receipt, and has \
             no batches. {}.",
            load.messages,
            encoded(&broker.topic("peers"))?.0.len(),
            load.singly,
            load.rounds,
            versions(),
        );
        Ok(Self {
            machine: machine(broker)?,
            setup,
            missing: Contender::ALL
                .into_iter()
                .filter(|contender| !field.has(*contender))
                .collect(),
            samples: Vec::new(),
            counts: Vec::new(),
        })
    }

    pub(crate) fn note(&mut self, task: Task, contender: Contender, figures: Figures) {
        self.samples.push((task, contender, figures));
    }

    pub(crate) fn to_markdown(&self) -> Result<String> {
        let mut out = String::new();
        writeln!(
            out,
            "Written by `make bench-peers`. {}\n\n{}",
            self.machine, self.setup
        )?;
        for contender in &self.missing {
            writeln!(out, "\nNot there: {}.", contender.name())?;
        }
        for task in Task::ALL {
            self.table(&mut out, task)?;
        }
        self.aims(&mut out)?;
        Ok(out)
    }

    fn table(&self, out: &mut String, task: Task) -> Result<()> {
        writeln!(
            out,
            "\n{}:\n\n| | CPU µs a message | instructions a message | allocations a message | messages a second \
             | p50 µs | p99 µs | peak MiB |",
            title(task)
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for contender in Contender::ALL {
            let Some(cpu) = self.median(task, contender, |figures| Some(figures.cpu_us())) else {
                continue;
            };
            let cell = |pick: fn(&Figures) -> Option<f64>, digits: usize| {
                self.median(task, contender, pick)
                    .map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
            };
            let counted = |pick: fn(&Count) -> f64, digits: usize| {
                let count = self
                    .counts
                    .iter()
                    .find(|count| (count.task, count.contender) == (task, contender));
                count.map_or_else(|| "–".to_owned(), |count| format!("{:.digits$}", pick(count)))
            };
            writeln!(
                out,
                "| {} | {cpu:.2} | {} | {} | {} | {} | {} | {} |",
                contender.name(),
                counted(|count| count.instructions, 0),
                counted(|count| count.allocations, 1),
                cell(|figures| Some(figures.rate()), 0),
                cell(|figures| figures.p50, 0),
                cell(|figures| figures.p99, 0),
                cell(|figures| Some(figures.peak_kib / 1024.0), 0),
            )?;
        }
        Ok(())
    }

    fn aims(&self, out: &mut String) -> Result<()> {
        writeln!(
            out,
            "\nOur full SDK, envelope and confirmed settlement included, against the aims:\n"
        )?;
        let cpu = |task, contender| self.median(task, contender, |figures| Some(figures.cpu_us()));
        for (task, aim) in CPU_AIMS {
            let Some(ours) = cpu(task, Contender::Sdk) else {
                continue;
            };
            write!(
                out,
                "- {}: {ours:.2} µs of CPU time, the aim is {aim}. {}",
                title(task),
                verdict(ours <= aim)
            )?;
            if let Some(bare) = cpu(task, Contender::Bare) {
                write!(out, " {:.2} times our client alone", ours / bare)?;
            }
            let best = Contender::ALL
                .into_iter()
                .filter(|contender| contender.is_peer())
                .filter_map(|peer| Some((peer, cpu(task, peer)?)))
                .min_by(|one, other| one.1.total_cmp(&other.1));
            if let Some((peer, best)) = best {
                write!(out, ", {:.2} times the best peer ({})", ours / best, peer.name())?;
            }
            writeln!(out, ".")?;
        }
        let p50 = |contender| self.median(Task::PublishOne, contender, |figures| figures.p50);
        if let (Some(ours), Some(floor)) = (p50(Contender::Sdk), p50(Contender::Protocol)) {
            let over = ours - floor;
            writeln!(
                out,
                "- One at a time: {over:.0} µs over the bare protocol at p50, the aim is {LATENCY_AIM:.0}. {}",
                verdict(over <= LATENCY_AIM)
            )?;
        }
        if let Some(peak) = self.median(Task::Consume, Contender::Sdk, |figures| {
            Some(figures.peak_kib / 1024.0)
        }) {
            writeln!(
                out,
                "- A backlog consumed: at most {peak:.0} MiB, the aim for 100,000 messages is {MEMORY_AIM_MIB:.0}. {}",
                verdict(peak <= MEMORY_AIM_MIB)
            )?;
        }
        Ok(())
    }

    fn median(&self, task: Task, contender: Contender, pick: fn(&Figures) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self
            .samples
            .iter()
            .filter(|(of, by, _)| (*of, *by) == (task, contender))
            .filter_map(|(_, _, figures)| pick(figures))
            .collect();
        (!values.is_empty()).then(|| median(values))
    }
}

fn title(task: Task) -> &'static str {
    match task {
        Task::PublishOne => "Publishing one at a time",
        Task::Publish => "Publishing unbatched, 500 in flight",
        Task::PublishBatches => "Publishing in batches of one key each, 100 keys, 5,000 in flight",
        Task::Consume => "Consuming what was sent singly",
        Task::ConsumeBatches => "Consuming from batches of 100",
    }
}

/// With which versions the peers run.
fn versions() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let text = if text.is_empty() {
            String::from_utf8_lossy(&output.stderr).into_owned()
        } else {
            text
        };
        text.lines().next().map(str::to_owned)
    };
    let python = pulsar_testing::python().and_then(|python| {
        let code = "import importlib.metadata as m, platform as p; \
                    print(f\"Python {p.python_version()}, babelqueue {m.version('babelqueue')}, \
                    pulsar-client {m.version('pulsar-client')}\")";
        said(python.to_str()?, &["-c", code])
    });
    let go = said("go", &["version"]).map(|text| {
        let module = include_str!("../../../crates/pulsar-testing/go/go.mod");
        let client = module
            .lines()
            .find_map(|line| line.split_once("pulsar-client-go "))
            .map(|(_, version)| version.split_whitespace().next().unwrap_or_default());
        format!("{text}, pulsar-client-go {}", client.unwrap_or("unknown"))
    });
    let java = said("java", &["-version"]).map(|text| format!("{text}, Pulsar's client 4.0.7"));
    [python, go, java]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}
