//! A consumer's hooks and handlers, in the order in which they are called.

use std::sync::{Arc, Mutex};

use babelqueue_pulsar::{ConsumerBuilder, Envelope, Failure, Message};

use super::offline;

/// One line for every call of a hook or a handler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().expect("nobody panicked").push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("nobody panicked").clone()
    }

    /// How many lines begin with `start`.
    pub(crate) fn count(&self, start: &str) -> usize {
        let lines = self.0.lock().expect("nobody panicked");
        lines.iter().filter(|line| line.starts_with(start)).count()
    }

    /// Notes errors as `error KIND ENVELOPE MESSAGE: TEXT` and mismatches as `mismatch PROPERTY BODY`.
    pub(crate) fn hooks(&self, builder: ConsumerBuilder) -> ConsumerBuilder {
        let (errors, mismatches) = (self.clone(), self.clone());
        builder
            .on_error(move |error, envelope, message| {
                let envelope = envelope.map_or("-", |_| "envelope");
                let message = message.map_or("-", |_| "message");
                errors.note(format!("error {:?} {envelope} {message}: {error}", error.kind()));
            })
            .on_routing_mismatch(move |property, body, _, _| {
                mismatches.note(format!("mismatch {property} {body}"));
            })
    }

    /// A handler that notes `run URN ATTEMPTS` and succeeds.
    pub(crate) fn succeeds(&self) -> impl Fn(Envelope, Message) -> Ready + Send + Sync + 'static {
        let diary = self.clone();
        move |envelope, _| {
            diary.note_run(&envelope);
            std::future::ready(Ok(()))
        }
    }

    /// A handler that notes `run URN ATTEMPTS` and fails.
    pub(crate) fn fails(&self) -> impl Fn(Envelope, Message) -> Ready + Send + Sync + 'static {
        let diary = self.clone();
        move |envelope, _| {
            diary.note_run(&envelope);
            std::future::ready(Err(offline()))
        }
    }

    fn note_run(&self, envelope: &Envelope) {
        self.note(format!("run {} {}", envelope.job(), envelope.attempts()));
    }
}

type Ready = std::future::Ready<Result<(), Failure>>;
