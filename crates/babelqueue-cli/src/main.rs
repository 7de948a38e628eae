//! `bqctl`, the command line of `BabelQueue` for Apache Pulsar. Nothing is decided here: every command calls
//! the library that a worker uses and prints what it says.
//!
//! | file | what it is for |
//! |---|---|
//! | `args.rs` | the command line as values |
//! | `commands/` | one file for each command |
//! | `failure.rs` | what ends a command early, as the one sentence the user reads |
//! | `json.rs` | JSON texts as texts, so that no number changes |
//! | `output.rs` | lines on standard output, whose reader may leave at any time |

mod args;
mod commands;
mod failure;
mod json;
mod output;

use std::env::var_os;
use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::runtime::Runtime;
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    log(args.command.log_level());
    match run(args) {
        Ok(code) => code,
        Err(failure) => {
            // There is nobody left to tell when standard error is gone.
            let _ = writeln!(stderr(), "bqctl: {failure}");
            failure.code()
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Failure> {
    let runtime = Runtime::new().map_err(|error| Failure::new("cannot start", &error))?;
    let result = runtime.block_on(commands::run(args.command));
    // A write to a reader that does not read would hold the end up.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

/// The log goes to standard error; `RUST_LOG` says how much of it.
fn log(level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .compact()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal() && var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
        // It would be told on standard error, which is what failed.
        .log_internal_errors(false)
        .init();
}
