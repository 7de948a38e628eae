//! Six orders and what becomes of them: one is billed, one is billed on its retry, one exhausts its
//! attempts, one is poison, one declares a version that nobody reads, one has a URN that nobody
//! handles. It brings a development broker of its own, or uses the broker of your choice:
//!
//! ```sh
//! cargo run --example orders
//! PULSAR_URL=pulsar://localhost:6650 cargo run --example orders
//! ```
//!
//! TLS and credentials come from the environment too: `docs/guide/reaching.md` has the variables.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use babelqueue_pulsar::pulsar_tokio::{self, NewMessage, Payload};
use babelqueue_pulsar::{
    Consumer, DEAD_LETTER_SUBSCRIPTION, Envelope, Failure, InitialPosition, Message, Publisher, Pulsar,
    Settings, SubscriptionType, dead_letter_topic, properties,
};
use pulsar_devbroker::DevBroker;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

const TOPIC: &str = "orders";
const CREATED: &str = "urn:babel:orders:created";
const ARCHIVED: &str = "urn:babel:orders:archived";
/// A property that tells this run's messages from what an earlier run may have left behind.
const RUN: &str = "demo-run";
const STORY: [(&str, &str); 6] = [
    ("order 1", "billed at the first attempt"),
    ("order 2", "billed at the second attempt"),
    (
        "order 3",
        "dead-lettered as failed after 3 attempts: card refused",
    ),
    (
        "order 4",
        "dead-lettered as unknown_urn after 3 attempts: no handler for urn:babel:orders:archived",
    ),
    ("order 5", "dead-lettered as poison after 1 attempt"),
    ("order 6", "dead-lettered unread: it declares schema version 2"),
];

#[derive(Serialize, Deserialize)]
struct Order {
    number: u32,
    total: f64,
}

/// Where handlers and readers tell what became of an order: its name and its end.
type Ends = UnboundedSender<(String, String)>;

