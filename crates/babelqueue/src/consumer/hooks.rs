//! The user's hooks, called so that a panic in one changes nothing (`pulsar-binding.md` section 7).

use babelqueue_core::Envelope;
use tracing::{debug, error};

use super::LOG;
use super::error::ConsumerError;
use crate::handler::{Handler, catch};
use crate::message::Message;

type OnError = dyn Fn(&ConsumerError, Option<&Envelope>, Option<&Message>) + Send + Sync;
type OnRoutingMismatch = dyn Fn(&str, &str, &Envelope, &Message) + Send + Sync;

#[derive(Default)]
pub(super) struct Hooks {
    pub(super) on_error: Option<Box<OnError>>,
    pub(super) on_unknown_urn: Option<Handler>,
    pub(super) on_routing_mismatch: Option<Box<OnRoutingMismatch>>,
}

impl Hooks {
    pub(super) fn error(
        &self,
        error: &ConsumerError,
        envelope: Option<&Envelope>,
        message: Option<&Message>,
    ) {
        let Some(hook) = &self.on_error else { return };
        if let Err(panic) = catch(|| hook(error, envelope, message)) {
            error!(target: LOG, hook = "on_error", error = panic.error, "hook failed");
        }
    }

    pub(super) fn routing_mismatch(
        &self,
        property: &str,
        body: &str,
        envelope: &Envelope,
        message: &Message,
    ) {
        let Some(hook) = &self.on_routing_mismatch else {
            return;
        };
        if let Err(panic) = catch(|| hook(property, body, envelope, message)) {
            debug!(target: LOG, hook = "on_routing_mismatch", error = panic.error, "hook failed");
        }
    }
}
