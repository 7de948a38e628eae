//! The command line as values.

use clap::{Parser, Subcommand};

use crate::commands::broker::BrokerArgs;
use crate::commands::conformance::ConformanceArgs;
use crate::commands::consume::ConsumeArgs;
use crate::commands::inspect::InspectArgs;
use crate::commands::publish::PublishArgs;

/// Works with the queues of BabelQueue on Apache Pulsar.
///
/// Results go to standard output, one a line; everything else goes to standard error.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage.
///
/// The broker is named by --url or PULSAR_URL; TLS and credentials come from flags, PULSAR_... variables or
/// a client.conf, as the help of publish and consume says. RUST_LOG sets the log level (such as debug, or
/// pulsar_tokio=trace).
#[derive(Debug, Parser)]
#[command(name = "bqctl", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Publish(PublishArgs),
    Consume(ConsumeArgs),
    Inspect(InspectArgs),
    Conformance(ConformanceArgs),
    Broker(BrokerArgs),
}

impl Command {
    /// What is logged when `RUST_LOG` says nothing. The output of an inspection already says what its
    /// consumer would log.
    pub(crate) fn log_level(&self) -> &'static str {
        match self {
            Self::Publish(_) | Self::Consume(_) | Self::Broker(_) => "warn",
            Self::Inspect(_) | Self::Conformance(_) => "error",
        }
    }
}
