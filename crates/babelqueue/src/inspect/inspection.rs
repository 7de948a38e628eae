//! The answer of an inspection, in the words of the decision table.

use babelqueue_core::Outgoing;

/// What the consumer did with the delivery.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// What kind of ending it was.
    pub verdict: Verdict,
    /// What the settlement did.
    pub action: Action,
    /// What went wrong, as `on_error` was told.
    pub cause: Option<String>,
    /// Why it was not handled.
    pub reason: Option<Reason>,
    /// The URN that was looked up.
    pub route: Option<String>,
    /// The URN of the property and the URN of the body, where they differ.
    pub mismatch: Option<(String, String)>,
    /// The attempts that a handler sees.
    pub attempts: Option<i64>,
    /// The counted attempt.
    pub counted: Option<i64>,
    /// The hooks in the order of their calls.
    pub hooks: Vec<&'static str>,
    /// Whether `on_error` was given an envelope; none when it was not called.
    pub on_error_envelope: Option<bool>,
    /// The record that was written.
    pub published: Option<Outgoing>,
    /// How the delivery was finished.
    pub finish: Finish,
    /// Pointers to what decoding warned about.
    pub warnings: Vec<String>,
}

impl Inspection {
    /// Whether nothing but a log line is left of the message.
    #[must_use]
    pub fn dropped(&self) -> bool {
        self.action == Action::Drop
    }
}

/// What kind of ending a delivery had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The handler ran and the message was acknowledged.
    Handle,
    /// A failure was published for another try.
    Retry,
    /// A failure was dead-lettered.
    DeadLetter,
    /// The hook for unknown URNs took it.
    UnknownHook,
    /// A failure at the cap without a dead-letter producer.
    Drop,
    /// A failure was given back.
    Nack,
    /// The body is poison, whatever was done with it.
    Poison,
    /// The version gate stopped it, whatever was done with it.
    Gated,
}

/// What a settlement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Acknowledged a handled message.
    Ack,
    /// Published it again.
    Retry,
    /// Wrote a record to the dead-letter topic.
    DeadLetter,
    /// Acknowledged it without a trace.
    Drop,
    /// Gave it back.
    Nack,
}

/// Why a delivery was not handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The handler failed.
    Failed,
    /// Nobody handles the URN.
    UnknownUrn,
    /// The body is poison.
    Poison,
    /// The declared schema version is not supported.
    Version,
}

/// How a delivery was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// Acknowledged.
    Ack,
    /// Negatively acknowledged.
    Nack,
}
