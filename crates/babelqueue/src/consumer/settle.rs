//! Carries out a settlement: at most one write, then exactly one finish. A message is acknowledged only
//! after its record was confirmed; that is what the shape of `settle` keeps.

use std::sync::Arc;
use std::time::Duration;

use babelqueue_core::{Basis, Dropped, Envelope, Outgoing, Refusal, Settlement, Why, oversized};
use tokio::time::sleep;
use tracing::{error, warn};

use super::error::ConsumerError;
use super::run::Stop;
use super::{Consumer, LOG};
use crate::failure::chain;
use crate::message::Message;
use crate::transport::{Received, Redelivery, Transport, TransportError};

/// The pauses between the tries of a write whose message is held back.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// A delivery with what its settlement and its hooks need.
pub(super) struct Case<'a, O> {
    pub(super) received: &'a Received<O>,
    /// What the settlement was decided on, for the next best one when a record is too large.
    pub(super) basis: Basis<'a>,
    /// Present when the caller can hold a message back.
    pub(super) stop: Option<&'a Stop>,
}

impl<O> Case<'_, O> {
    /// The envelope as the hooks get it.
    fn envelope(&self) -> Option<&Envelope> {
        match self.basis {
            Basis::Concluded(work, _) => Some(work.envelope()),
            Basis::Refused(Refusal::Poison(poison)) => poison.envelope(),
            Basis::Refused(Refusal::Gated(_)) => None,
        }
    }
}

/// How a delivery ended.
pub(super) enum Finish<A> {
    /// Acknowledged; the future tells whether the broker confirmed it.
    Ack(Unconfirmed<A>),
    /// Given back, or not even that; the error is reported already.
    Nacked(Result<(), ConsumerError>),
    /// Left unsettled: its record could not be written before the stop, or never can be.
    Left,
}

/// An acknowledgement under way, with what a report of its failure needs.
pub(super) struct Unconfirmed<A> {
    pub(super) ack: A,
    queue: Arc<str>,
    envelope: Option<Envelope>,
    message: Message,
}

enum Written {
    Confirmed,
    TooLarge,
    Failed,
    Left,
}

impl<T: Transport> Consumer<T> {
    pub(super) async fn settle(
        &self,
        case: &Case<'_, T::Origin>,
        mut settlement: Settlement,
    ) -> Finish<T::Ack> {
        loop {
            let outgoing = match settlement {
                Settlement::Ack => return self.ack(case),
                Settlement::Drop(dropped) => {
                    log_drop(case, &dropped);
                    return self.ack(case);
                }
                Settlement::Nack => return Finish::Nacked(self.nack(case).await),
                Settlement::Publish(outgoing) => outgoing,
            };
            settlement = match self.write(case, &outgoing).await {
                Written::Confirmed => return self.ack(case),
                Written::Failed => return self.give_back(case).await,
                Written::Left => return Finish::Left,
                Written::TooLarge => match self.smaller(case, &outgoing) {
                    Some(settlement) => settlement,
                    None => return hold(case),
                },
            };
        }
    }

    fn smaller(&self, case: &Case<'_, T::Origin>, outgoing: &Outgoing) -> Option<Settlement> {
        oversized(
            &case.received.delivery,
            outgoing,
            case.basis,
            &self.policy,
            self.clock.now_ms(),
        )
    }

    async fn give_back(&self, case: &Case<'_, T::Origin>) -> Finish<T::Ack> {
        self.rest();
        Finish::Nacked(self.nack(case).await)
    }

    /// Writes a record, reporting every failure. A message that is held back keeps trying: where a negative
    /// acknowledgement rewinds, giving one message back would bring back all that are in flight.
    async fn write(&self, case: &Case<'_, T::Origin>, outgoing: &Outgoing) -> Written {
        let rewinds = self.transport.capabilities().redelivery == Redelivery::Rewind;
        let held_until = case.stop.filter(|_| rewinds);
        let mut pause = FIRST_PAUSE;
        loop {
            let Err(error) = self.transport.publish(&case.received.origin, outgoing).await else {
                return Written::Confirmed;
            };
            let too_large = error.is_too_large();
            let topic = error.topic().to_owned();
            let error = ConsumerError::write(outgoing, error);
            self.report(
                &error,
                &case.received.delivery.queue,
                &topic,
                case.envelope(),
                &case.received.message,
            );
            if too_large {
                return Written::TooLarge;
            }
            let Some(stop) = held_until else {
                return Written::Failed;
            };
            tokio::select! {
                biased;
                () = stop.wait() => return Written::Left,
                () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    fn ack(&self, case: &Case<'_, T::Origin>) -> Finish<T::Ack> {
        Finish::Ack(Unconfirmed {
            ack: self.transport.ack(&case.received.origin),
            queue: Arc::clone(&case.received.delivery.queue),
            envelope: case.envelope().cloned(),
            message: case.received.message.clone(),
        })
    }

    /// Waits for the broker's word on an acknowledgement.
    pub(super) async fn confirm(&self, mut unconfirmed: Unconfirmed<T::Ack>) -> Result<(), ConsumerError> {
        let confirmed = (&mut unconfirmed.ack).await;
        self.confirmed(&unconfirmed, confirmed)
    }

    /// A failed acknowledgement is reported and left to the broker; it never becomes a retry.
    pub(super) fn confirmed(
        &self,
        settled: &Unconfirmed<T::Ack>,
        confirmed: Result<(), TransportError>,
    ) -> Result<(), ConsumerError> {
        confirmed.map_err(|error| {
            let error = ConsumerError::ack(error);
            let (envelope, message) = (settled.envelope.as_ref(), &settled.message);
            self.report(&error, &settled.queue, message.topic(), envelope, message);
            error
        })
    }

    async fn nack(&self, case: &Case<'_, T::Origin>) -> Result<(), ConsumerError> {
        let Received {
            delivery,
            message,
            origin,
        } = case.received;
        self.transport.nack(origin).await.map_err(|error| {
            let error = ConsumerError::nack(error);
            self.report(&error, &delivery.queue, message.topic(), case.envelope(), message);
            error
        })
    }

    fn report(
        &self,
        error: &ConsumerError,
        queue: &str,
        topic: &str,
        envelope: Option<&Envelope>,
        message: &Message,
    ) {
        error!(target: LOG, queue, topic, broker_id = message.id(), error = chain(error), "settling failed");
        self.hooks.error(error, envelope, Some(message));
    }
}

/// Leaves a message unsettled whose record is too large in every form. Given back, it would come again at once
/// to the same end, with all that was delivered behind it where a negative acknowledgement rewinds.
fn hold<O, A>(case: &Case<'_, O>) -> Finish<A> {
    let Received {
        delivery, message, ..
    } = case.received;
    error!(
        target: LOG,
        queue = &*delivery.queue,
        topic = message.topic(),
        broker_id = message.id(),
        "message held: every form of its record is too large; it comes again when this consumer is closed",
    );
    Finish::Left
}

fn log_drop<O>(case: &Case<'_, O>, dropped: &Dropped) {
    warn!(
        target: LOG,
        queue = &*case.received.delivery.queue,
        urn = label(dropped),
        counted = dropped.counted,
        message_id = dropped.message_id.as_deref(),
        "message dropped: no dead-letter producer",
    );
}

fn label(dropped: &Dropped) -> Option<&str> {
    match dropped.why {
        Why::Poison => Some("poison"),
        Why::Gated => Some("gated"),
        Why::Failed | Why::UnknownUrn => dropped.urn.as_deref(),
    }
}
