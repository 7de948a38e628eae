//! What a consumer would do with a delivery, found out by letting a real one do it: with a transport and
//! hooks that only take notes.

mod inspection;
mod recorder;

use std::sync::{Arc, Mutex, PoisonError};

use babelqueue_core::{Delivery, Destination, Plan, Refusal};

use self::recorder::{Notes, Recorder};
use crate::clock::Clock;
use crate::consumer::{BuildError, Consumer, ConsumerBuilder, ConsumerErrorKind};
use crate::failure::Failure;
use crate::message::{Message, MessageParts};
use crate::transport::{Capabilities, Received, Redelivery};

pub use inspection::{Action, Finish, Inspection, Reason, Verdict};

/// The consumer to inspect with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InspectOptions {
    /// The URNs that have a handler.
    pub handlers: Vec<String>,
    /// What every handler does.
    pub handler: Behaviour,
    /// Deliveries in total, the first included.
    pub max_attempts: u32,
    /// Whether there is a dead-letter producer.
    pub dead_letter: bool,
    /// Whether a retry can be published.
    pub retry: bool,
    /// What a negative acknowledgement does.
    pub redelivery: Redelivery,
    /// What the `on_unknown_urn` hook does, if there is one.
    pub on_unknown_urn: Option<Behaviour>,
    /// What the `on_routing_mismatch` hook does.
    pub on_routing_mismatch: Behaviour,
    /// Where the time in records comes from.
    pub clock: Clock,
}

impl Default for InspectOptions {
    fn default() -> Self {
        Self {
            handlers: Vec::new(),
            handler: Behaviour::Ok,
            max_attempts: 3,
            dead_letter: true,
            retry: true,
            redelivery: Redelivery::Counted,
            on_unknown_urn: None,
            on_routing_mismatch: Behaviour::Ok,
            clock: Clock::System,
        }
    }
}

/// What a handler or hook does when it is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// It succeeds.
    #[default]
    Ok,
    /// It returns an error.
    Fail,
    /// It panics.
    Panic,
}

/// Lets a consumer with these options handle the delivery and tells what it did. Nothing is sent anywhere.
///
/// It logs what the consumer would log.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use babelqueue::inspect::{InspectOptions, Verdict, inspect};
/// use babelqueue::{Body, Delivery, Properties};
///
/// let delivery = Delivery {
///     body: Body::Bytes("not an envelope".into()),
///     properties: Properties::new(),
///     redelivery_count: 0,
///     queue: "orders".into(),
/// };
/// let inspection = inspect(delivery, &InspectOptions::default()).await?;
/// assert_eq!(inspection.verdict, Verdict::Poison);
/// # Ok(()) }
/// ```
///
/// # Errors
/// When no consumer can be built with the options.
///
/// # Cancel safety
/// Nothing is changed by it, so nothing is lost by dropping it.
pub async fn inspect(delivery: Delivery, options: &InspectOptions) -> Result<Inspection, BuildError> {
    let notes = Arc::new(Mutex::new(Notes::default()));
    let capabilities = Capabilities::new(options.redelivery)
        .with_retry(options.retry)
        .with_dead_letter(options.dead_letter);
    let consumer = consumer(options, &notes).build(Recorder {
        notes: Arc::clone(&notes),
        capabilities,
    })?;
    let mut inspection = planned(&consumer.plan(&delivery));
    // The recorder confirms everything.
    let _ = consumer.handle(&received(delivery)).await;
    let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
    notes.complete(&mut inspection);
    Ok(inspection)
}

fn consumer(options: &InspectOptions, notes: &Arc<Mutex<Notes>>) -> ConsumerBuilder {
    let note = |hook: &'static str| {
        let notes = Arc::clone(notes);
        move || {
            notes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .hooks
                .push(hook)
        }
    };
    let (mismatched, unknown) = (note("on_routing_mismatch"), note("on_unknown_urn"));
    let errors = Arc::clone(notes);
    let (handler, on_routing_mismatch) = (options.handler, options.on_routing_mismatch);
    let mut builder = Consumer::builder()
        .max_attempts(options.max_attempts)
        .clock(options.clock)
        .on_error(move |error, envelope, _| {
            errors
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .error(error, envelope.is_some());
        })
        .on_routing_mismatch(move |_, _, _, _| {
            mismatched();
            // A synchronous hook has no other way to fail.
            if on_routing_mismatch != Behaviour::Ok {
                on_routing_mismatch.panic();
            }
        });
    if let Some(behaviour) = options.on_unknown_urn {
        builder = builder.on_unknown_urn(move |_, _| {
            unknown();
            async move { behaviour.act() }
        });
    }
    for urn in &options.handlers {
        builder = builder.handler(urn, move |_, _| async move { handler.act() });
    }
    builder
}

