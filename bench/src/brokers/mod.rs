//! The development broker beside a real Pulsar, with the same clients and the same load.
//!
//! | module | content |
//! |---|---|
//! | `ours` | publishing and consuming with `pulsar-tokio` |
//! | `python` | the same with Pulsar's Python client, through `python.py` |
//! | `memory` | what the development broker takes |
//! | `report` | the tables, and what they say about the aims |

mod memory;
mod ours;
mod python;
mod report;

pub(crate) use self::ours::block_on;

use std::time::{Duration, Instant};

use pulsar_testing::Broker;

use self::report::Report;
use crate::process::{DevBroker, Process};
use crate::protocol::{BATCH, Connection, Sample};
use crate::{Result, process, results};

const SUBSCRIPTION: &str = "bench";
const BYTES: usize = 256;
const HEADING: &str = "The development broker beside Pulsar";

/// Whose client is used, whether it batches, and with how many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    client: Client,
    batched: bool,
    messages: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Ours,
    Python,
}

impl Case {
    const fn new(client: Client, batched: bool, messages: u32) -> Self {
        Self {
            client,
            batched,
            messages,
        }
    }
}

/// As many messages as take long enough to be measured, on the quicker broker.
const CASES: [Case; 4] = [
    Case::new(Client::Ours, false, 100_000),
    Case::new(Client::Ours, true, 500_000),
    Case::new(Client::Python, false, 20_000),
    Case::new(Client::Python, true, 100_000),
];

/// What a case gives on one broker.
#[derive(Clone, Copy, Debug)]
struct Figures {
    produce: Half,
    consume: Half,
}

#[derive(Clone, Copy, Debug)]
struct Half {
    /// Messages a second.
    rate: f64,
    /// CPU time of the broker for a message in µs, where its process is known.
    cpu_us: Option<f64>,
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Which part of its messages a case gets.
    part: u32,
    rounds: usize,
    stored: u32,
    passed: u32,
    starts: usize,
}

const FULL: Load = Load {
    part: 1,
    rounds: 3,
    stored: 1_000_000,
    passed: 2_000_000,
    starts: 20,
};

const SMOKE: Load = Load {
    part: 50,
    rounds: 1,
    stored: 5_000,
    passed: 10_000,
    starts: 2,
};

/// A broker that is measured.
struct Side<'a> {
    url: &'a str,
    process: Option<Process>,
}

/// Measures everything, prints it, and writes it down unless `smoke` is set.
///
/// # Errors
///
/// A broker or the Python client is away or fails.
pub fn run(smoke: bool) -> Result<()> {
    let load = if smoke { SMOKE } else { FULL };
    let real = Broker::real().ok_or("PULSAR_URL is not set; run it with scripts/with-pulsar")?;
    let program = process::build()?;
    let mut report = Report::new(&real, load)?;
    report.program_bytes = std::fs::metadata(&program)?.len();
    report.starts = start_times(&program, load.starts)?;
    {
        let dev = DevBroker::start(&program)?;
        let sides = [
            Side {
                url: dev.url(),
                process: Some(dev.process()),
            },
            Side {
                url: real.url(),
                process: Process::listening(real.url()),
            },
        ];
        for _ in 0..load.rounds {
            let mut round = Vec::new();
            for case in CASES {
                // Both under the same conditions, as far as there are such.
                round.push([
                    measure(&sides[0], &real, case, load)?,
                    measure(&sides[1], &real, case, load)?,
                ]);
            }
            report.rounds.push(round);
        }
    }
    report.stored = Some(memory::stored(&DevBroker::start(&program)?, load.stored)?);
    report.passed = memory::passed(&DevBroker::start(&program)?, load.passed)?;
    let text = report.to_markdown()?;
    println!("{text}");
    if !smoke {
        results::put(HEADING, &text)?;
    }
    Ok(())
}

/// How long it takes until the development broker can be connected to.
fn start_times(program: &std::path::Path, count: usize) -> Result<Vec<Duration>> {
    (0..count)
        .map(|_| Ok(DevBroker::start(program)?.started_in()))
        .collect()
}

/// One case on one broker, on a topic of its own.
fn measure(side: &Side<'_>, real: &Broker, case: Case, load: Load) -> Result<Figures> {
    let topic = real.topic("brokers");
    let count = case.messages / load.part;
    ours::make_subscription(side.url, &topic)?;
    let produce = half(side, count, || match case.client {
        Client::Ours if case.batched => produce_batches(side.url, &topic, count),
        Client::Ours => ours::produce(side.url, &topic, count),
        Client::Python => python::produce(side.url, &topic, count, case.batched),
    })?;
    let consume = half(side, count, || match case.client {
        Client::Ours => ours::consume(side.url, &topic, count),
        Client::Python => python::consume(side.url, &topic, count),
    })?;
    if side.url == real.url() {
        real.admin().delete(&topic, true);
    }
    Ok(Figures { produce, consume })
}

fn produce_batches(url: &str, topic: &str, count: u32) -> Result<Duration> {
    let sample = Sample {
        body: vec![b'x'; BYTES].into(),
        properties: Vec::new(),
    };
    ours::block_on(async {
        let mut connection = Connection::open(url, topic).await?;
        let since = Instant::now();
        connection.send_batches(count / BATCH, &sample).await?;
        Ok(since.elapsed())
    })
}

/// Runs `work`, which says how long it took by its own clock.
fn half(side: &Side<'_>, count: u32, work: impl FnOnce() -> Result<Duration>) -> Result<Half> {
    let cpu = |process: &Option<Process>| process.map(Process::cpu).transpose();
    let before = cpu(&side.process)?;
    let took = work()?;
    let after = cpu(&side.process)?;
    Ok(Half {
        rate: f64::from(count) / took.as_secs_f64(),
        cpu_us: before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64() * 1e6 / f64::from(count)),
    })
}
