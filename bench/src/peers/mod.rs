//! The same work on the same broker by our SDK, our client alone, and the SDKs and clients of other languages.
//!
//! Each contender is a process of its own that tells its own CPU time, latencies and greatest memory, so all are measured
//! alike. What is missing on this machine is left out and named.
//!
//! | module | content |
//! |---|---|
//! | `contender` | who takes part, and how its process is started |
//! | `ours` | the tasks through our SDK, our client, and the bare protocol |
//! | `instructions` | instructions and allocations a message, counted by valgrind |
//! | `report` | the tables, and what they say about the aims |
//! | `programs/` | the tasks in Python, Go and Java |

mod contender;
mod instructions;
mod ours;
mod report;

use std::time::Duration;

use pulsar_testing::{Broker, Position};
use serde::{Deserialize, Serialize};

use self::contender::{Contender, Field};
use self::report::Report;
use crate::protocol::{BATCH, Connection, Sample};
use crate::work::{SUBSCRIPTION, encoded};
use crate::{Result, brokers, results};

pub use self::ours::contend;

const HEADING: &str = "Beside other languages";

/// What everybody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Publishing, each message after the receipt of the one before.
    PublishOne,
    /// Publishing unbatched with 500 in flight.
    Publish,
    /// Publishing with 100 keys, 5,000 in flight, in batches of one key.
    PublishBatches,
    /// Consuming messages that were sent singly, and acknowledging each.
    Consume,
    /// The same with messages that came in batches of 100.
    ConsumeBatches,
}

impl Task {
    pub(crate) const ALL: [Self; 5] = [
        Self::PublishOne,
        Self::Publish,
        Self::PublishBatches,
        Self::Consume,
        Self::ConsumeBatches,
    ];

    /// Its name on the command line of a contender.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PublishOne => "publish-1",
            Self::Publish => "publish-500",
            Self::PublishBatches => "publish-batches",
            Self::Consume => "consume",
            Self::ConsumeBatches => "consume-batches",
        }
    }

    pub(crate) fn consumes(self) -> bool {
        matches!(self, Self::Consume | Self::ConsumeBatches)
    }

    fn messages(self, load: Load) -> u32 {
        match self {
            Self::PublishOne => load.singly,
            _ => load.messages,
        }
    }
}

/// What a contender tells about a task, and what it says on its standard output.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Figures {
    pub(crate) seconds: f64,
    pub(crate) cpu: f64,
    /// Latencies in µs, from the call to the receipt.
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) peak_kib: f64,
    /// How many messages that were.
    #[serde(default)]
    pub(crate) messages: u32,
}

impl Figures {
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu * 1e6 / f64::from(self.messages)
    }

    pub(crate) fn rate(&self) -> f64 {
        f64::from(self.messages) / self.seconds
    }
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) messages: u32,
    pub(crate) singly: u32,
    pub(crate) rounds: usize,
}

const FULL: Load = Load {
    messages: 100_000,
    singly: 5_000,
    rounds: 3,
};

const SMOKE: Load = Load {
    messages: 2_000,
    singly: 100,
    rounds: 1,
};

/// Measures everybody, prints it, and writes it down unless `smoke` is set.
///
/// # Errors
///
/// The broker is away, or a contender that is there fails.
pub fn run(smoke: bool) -> Result<()> {
    let load = if smoke { SMOKE } else { FULL };
    let broker = Broker::real().ok_or("PULSAR_URL is not set; run it with scripts/with-pulsar")?;
    let field = Field::assemble()?;
    let mut report = Report::new(&broker, load, &field)?;
    for round in 0..load.rounds {
        for task in Task::ALL {
            // In turns, and each round somebody else begins: who comes first meets a broker that is cold.
            let mut contenders: Vec<_> = field.able_to(task).collect();
            let first = round % contenders.len().max(1);
            contenders.rotate_left(first);
            for contender in contenders {
                eprintln!("bench: {} {}", contender.name(), task.name());
                let messages = task.messages(load) / contender.slowness();
                let figures = measure(&broker, &field, contender, task, messages)?;
                report.note(task, contender, figures);
            }
        }
    }
    report.counts = instructions::count(&broker, &field, smoke)?;
    let text = report.to_markdown()?;
    println!("{text}");
    if !smoke {
        results::put(HEADING, &text)?;
    }
    Ok(())
}

/// One task by one contender on a topic of its own.
fn measure(
    broker: &Broker,
    field: &Field,
    contender: Contender,
    task: Task,
    messages: u32,
) -> Result<Figures> {
    // Some take a fifth more, to warm up.
    let topic = prepared(broker, task, messages + messages / 5)?;
    let mut program = field.program(contender, task, broker.url(), &topic, messages)?;
    let figures = contender::figures(&mut program, &input(&topic)?)?;
    broker.admin().delete(&topic, true);
    Ok(Figures { messages, ..figures })
}

/// A topic for a task, with so many messages where they are consumed.
fn prepared(broker: &Broker, task: Task, messages: u32) -> Result<String> {
    let topic = broker.topic("peers");
    let admin = broker.admin();
    admin.create_topic(&topic);
    admin.create_subscription(&topic, SUBSCRIPTION, Position::Earliest);
    if task.consumes() {
        fill(broker.url(), &topic, task, messages)?;
    }
    Ok(topic)
}

/// Puts the messages there that are to be consumed.
fn fill(url: &str, topic: &str, task: Task, messages: u32) -> Result<()> {
    let (body, properties) = encoded(topic)?;
    let properties = properties.into_pairs();
    brokers::block_on(async {
        match task {
            Task::ConsumeBatches => {
                let properties = properties
                    .into_iter()
                    .map(|(key, value)| pulsar_wire::proto::KeyValue { key, value })
                    .collect();
                let mut connection = Connection::open(url, topic).await?;
                let sample = Sample { body, properties };
                connection.send_batches(messages.div_ceil(BATCH), &sample).await
            }
            _ => {
                let producer = pulsar_tokio::Client::new(url)?.producer(topic).open().await?;
                let mut pending = std::collections::VecDeque::new();
                for _ in 0..messages {
                    crate::work::make_room(&mut pending, 500).await?;
                    let message =
                        pulsar_tokio::NewMessage::new(body.clone()).properties(properties.iter().cloned());
                    pending.push_back(producer.enqueue(message).await?);
                }
                crate::work::make_room(&mut pending, 1).await?;
                producer.close(Duration::from_secs(60)).await;
                Ok(())
            }
        }
    })
}

/// What a contender is given: the body and the properties of every message, each a line.
fn input(topic: &str) -> Result<String> {
    let (body, properties) = encoded(topic)?;
    let body = String::from_utf8(body.to_vec())?;
    let mut object = serde_json::Map::new();
    for (key, value) in properties.into_pairs() {
        let text = |bytes: bytes::Bytes| String::from_utf8(bytes.to_vec());
        object.insert(text(key)?, text(value)?.into());
    }
    Ok(format!("{body}\n{}\n", serde_json::Value::Object(object)))
}