impl Behaviour {
    fn act(self) -> Result<(), Failure> {
        match self {
            Self::Ok => Ok(()),
            Self::Fail => Err(Failure::new("handler failed")),
            Self::Panic => self.panic(),
        }
    }

    /// Unwinds without the panic hook, which would write to standard error.
    fn panic(self) -> ! {
        std::panic::resume_unwind(Box::new("panicked"))
    }
}

fn received(delivery: Delivery) -> Received<()> {
    let message = Message::new(MessageParts {
        topic: Arc::clone(&delivery.queue),
        properties: delivery.properties.clone(),
        redelivery_count: delivery.redelivery_count,
        ..MessageParts::default()
    });
    Received {
        delivery,
        message,
        origin: (),
    }
}

/// What the plan alone tells; the rest is filled in from the notes.
fn planned(plan: &Plan) -> Inspection {
    let mut inspection = Inspection {
        verdict: Verdict::Handle,
        action: Action::Ack,
        cause: None,
        reason: None,
        route: None,
        mismatch: None,
        attempts: None,
        counted: None,
        hooks: Vec::new(),
        on_error_envelope: None,
        published: None,
        finish: Finish::Ack,
        warnings: Vec::new(),
    };
    match plan {
        Plan::Dispatch(work) => {
            inspection.route = Some(work.route().to_owned());
            inspection.mismatch = work
                .mismatch()
                .map(|(property, body)| (property.into(), body.into()));
            inspection.attempts = Some(work.attempts());
            inspection.counted = Some(work.counted());
            inspection.warnings = work
                .envelope()
                .warnings()
                .map(|warning| warning.pointer().into())
                .collect();
        }
        Plan::Refuse(Refusal::Poison(poison)) => inspection.counted = Some(poison.counted()),
        Plan::Refuse(Refusal::Gated(_)) => {}
    }
    inspection
}

impl Notes {
    fn complete(self, inspection: &mut Inspection) {
        inspection.action = self.action();
        inspection.reason = self.reason();
        inspection.verdict = self.verdict(inspection.action, inspection.reason);
        inspection.finish = if self.nacked { Finish::Nack } else { Finish::Ack };
        inspection.on_error_envelope = self.error.as_ref().map(|error| error.envelope);
        inspection.cause = self.error.map(|error| error.text);
        inspection.hooks = self.hooks;
        inspection.published = self.published;
    }

    fn action(&self) -> Action {
        match &self.published {
            Some(outgoing) if outgoing.target == Destination::WorkTopic => Action::Retry,
            Some(_) => Action::DeadLetter,
            None if self.nacked => Action::Nack,
            None if self.error.is_some() => Action::Drop,
            None => Action::Ack,
        }
    }

    fn reason(&self) -> Option<Reason> {
        match self.error.as_ref()?.kind {
            ConsumerErrorKind::UnsupportedSchemaVersion => Some(Reason::Version),
            ConsumerErrorKind::Poison => Some(Reason::Poison),
            ConsumerErrorKind::UnknownUrn => Some(Reason::UnknownUrn),
            _ => Some(Reason::Failed),
        }
    }

    fn verdict(&self, action: Action, reason: Option<Reason>) -> Verdict {
        match (reason, action) {
            (Some(Reason::Poison), _) => Verdict::Poison,
            (Some(Reason::Version), _) => Verdict::Gated,
            (_, Action::Retry) => Verdict::Retry,
            (_, Action::DeadLetter) => Verdict::DeadLetter,
            (_, Action::Drop) => Verdict::Drop,
            (_, Action::Nack) => Verdict::Nack,
            (_, Action::Ack) if self.hooks.contains(&"on_unknown_urn") => Verdict::UnknownHook,
            (_, Action::Ack) => Verdict::Handle,
        }
    }
}
