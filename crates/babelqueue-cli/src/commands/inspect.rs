//! `bqctl inspect`: what a consumer would do with a delivery, found out by letting one do it.

mod answer;
mod line;
mod options;

use std::io::{BufRead, stdin};
use std::process::ExitCode;

use babelqueue_pulsar::inspect::Inspection;
use babelqueue_pulsar::{Body, BuildError, Clock, Delivery, Properties, inspect, short_name};
use bytes::Bytes;
use clap::Args;

use self::line::Input;
use self::options::{Context, ContextArgs};
use super::{content, key_value};
use crate::failure::{Failure, chain, one_line};
use crate::output::{Line, complain, line};

/// Tells what a consumer would do with a delivery, and why
///
/// The delivery runs through the consumer that workers use; nothing is sent anywhere.
///
/// With --jsonl many deliveries are read from standard input, a JSON object a line, and a JSON object a
/// line is printed for each: id (as given), body_base64, properties (text to text), redelivery_count, and
/// context with any of handlers, handler, max_attempts, dlq, on_unknown_urn, on_routing_mismatch, retry,
/// subscription_type and topic, in place of what the options say. A line that cannot be read is told on
/// standard error with its number; the rest goes on, and the exit code is 1 in the end.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The message's body: as text, from @FILE, or from standard input with -.
    #[arg(long, value_name = "TEXT|@FILE|-", required_unless_present = "jsonl")]
    body: Option<String>,
    /// A property of the message, such as bq-attempts=1.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    property: Vec<(String, String)>,
    /// How often the broker has delivered the message before.
    #[arg(long, default_value_t = 0)]
    redelivery_count: u32,
    /// Reads deliveries from standard input, one a line, and prints one answer a line.
    #[arg(long, conflicts_with_all = ["body", "property", "redelivery_count"])]
    jsonl: bool,
    /// Takes this as the time, in Unix milliseconds, so that the output can be repeated.
    #[arg(long)]
    now_ms: Option<i64>,
    #[command(flatten)]
    context: ContextArgs,
}

pub(crate) async fn run(args: InspectArgs) -> Result<ExitCode, Failure> {
    let clock = args.now_ms.map_or(Clock::System, Clock::Fixed);
    match &args.body {
        Some(body) => {
            let body = content(body)?;
            one(body, &args, clock).await
        }
        None => many(&args.context.context(), clock).await,
    }
}

async fn one(body: Vec<u8>, args: &InspectArgs, clock: Clock) -> Result<ExitCode, Failure> {
    let mut properties = Properties::new();
    for (key, value) in &args.property {
        properties.set(key.clone(), value.clone());
    }
    let context = args.context.context();
    let inspection = inspected(body.into(), properties, args.redelivery_count, &context, clock).await;
    let inspection = inspection.map_err(|error| Failure::new("cannot inspect", &error))?;
    // Who does not read the answer needs none.
    let (Line::Written | Line::Unread) = line(&answer::text(&inspection, &context))?;
    Ok(ExitCode::SUCCESS)
}

async fn many(defaults: &Context, clock: Clock) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    let mut input = stdin().lock();
    let mut text = Vec::new();
    for number in 1_u64.. {
        text.clear();
        let read = input.read_until(b'\n', &mut text);
        if read.map_err(|error| Failure::new("cannot read standard input", &error))? == 0 {
            break;
        }
        match answered(&text, defaults, clock).await {
            Ok(answer) => {
                if line(&answer)? == Line::Unread {
                    break;
                }
            }
            Err(problem) => {
                complain(&format!("cannot inspect line {number}: {}", one_line(&problem)));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

async fn answered(text: &[u8], defaults: &Context, clock: Clock) -> Result<String, String> {
    let input = Input::parse(text, defaults)?;
    let inspection = inspected(
        input.body,
        input.properties,
        input.redelivery_count,
        &input.context,
        clock,
    )
    .await
    .map_err(|error| chain(&error))?;
    line::output(input.id.as_deref(), &inspection, &input.context).map_err(|error| chain(&error))
}

async fn inspected(
    body: Bytes,
    properties: Properties,
    redelivery_count: u32,
    context: &Context,
    clock: Clock,
) -> Result<Inspection, BuildError> {
    let delivery = Delivery {
        body: Body::Bytes(body),
        properties,
        redelivery_count,
        queue: short_name(&context.topic).into(),
    };
    inspect::inspect(delivery, &context.options(clock)).await
}