#[tokio::main]
async fn main() -> ExitCode {
    match demo().await {
        Ok(true) => {
            println!("Every order ended as it should.");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("Some order did not end as it should; expected:");
            for (order, end) in STORY {
                eprintln!("  {order}: {end}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprint!("orders: {error}");
            let mut source = error.source();
            while let Some(error) = source {
                eprint!(": {error}");
                source = error.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

async fn demo() -> Result<bool, Box<dyn Error>> {
    let (settings, _broker) = broker().await?;
    let pulsar = Pulsar::with_settings(settings).build()?;
    let run = SystemTime::now()
        .duration_since(UNIX_EPOCH)?
        .as_micros()
        .to_string();
    let (ends, ended) = tokio::sync::mpsc::unbounded_channel();

    let (billing, mine) = (ends.clone(), run.clone());
    // Exclusive, so that a second demo at the same time is refused instead of taking orders of this one.
    let consumer = pulsar
        .subscription(TOPIC, "orders-demo")
        .subscription_type(SubscriptionType::Exclusive)
        .initial_position(InitialPosition::Earliest)
        .dead_letters()
        .open(
            Consumer::builder()
                .max_attempts(3)
                .handler(CREATED, move |envelope, message| {
                    bill(envelope, message, mine.clone(), billing.clone())
                }),
        )
        .await?;

    println!("Publishing six orders to {TOPIC}.");
    publish(&pulsar, &run).await?;

    println!("Consuming:");
    // `run` ends when its argument does: here, when every order has ended one way or the other.
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let watch = async {
        let result = tokio::select! {
            account = collect(ended) => Ok(account),
            Err(error) = read_dead_letters(&pulsar, &run, &ends) => Err(error),
            () = tokio::time::sleep(Duration::from_secs(60)) => Err("not done within a minute".into()),
        };
        drop(stop);
        result
    };
    let (account, ()) = tokio::join!(watch, consumer.run(async { _ = stopped.await }));
    consumer.close().await?;
    let account = account?;
    Ok(STORY
        .iter()
        .all(|(order, end)| account.get(*order).is_some_and(|what| what.starts_with(end))))
}

/// Where the orders go: to the broker of `PULSAR_URL` (or of the file in `PULSAR_CLIENT_CONF`), or to one for
/// development that lives as long as this program.
async fn broker() -> Result<(Settings, Option<DevBroker>), Box<dyn Error>> {
    let settings = Settings::from_environment()?;
    if let Some(url) = settings.service_url() {
        println!("Using the broker at {url}, as the environment says.");
        return Ok((settings, None));
    }
    let broker = DevBroker::builder().start().await?;
    println!("Using a development broker in this process, since PULSAR_URL is not set.");
    Ok((Settings::new().url(broker.url()), Some(broker)))
}

/// Tells each order's end as it comes, until all are known.
async fn collect(mut ended: UnboundedReceiver<(String, String)>) -> BTreeMap<String, String> {
    let mut account = BTreeMap::new();
    while account.len() < STORY.len()
        && let Some((order, end)) = ended.recv().await
    {
        println!("  {order}: {end}");
        account.insert(order, end);
    }
    account
}

/// The handler: an ordinary async function.
async fn bill(envelope: Envelope, message: Message, run: String, ends: Ends) -> Result<(), Failure> {
    let order: Order = envelope.data()?;
    match order.number {
        2 if envelope.attempts() == 0 => return Err(Failure::new("printer jammed")),
        3 => return Err(Failure::new("card refused")),
        _ => {}
    }
    if message.properties().text(RUN) == Some(&run) {
        let attempt = if envelope.attempts() == 0 {
            "first"
        } else {
            "second"
        };
        ends.send((
            format!("order {}", order.number),
            format!("billed at the {attempt} attempt"),
        ))?;
    }
    Ok(())
}

async fn publish(pulsar: &Pulsar, run: &str) -> Result<(), Box<dyn Error>> {
    let orders: Publisher = pulsar.publisher(TOPIC).await?;
    for (number, urn) in [(1, CREATED), (2, CREATED), (3, CREATED), (4, ARCHIVED)] {
        let order = Order {
            number,
            total: 19.5 * f64::from(number),
        };
        orders
            .publish(urn, &order)
            .header(RUN, run)
            .header("demo-order", format!("order {number}"))
            .await?;
    }
    // What other programs might put on the topic needs the client below: these are no envelopes of ours.
    let foreign = pulsar.client().producer(TOPIC).open().await?;
    let marked = |body: &'static str, number| {
        NewMessage::new(body)
            .property(RUN, run.to_owned())
            .property("demo-order", format!("order {number}"))
    };
    foreign.send(marked("order five, please", 5)).await?;
    foreign
        .send(marked("{\"envelope\":\"of tomorrow\"}", 6).property(properties::SCHEMA_VERSION, "2"))
        .await?;
    Ok(())
}

/// Reads the dead-letter topic as an operator would.
async fn read_dead_letters(pulsar: &Pulsar, run: &str, ends: &Ends) -> Result<(), Box<dyn Error>> {
    let topic = dead_letter_topic(TOPIC);
    let reader = pulsar
        .client()
        .consumer(&topic, DEAD_LETTER_SUBSCRIPTION)
        .subscription_type(pulsar_tokio::SubscriptionType::Shared)
        .open()
        .await?;
    loop {
        let message = reader.receive().await?;
        let text = |name: &str| {
            let found = message.properties.iter().find(|(key, _)| key == name.as_bytes());
            found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        if text(RUN).as_deref() == Some(run)
            && let (Some(order), Payload::Bytes(body)) = (text("demo-order"), &message.payload)
        {
            ends.send((order, epitaph(body, text(properties::SCHEMA_VERSION))))?;
        }
        reader.ack(message.ticket).await?;
    }
}

/// What a dead-letter record says.
fn epitaph(body: &[u8], version: Option<String>) -> String {
    #[derive(Deserialize)]
    struct Record {
        dead_letter: Block,
    }
    #[derive(Deserialize)]
    struct Block {
        reason: String,
        error: Option<String>,
        attempts: i64,
    }
    match serde_json::from_slice::<Record>(body) {
        Ok(Record {
            dead_letter:
                Block {
                    reason,
                    error,
                    attempts,
                },
        }) => {
            let s = if attempts == 1 { "" } else { "s" };
            format!(
                "dead-lettered as {reason} after {attempts} attempt{s}: {}",
                error.unwrap_or_default()
            )
        }
        Err(_) => format!(
            "dead-lettered unread: it declares schema version {}",
            version.unwrap_or_default()
        ),
    }
}
