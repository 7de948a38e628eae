//! `bqctl consume`: a worker whose handler prints, or runs a command.

mod exec;

use std::future::pending;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use babelqueue_pulsar::{
    Consumer, ConsumerBuilder, ConsumerError, ConsumerErrorKind, Envelope, Failure as Failed,
    InitialPosition, Message,
};
use clap::{Args, ValueEnum, value_parser};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{spawn_blocking, yield_now};

use super::stop::{self, Signals};
use super::{ServiceArgs, TypeArg};
use crate::failure::{Failure, chain, one_line};
use crate::json::compact;
use crate::output::{Line, complain, line};

/// Prints the messages of a subscription, or hands each to a command
///
/// A message is acknowledged when its line is written, or when the command has ended with exit status 0.
/// Every other end of the command is a failure: the message is published again with its attempts raised,
/// until --max-attempts deliveries are used up. What no handler may see (poison, an unknown schema
/// version) never comes here. What went wrong is told on standard error, one line each.
///
/// Ctrl-C and SIGTERM end it after the message in hand, with all acknowledgements confirmed and exit code
/// 0; a second one ends it at once, and the message in hand comes again.
#[derive(Debug, Args)]
pub(crate) struct ConsumeArgs {
    /// The topic, such as orders or persistent://acme/shop/orders.
    topic: String,
    /// The subscription's name; it is made if there is none.
    #[arg(long)]
    subscription: String,
    /// How the subscription divides its messages.
    #[arg(long = "type", value_enum, default_value_t = TypeArg::Shared)]
    subscription_type: TypeArg,
    /// Where a new subscription begins. As everywhere in Pulsar the default is latest: what was
    /// published before the subscription was made is not seen.
    #[arg(long, value_enum, default_value_t = PositionArg::Latest)]
    from: PositionArg,
    /// Deliveries of a message in total, the first included.
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    max_attempts: u32,
    /// Writes exhausted and poison messages to TOPIC.dlq instead of dropping them with a log line.
    #[arg(long)]
    dead_letter: bool,
    /// Ends after this many messages were printed or handed to the command, tries again included.
    #[arg(long)]
    limit: Option<NonZeroU64>,
    /// Runs this command by sh -c for each message, with the envelope on its standard input.
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    #[command(flatten)]
    broker: ServiceArgs,
}

/// Where a new subscription begins.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PositionArg {
    /// With the oldest message that is kept.
    Earliest,
    /// With what is published from now on.
    Latest,
}

pub(crate) async fn run(args: ConsumeArgs) -> Result<ExitCode, Failure> {
    let (lost, losses) = mpsc::unbounded_channel();
    let worker = Arc::new(Worker {
        exec: args.exec.clone(),
        limit: args.limit.map(NonZeroU64::get),
        taken: AtomicU64::new(0),
        full: Notify::new(),
        lost,
    });
    let consumer = open(&args, &worker).await?;
    let ended = work(&consumer, &worker, losses).await;
    let closed = consumer.close().await;
    ended?;
    closed.map_err(|error| Failure::new("cannot close the subscription", &error))?;
    Ok(ExitCode::SUCCESS)
}

async fn open(args: &ConsumeArgs, worker: &Arc<Worker>) -> Result<Consumer, Failure> {
    let mut subscription = args
        .broker
        .pulsar()?
        .subscription(&args.topic, &args.subscription)
        .subscription_type(args.subscription_type.into())
        .initial_position(match args.from {
            PositionArg::Earliest => InitialPosition::Earliest,
            PositionArg::Latest => InitialPosition::Latest,
        });
    if let Some(limit) = args.limit {
        // Others on the subscription get what would only wait here.
        subscription =
            subscription.receive_window(u32::try_from(limit.get()).map_or(1_000, |limit| limit.min(1_000)));
    }
    if args.dead_letter {
        subscription = subscription.dead_letters();
    }
    Ok(subscription.open(builder(args, worker)).await?)
}

/// The hook for URNs without a handler is the handler of all: it is acknowledged and failed like one.
fn builder(args: &ConsumeArgs, worker: &Arc<Worker>) -> ConsumerBuilder {
    let worker = Arc::clone(worker);
    Consumer::builder()
        .max_attempts(args.max_attempts)
        .on_unknown_urn(move |envelope, _| {
            let worker = Arc::clone(&worker);
            async move { worker.take(&envelope).await }
        })
        .on_error(|error, _, message| tell(error, message))
}

/// Runs until the limit is reached, a signal comes, or nobody reads the output any more.
async fn work(
    consumer: &Consumer,
    worker: &Worker,
    mut losses: UnboundedReceiver<Result<(), Failure>>,
) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let until = async {
        tokio::select! {
            () = worker.full.notified() => {}
            () = stop::output_closed(), if worker.exec.is_none() => {}
            () = signals.seen(1) => {}
        }
    };
    tokio::select! {
        () = consumer.run(until) => Ok(()),
        Some(loss) = losses.recv() => loss,
        () = signals.seen(2) => Err(Failure::text(
            "cannot finish the message in hand: stopped by a second signal; it comes again",
        )),
    }
}

/// What the handler of all messages works with.
struct Worker {
    exec: Option<String>,
    limit: Option<u64>,
    taken: AtomicU64,
    /// Told when the limit is reached.
    full: Notify,
    /// Told when a line could not be written: quietly when only its reader has left.
    lost: UnboundedSender<Result<(), Failure>>,
}

impl Worker {
    async fn take(&self, envelope: &Envelope) -> Result<(), Failed> {
        let text = compact(std::str::from_utf8(&envelope.encode()?)?);
        let result = match &self.exec {
            Some(command) => exec::run(command, &text).await,
            None => self.print(text).await,
        };
        let taken = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        if self.limit.is_some_and(|limit| taken >= limit) {
            self.full.notify_one();
            // Lets the loop see it before it takes the next message.
            yield_now().await;
        }
        result
    }

    /// Returns only when the line is written, because the message is acknowledged then.
    async fn print(&self, text: String) -> Result<(), Failed> {
        // A reader that does not read must not hold the connection up.
        let lost = match spawn_blocking(move || line(&text)).await? {
            Ok(Line::Written) => return Ok(()),
            Ok(Line::Unread) => Ok(()),
            Err(failure) => Err(failure),
        };
        // Ends the command while this message is unsettled.
        let _ = self.lost.send(lost);
        pending().await
    }
}

/// One line about what went wrong with a delivery, unless the log has it.
fn tell(error: &ConsumerError, message: Option<&Message>) {
    let what = match error.kind() {
        ConsumerErrorKind::Poison => "poison: ",
        ConsumerErrorKind::HandlerFailed => "failed: ",
        ConsumerErrorKind::UnknownUrn => "",
        _ => return,
    };
    let text = one_line(&chain(error));
    if let Some(message) = message {
        complain(&format!(
            "message {} on {}: {what}{text}",
            message.id(),
            message.topic()
        ));
    }
}
