//! `async fn(Envelope, Message) -> Result<(), Failure>`, erased so that one map can hold all handlers, and
//! called so that a panic becomes a failure like any other.

use std::any::Any;
use std::future::poll_fn;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use babelqueue_core::{Cause, Envelope, Verdict};

use crate::failure::Failure;
use crate::message::Message;

type Handling = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// An erased handler, or the erased `on_unknown_urn` hook, which has the same shape.
pub(crate) struct Handler(Box<dyn Fn(Envelope, Message) -> Handling + Send + Sync>);

impl Handler {
    pub(crate) fn new<F, Fut>(handle: F) -> Self
    where
        F: Fn(Envelope, Message) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        Self(Box::new(move |envelope, message| {
            Box::pin(handle(envelope, message))
        }))
    }

    /// Runs the handler to its verdict.
    pub(crate) async fn run(&self, envelope: Envelope, message: Message) -> Verdict {
        // The function itself may panic before there is a future.
        let mut handling = match catch(|| (self.0)(envelope, message)) {
            Ok(handling) => handling,
            Err(panic) => return Verdict::Failed(panic),
        };
        let ended = poll_fn(|context| match catch(|| handling.as_mut().poll(context)) {
            Ok(poll) => poll.map(|result| result.map_err(Failure::into_cause)),
            Err(panic) => Poll::Ready(Err(panic)),
        });
        let ended = ended.await;
        // Dropping the future is foreign code too.
        let dropped = catch(|| drop(handling));
        match ended.and(dropped) {
            Ok(()) => Verdict::Done,
            Err(cause) => Verdict::Failed(cause),
        }
    }
}

/// Calls foreign code; a panic comes back as a cause with its text.
pub(crate) fn catch<T>(call: impl FnOnce() -> T) -> Result<T, Cause> {
    // Nothing of ours is reachable from the closure in a half-changed state: handlers get clones.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let error = text(&*payload);
        // What was thrown may throw in its turn when it is dropped; what that throws is never dropped.
        if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            forget(thrown);
        }
        Cause {
            error,
            exception: None,
        }
    })
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a text")
        .into()
}
