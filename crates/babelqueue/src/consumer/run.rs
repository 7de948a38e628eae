//! The loop: receive, process, and go on while acknowledgements are still unconfirmed, until told to stop.

use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tracing::error;

use super::error::ConsumerError;
use super::settle::{Finish, Unconfirmed};
use super::{Consumer, LOG};
use crate::failure::chain;
use crate::transport::{Received, Transport, TransportError};

impl<T: Transport> Consumer<T> {
    /// Handles one delivery after the other until `until` resolves; then it finishes the message in hand,
    /// waits until all acknowledgements are confirmed, and returns. It does the same when the consumer is
    /// [closed](Self::close). No error ends it: a failed receive is given to `on_error` and tried again after a
    /// second.
    ///
    /// The next handler starts while acknowledgements are unconfirmed, up to
    /// [`max_unconfirmed_acks`](super::ConsumerBuilder::max_unconfirmed_acks). A message whose record
    /// cannot be written on an Exclusive or Failover subscription is held, its write tried again until it
    /// succeeds, or left unsettled when `until` resolves. A message whose record is too large in every form is
    /// left unsettled on every type, and the loop goes on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use babelqueue::{Consumer, memory::Broker};
    /// use tokio::sync::oneshot;
    ///
    /// let broker = Broker::new();
    /// let consumer = Consumer::builder()
    ///     .handler("urn:babel:orders:created", |_envelope, _message| async { Ok(()) })
    ///     .build(broker.subscribe("orders"))?;
    ///
    /// let (stop, stopped) = oneshot::channel::<()>();
    /// let worker = tokio::spawn(async move {
    ///     consumer.run(async { stopped.await.unwrap_or(()) }).await;
    ///     consumer.close().await
    /// });
    /// stop.send(()).ok();
    /// worker.await??;
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancel safety
    /// Let `until` resolve instead of dropping the future. Dropping it drops the handler in hand at its
    /// current `await` and leaves that delivery unsettled: it comes again after the subscription is closed,
    /// and not before. Acknowledgements that were already sent stay sent; only the report of their failure is
    /// lost.
    pub async fn run(&self, until: impl Future<Output = ()>) {
        let stop = Stop::default();
        let (mut until, mut work) = (pin!(until), pin!(self.work(&stop)));
        tokio::select! {
            biased;
            () = &mut until => stop.tell(),
            () = self.closed() => stop.tell(),
            () = &mut work => return,
        }
        work.await;
    }

    async fn work(&self, stop: &Stop) {
        let mut unconfirmed = VecDeque::new();
        while let Some(received) = self.next(stop, &mut unconfirmed).await {
            if let Finish::Ack(ack) = self.process(&received, Some(stop)).await {
                unconfirmed.push_back(ack);
            }
        }
        while !unconfirmed.is_empty() {
            self.confirm_next(&mut unconfirmed).await;
        }
    }

    /// The next delivery; none after the stop. Meanwhile it takes the confirmations of earlier ones.
    async fn next(
        &self,
        stop: &Stop,
        unconfirmed: &mut VecDeque<Unconfirmed<T::Ack>>,
    ) -> Option<Received<T::Origin>> {
        loop {
            let may_receive = unconfirmed.len() < self.max_unconfirmed_acks;
            tokio::select! {
                biased;
                () = stop.wait() => return None,
                () = self.confirm_next(unconfirmed) => {}
                received = self.receive(), if may_receive => match received {
                    Ok(received) => return Some(received),
                    Err(error) => self.receive_failed(error),
                },
            }
        }
    }

    /// Waits for the oldest acknowledgement, for ever if there is none. Loses nothing when dropped.
    async fn confirm_next(&self, unconfirmed: &mut VecDeque<Unconfirmed<T::Ack>>) {
        let Some(oldest) = unconfirmed.front_mut() else {
            return pending().await;
        };
        let confirmed = (&mut oldest.ack).await;
        // A failure is reported there; the loop goes on.
        let _ = self.confirmed(oldest, confirmed);
        unconfirmed.pop_front();
    }

    fn receive_failed(&self, error: TransportError) {
        let error = ConsumerError::receive(error);
        error!(target: LOG, error = chain(&error), "receive failed");
        self.hooks.error(&error, None, None);
        self.rest();
    }
}

/// The word that the loop shall end. Telling it wakes nobody: [`Consumer::run`] polls the loop right after.
#[derive(Default)]
pub(super) struct Stop(AtomicBool);

impl Stop {
    fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) async fn wait(&self) {
        poll_fn(|_| {
            if self.0.load(Ordering::Relaxed) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}
