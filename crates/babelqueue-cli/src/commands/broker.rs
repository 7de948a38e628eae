//! `bqctl broker`: a broker for a laptop, in this process.

use std::error::Error;
use std::io::{IsTerminal, Write, stderr};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use pulsar_devbroker::{Counters, DevBroker, StartError, Summary};
use tokio::time::{MissedTickBehavior, interval};

use super::duration;
use super::stop::Signals;
use crate::failure::{Failure, chain};
use crate::output::{Line, complain, line};

/// Runs a broker for development and tests
///
/// Pulsar clients of any language can connect to it. Everything is in memory and gone when it ends.
/// It has no authentication, no TLS and no transactions. Production is Apache Pulsar.
///
/// The service URL goes to standard output. On a terminal a line of figures follows. An interrupt
/// ends it.
#[derive(Debug, Args)]
pub(crate) struct BrokerArgs {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 6650)]
    port: u16,
    /// The address to listen on. With 0.0.0.0 other machines can reach it, and nothing keeps them
    /// out.
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    listen: IpAddr,
    /// Makes a topic with partitions, such as orders=4.
    #[arg(long, value_name = "TOPIC=NUMBER", value_parser = partitioned)]
    partitioned: Vec<(String, u32)>,
    /// A namespace beside public/default, such as acme/shop.
    #[arg(long, value_name = "NAME")]
    namespace: Vec<String>,
    /// Acknowledgements of single members of a batch have an effect.
    #[arg(long)]
    batch_index_acks: bool,
    /// Messages whose sequence id their producer has used are dropped.
    #[arg(long)]
    deduplication: bool,
    /// Delayed messages never come early; otherwise they may, by up to a second.
    #[arg(long)]
    strict_delay: bool,
    /// How long a failover subscription waits before another consumer takes over, such as 500ms.
    #[arg(long, default_value = "1s", value_parser = duration)]
    failover_delay: Duration,
    /// The largest message in bytes.
    #[arg(long, default_value_t = 5 * 1024 * 1024, value_name = "BYTES", value_parser = value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    max_message_size: u32,
}

pub(crate) async fn run(args: BrokerArgs) -> Result<ExitCode, Failure> {
    // First, so that a signal during the start is not lost.
    let signals = Signals::new()?;
    let broker = builder(&args)
        .start()
        .await
        .map_err(|error| not_started(&args, &error))?;
    complain(
        "a broker for development and tests, in memory: all is gone when it ends; production is Apache Pulsar",
    );
    // Whether somebody reads that or not, it runs.
    let (Line::Written | Line::Unread) = line(&broker.url())?;
    if stderr().is_terminal() {
        tokio::select! {
            () = show_figures(&broker) => {}
            () = signals.seen(1) => {}
        }
        show("");
    } else {
        signals.seen(1).await;
    }
    broker.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

fn builder(args: &BrokerArgs) -> pulsar_devbroker::Builder {
    let mut builder = DevBroker::builder()
        .port(args.port)
        .listen(args.listen)
        .batch_index_acks(args.batch_index_acks)
        .deduplication(args.deduplication)
        .strict_delay(args.strict_delay)
        .failover_delay(args.failover_delay)
        .max_message_size(args.max_message_size as usize);
    for name in &args.namespace {
        builder = builder.namespace(name);
    }
    for (topic, partitions) in &args.partitioned {
        builder = builder.partitioned(topic, *partitions);
    }
    builder
}

fn not_started(args: &BrokerArgs, error: &StartError) -> Failure {
    if error.is_address_in_use() {
        let port = args.port;
        return Failure::text(format!(
            "cannot listen on port {port}: something else does; choose another with --port"
        ));
    }
    let cause = error.source().map_or_else(|| error.to_string(), chain);
    Failure::text(format!(
        "cannot start on {}: {cause}",
        SocketAddr::new(args.listen, args.port)
    ))
}

/// A line of figures a second, always the same one.
async fn show_figures(broker: &DevBroker) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    seconds.tick().await;
    let (mut before, mut then) = (broker.counters(), Instant::now());
    loop {
        seconds.tick().await;
        let (counters, now) = (broker.counters(), Instant::now());
        show(&figures(broker.summary(), before, counters, now - then));
        (before, then) = (counters, now);
    }
}

fn figures(summary: Summary, before: Counters, now: Counters, passed: Duration) -> String {
    let rate = |before: u64, now: u64| (now - before) as f64 / passed.as_secs_f64();
    let Summary {
        topics,
        subscriptions,
        backlog,
        ..
    } = summary;
    format!(
        "topics {topics}, subscriptions {subscriptions}, backlog {backlog}, in {:.0}/s, out {:.0}/s",
        rate(before.published_messages, now.published_messages),
        rate(before.delivered_messages, now.delivered_messages),
    )
}

/// Takes the place of the line before; what is logged meanwhile takes its place. A narrow terminal
/// shows its beginning: of a line that wraps, only the end could be replaced.
fn show(text: &str) {
    let mut out = stderr().lock();
    // Nobody is left to tell when standard error is gone.
    let _ = write!(out, "\x1b[2K\x1b[?7l{text}\x1b[?7h\r").and_then(|()| out.flush());
}

/// Splits `TOPIC=NUMBER`; for clap.
fn partitioned(text: &str) -> Result<(String, u32), String> {
    let parts = text.rsplit_once('=').filter(|(topic, _)| !topic.is_empty());
    let (topic, number) = parts.ok_or("expected TOPIC=NUMBER")?;
    match number.parse() {
        Ok(partitions @ 1..) => Ok((topic.to_owned(), partitions)),
        _ => Err(format!(
            "expected a number of partitions behind the =, not '{number}'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_time_that_passed() {
        let (before, mut now) = (Counters::default(), Counters::default());
        now.published_messages = 100;
        now.delivered_messages = 50;
        let text = figures(Summary::default(), before, now, Duration::from_secs(2));
        assert_eq!(text, "topics 0, subscriptions 0, backlog 0, in 50/s, out 25/s");
    }
}
