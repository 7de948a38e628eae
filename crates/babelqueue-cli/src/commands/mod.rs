//! One file for each command, and what those that need a broker share.

pub(crate) mod broker;
pub(crate) mod conformance;
pub(crate) mod consume;
pub(crate) mod inspect;
pub(crate) mod publish;
mod service;
mod stop;

use std::io::{Read, stdin};
use std::process::ExitCode;
use std::time::Duration;

use babelqueue_pulsar::SubscriptionType;
use clap::ValueEnum;

use self::service::ServiceArgs;
use crate::args::Command;
use crate::failure::Failure;

pub(crate) async fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Publish(args) => publish::run(args).await,
        Command::Consume(args) => consume::run(args).await,
        Command::Inspect(args) => inspect::run(args).await,
        Command::Conformance(args) => conformance::run(args).await,
        Command::Broker(args) => broker::run(args).await,
    }
}

/// How messages are divided among the consumers of a subscription.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TypeArg {
    /// Any consumer gets any message.
    Shared,
    /// There is one consumer.
    Exclusive,
    /// One consumer gets everything, the others wait for its end.
    Failover,
    /// Messages of one key go to one consumer.
    KeyShared,
}

impl From<TypeArg> for SubscriptionType {
    fn from(arg: TypeArg) -> Self {
        match arg {
            TypeArg::Shared => Self::Shared,
            TypeArg::Exclusive => Self::Exclusive,
            TypeArg::Failover => Self::Failover,
            TypeArg::KeyShared => Self::KeyShared,
        }
    }
}

/// The content of an argument that is the text itself, `@file`, or `-` for standard input.
fn content(argument: &str) -> Result<Vec<u8>, Failure> {
    match argument.strip_prefix('@') {
        Some(file) => {
            std::fs::read(file).map_err(|error| Failure::new(format!("cannot read {file}"), &error))
        }
        None if argument == "-" => {
            let mut content = Vec::new();
            let read = stdin().lock().read_to_end(&mut content);
            read.map_err(|error| Failure::new("cannot read standard input", &error))?;
            Ok(content)
        }
        None => Ok(argument.as_bytes().to_vec()),
    }
}

/// Splits `KEY=VALUE`; for clap.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// A whole number with a unit.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits
        .parse()
        .map_err(|_| "expected a time such as 500ms, 3s, 5m or 2h".to_owned())?;
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    let duration = match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(60 * 60),
        "d" => seconds(24 * 60 * 60),
        "" => return Err("the unit is missing: ms, s, m, h or d".to_owned()),
        unit => return Err(format!("unknown unit {unit:?}: use ms, s, m, h or d")),
    };
    duration.ok_or_else(|| "the time is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("3s"), Ok(Duration::from_secs(3)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "5",
            "s",
            "1.5s",
            "-1s",
            "5 s",
            "5y",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
