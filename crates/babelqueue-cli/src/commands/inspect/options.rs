//! The consumer to inspect with, as options and as the `context` of a line.

use babelqueue::Redelivery;
use babelqueue_pulsar::inspect::{Behaviour, InspectOptions};
use babelqueue_pulsar::{Clock, SubscriptionType};
use clap::{ArgAction, Args, ValueEnum};
use serde::Deserialize;

use crate::commands::TypeArg;

/// The consumer to inspect with.
#[derive(Debug, Args)]
#[command(next_help_heading = "The consumer")]
pub(super) struct ContextArgs {
    /// The URNs that have a handler.
    #[arg(
        long,
        value_name = "URN,...",
        value_delimiter = ',',
        default_value = "urn:babel:orders:created,urn:babel:orders:paid"
    )]
    handlers: Vec<String>,
    /// What a handler does.
    #[arg(long, value_enum, default_value_t = Does::Ok)]
    handler: Does,
    /// Deliveries of a message in total, the first included.
    #[arg(long, default_value_t = 3)]
    max_attempts: u32,
    /// There is no dead-letter producer.
    #[arg(long = "no-dlq", action = ArgAction::SetFalse)]
    dlq: bool,
    /// There is no retry producer: what failed is given back.
    #[arg(long = "no-retry", action = ArgAction::SetFalse)]
    retry: bool,
    /// There is a hook for URNs without a handler; it does this.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "ok")]
    on_unknown_urn: Option<Does>,
    /// What the hook does that is told when property and body name different URNs.
    #[arg(long, value_enum, default_value_t = Does::Ok)]
    on_routing_mismatch: Does,
    /// How the subscription divides its messages.
    #[arg(long, value_enum, default_value_t = TypeArg::Shared)]
    subscription_type: TypeArg,
    /// The topic that is consumed.
    #[arg(long, default_value = "orders")]
    topic: String,
}

/// What a handler or a hook does.
#[derive(Clone, Copy, Debug, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Does {
    /// It succeeds.
    Ok,
    /// It fails.
    Throw,
    /// It panics.
    Panic,
}

impl From<Does> for Behaviour {
    fn from(does: Does) -> Self {
        match does {
            Does::Ok => Self::Ok,
            Does::Throw => Self::Fail,
            Does::Panic => Self::Panic,
        }
    }
}

/// The consumer to inspect with, once it is known.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) topic: String,
    pub(super) max_attempts: u32,
    handlers: Vec<String>,
    handler: Does,
    dlq: bool,
    retry: bool,
    on_unknown_urn: Option<Does>,
    on_routing_mismatch: Does,
    subscription_type: SubscriptionType,
}

impl ContextArgs {
    pub(super) fn context(&self) -> Context {
        Context {
            topic: self.topic.clone(),
            max_attempts: self.max_attempts,
            handlers: self.handlers.clone(),
            handler: self.handler,
            dlq: self.dlq,
            retry: self.retry,
            on_unknown_urn: self.on_unknown_urn,
            on_routing_mismatch: self.on_routing_mismatch,
            subscription_type: self.subscription_type.into(),
        }
    }
}

/// The `context` of a line; what it leaves out is as the options say.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LineContext {
    handlers: Option<Vec<String>>,
    handler: Option<Does>,
    max_attempts: Option<u32>,
    dlq: Option<bool>,
    retry: Option<bool>,
    on_unknown_urn: Option<bool>,
    on_routing_mismatch: Option<Does>,
    subscription_type: Option<LineType>,
    topic: Option<String>,
}

/// A subscription type in Pulsar's own words.
#[derive(Clone, Copy, Debug, Deserialize)]
enum LineType {
    Shared,
    Exclusive,
    Failover,
    #[serde(rename = "Key_Shared")]
    KeyShared,
}

impl From<LineType> for SubscriptionType {
    fn from(line: LineType) -> Self {
        match line {
            LineType::Shared => Self::Shared,
            LineType::Exclusive => Self::Exclusive,
            LineType::Failover => Self::Failover,
            LineType::KeyShared => Self::KeyShared,
        }
    }
}

impl LineContext {
    pub(super) fn over(self, defaults: &Context) -> Context {
        let defaults = defaults.clone();
        Context {
            topic: self.topic.unwrap_or(defaults.topic),
            max_attempts: self.max_attempts.unwrap_or(defaults.max_attempts),
            handlers: self.handlers.unwrap_or(defaults.handlers),
            handler: self.handler.unwrap_or(defaults.handler),
            dlq: self.dlq.unwrap_or(defaults.dlq),
            retry: self.retry.unwrap_or(defaults.retry),
            on_unknown_urn: match self.on_unknown_urn {
                Some(true) => Some(defaults.on_unknown_urn.unwrap_or(Does::Ok)),
                Some(false) => None,
                None => defaults.on_unknown_urn,
            },
            on_routing_mismatch: self.on_routing_mismatch.unwrap_or(defaults.on_routing_mismatch),
            subscription_type: self
                .subscription_type
                .map_or(defaults.subscription_type, Into::into),
        }
    }
}

impl Context {
    pub(super) fn options(&self, clock: Clock) -> InspectOptions {
        let mut options = InspectOptions::default();
        options.handlers.clone_from(&self.handlers);
        options.handler = self.handler.into();
        options.max_attempts = self.max_attempts;
        options.dead_letter = self.dlq;
        options.retry = self.retry;
        options.redelivery = if self.subscription_type.redelivers_singly() {
            Redelivery::Counted
        } else {
            Redelivery::Rewind
        };
        options.on_unknown_urn = self.on_unknown_urn.map(Into::into);
        options.on_routing_mismatch = self.on_routing_mismatch.into();
        options.clock = clock;
        options
    }
}
