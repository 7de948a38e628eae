//! One delivery, start to finish: plan, run, conclude, settle. An `if` that seems to be missing here
//! belongs into the core's decision.

use babelqueue_core::{Basis, Delivery, Plan, Refusal, Target, Verdict, Work, conclude, plan, refuse};
use tracing::warn;

use super::error::{ConsumerError, ConsumerErrorKind};
use super::run::Stop;
use super::settle::{Case, Finish};
use super::{Consumer, LOG};
use crate::message::Message;
use crate::transport::{Received, Transport};

impl<T: Transport> Consumer<T> {
    /// Takes a delivery to its settlement. `stop` is given by a loop that may hold a message back while
    /// its record cannot be written.
    pub(super) async fn process(
        &self,
        received: &Received<T::Origin>,
        stop: Option<&Stop>,
    ) -> Finish<T::Ack> {
        let (delivery, policy) = (&received.delivery, &self.policy);
        match self.plan(delivery) {
            Plan::Dispatch(work) => {
                let verdict = self.dispatch(received, &work).await;
                let settlement = conclude(delivery, &work, &verdict, policy, self.clock.now_ms());
                let basis = Basis::Concluded(&work, &verdict);
                self.settle(
                    &Case {
                        received,
                        basis,
                        stop,
                    },
                    settlement,
                )
                .await
            }
            Plan::Refuse(refusal) => {
                self.report_refusal(received, &refusal);
                let settlement = refuse(delivery, &refusal, policy, self.clock.now_ms());
                let basis = Basis::Refused(&refusal);
                self.settle(
                    &Case {
                        received,
                        basis,
                        stop,
                    },
                    settlement,
                )
                .await
            }
        }
    }

    pub(crate) fn plan(&self, delivery: &Delivery) -> Plan {
        plan(delivery, &self.policy, |urn| self.router.knows(urn))
    }

    /// Hands the work to whom it is for, and reports a failure before it is settled.
    async fn dispatch(&self, received: &Received<T::Origin>, work: &Work) -> Verdict {
        let message = &received.message;
        log_warnings(work);
        if let Some((property, body)) = work.mismatch() {
            self.hooks
                .routing_mismatch(property, body, work.envelope(), message);
        }
        let verdict = self.run_work(work, message).await;
        if let Verdict::Failed(cause) = &verdict {
            let error = ConsumerError::failed(failure_kind(work), cause);
            self.hooks.error(&error, Some(work.envelope()), Some(message));
        }
        verdict
    }

    async fn run_work(&self, work: &Work, message: &Message) -> Verdict {
        let handler = match work.target() {
            Target::Handler => self.router.find(work.route()),
            Target::UnknownHook => self.hooks.on_unknown_urn.as_ref(),
            Target::Nobody => None,
        };
        match handler {
            Some(handler) => handler.run(work.envelope().clone(), message.clone()).await,
            None => Verdict::Failed(work.unknown_urn()),
        }
    }

    /// Reports what no handler may see.
    fn report_refusal(&self, received: &Received<T::Origin>, refusal: &Refusal) {
        let (error, envelope) = match refusal {
            Refusal::Gated(gated) => {
                let (queue, declared) = (&*received.delivery.queue, gated.declared());
                warn!(target: LOG, queue, declared, supported = 1, "unsupported schema version");
                (ConsumerError::gated(gated), None)
            }
            Refusal::Poison(poison) => (ConsumerError::poison(poison), poison.envelope()),
        };
        self.hooks.error(&error, envelope, Some(&received.message));
    }
}

fn failure_kind(work: &Work) -> ConsumerErrorKind {
    match work.target() {
        Target::Nobody => ConsumerErrorKind::UnknownUrn,
        Target::Handler | Target::UnknownHook => ConsumerErrorKind::HandlerFailed,
    }
}

fn log_warnings(work: &Work) {
    for warning in work.warnings().chain(work.envelope().warnings()) {
        warn!(target: "babelqueue", pointer = warning.pointer(), "{warning}");
    }
}
