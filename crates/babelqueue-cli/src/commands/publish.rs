//! `bqctl publish`: data becomes messages.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use babelqueue::Sink;
use babelqueue_pulsar::{Data, Publisher, Receipt, memory};
use clap::Args;
use serde_json::value::RawValue;

use super::{ServiceArgs, content, duration, key_value};
use crate::failure::{Failure, chain};
use crate::output::{Line, line};

/// How many messages may be unconfirmed at a time.
const UNCONFIRMED: usize = 1_000;

/// How long closing the producer may take after everything is confirmed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Publishes a message, or several alike, and prints their ids
///
/// Each id is printed on a line of its own when the broker has confirmed the message.
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The topic, such as orders or persistent://acme/shop/orders.
    topic: String,
    /// What the message is, such as urn:babel:orders:created.
    urn: String,
    /// The message's data, a JSON object: as text, from @FILE, or from standard input with -.
    #[arg(long, default_value = "{}", value_name = "JSON|@FILE|-")]
    data: String,
    /// Continues this trace; without it a new one begins.
    #[arg(long)]
    trace_id: Option<String>,
    /// Delivers after this time at the earliest, such as 500ms, 3s or 5m. Shared and key-shared
    /// subscriptions only.
    #[arg(long, value_parser = duration)]
    delay: Option<Duration>,
    /// The message key: messages of one key stay in order on a key-shared subscription.
    #[arg(long)]
    key: Option<String>,
    /// A property beside those of the contract, such as traceparent.
    #[arg(long, value_name = "KEY=VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// An entry of the envelope's meta.
    #[arg(long, value_name = "KEY=JSON", value_parser = meta)]
    meta: Vec<(String, Box<RawValue>)>,
    /// Publishes this many messages, each with an id of its own.
    #[arg(long, default_value_t = 1)]
    count: u64,
    #[command(flatten)]
    broker: ServiceArgs,
}

pub(crate) async fn run(args: PublishArgs) -> Result<ExitCode, Failure> {
    let cannot = format!("cannot publish to {}", args.topic);
    let data = Data::from_json(content(&args.data)?).map_err(|error| Failure::new(&cannot, &error))?;
    // A broker in memory refuses what no broker would be given, before one is dialled.
    let rehearsal = Publisher::new(memory::Broker::new().sink(&args.topic));
    let rehearsed = send(&args, &rehearsal, data.clone()).await;
    rehearsed.map_err(|error| Failure::new(&cannot, &error))?;
    let publisher = args.broker.pulsar()?.publisher(&args.topic).await?;
    let mut confirmed = 0;
    let published = publish(&args, &publisher, &data, &mut confirmed).await;
    publisher.sink().close(PATIENCE).await;
    match published {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Stopped::Output(failure)) => Err(failure),
        Err(Stopped::Publish(text)) if args.count > 1 => {
            let count = args.count;
            Err(Failure::text(format!(
                "{cannot} ({confirmed} of {count} are confirmed): {text}"
            )))
        }
        Err(Stopped::Publish(text)) => Err(Failure::text(format!("{cannot}: {text}"))),
    }
}

/// What ended the publishing before all was done.
enum Stopped {
    Publish(String),
    Output(Failure),
}

/// Keeps many messages under way, and prints the ids in the order of the sends.
async fn publish(
    args: &PublishArgs,
    publisher: &Publisher,
    data: &Data,
    confirmed: &mut u64,
) -> Result<(), Stopped> {
    let mut receipts = VecDeque::new();
    for _ in 0..args.count {
        if receipts.len() == UNCONFIRMED {
            confirm(&mut receipts, confirmed).await?;
        }
        receipts.push_back(send(args, publisher, data.clone()));
    }
    while !receipts.is_empty() {
        confirm(&mut receipts, confirmed).await?;
    }
    Ok(())
}

fn send<S: Sink>(args: &PublishArgs, publisher: &Publisher<S>, data: Data) -> Receipt<S::Receipt> {
    let mut publish = publisher
        .publish_data(&args.urn, data)
        .delay(args.delay.unwrap_or_default());
    if let Some(trace_id) = &args.trace_id {
        publish = publish.trace_id(trace_id);
    }
    if let Some(key) = &args.key {
        publish = publish.key(key);
    }
    for (key, value) in &args.header {
        publish = publish.header(key, value);
    }
    for (key, value) in &args.meta {
        publish = publish.meta(key, value);
    }
    publish.enqueue()
}

async fn confirm(receipts: &mut VecDeque<Receipt>, confirmed: &mut u64) -> Result<(), Stopped> {
    let Some(receipt) = receipts.pop_front() else {
        return Ok(());
    };
    let id = receipt.await.map_err(|error| Stopped::Publish(chain(&error)))?;
    *confirmed += 1;
    // Publishing is the work; that nobody reads the ids does not stop it.
    let (Line::Written | Line::Unread) = line(id.as_str()).map_err(Stopped::Output)?;
    Ok(())
}

fn header(text: &str) -> Result<(String, String), String> {
    let (key, value) = key_value(text)?;
    if key.starts_with("bq-") {
        return Err("properties that start with bq- belong to the contract".to_owned());
    }
    if value.is_empty() {
        return Err("the value is empty".to_owned());
    }
    Ok((key, value))
}

fn meta(text: &str) -> Result<(String, Box<RawValue>), String> {
    let (key, value) = key_value(text)?;
    // Checked by the rules of data first, which also finds numbers that no consumer can read.
    Data::from_json(&value).map_err(|error| error.to_string())?;
    let value = RawValue::from_string(value).map_err(|error| error.to_string())?;
    Ok((key, value))
}
