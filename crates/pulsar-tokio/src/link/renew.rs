//! Fresh credentials for a connection, when its broker asks for them.

use std::sync::Arc;

use super::Link;
use crate::session::backoff::Backoff;

impl Link {
    /// Answers a challenge without holding up what arrives meanwhile. Brokers ask again only when
    /// they were answered, so one answer is under way at a time.
    pub(super) fn renew(self: &Arc<Self>) {
        if !std::mem::replace(&mut self.lock().renewing, true) {
            tokio::spawn(renew(self.clone()));
        }
    }

    /// Gets other credentials and shows them.
    async fn renew_once(&self) -> Result<(), crate::Error> {
        let shown = self.lock().connection.credentials().cloned();
        // May take a while; nothing is locked meanwhile.
        let fresh = self.authenticator.other_than(shown.as_ref()).await?;
        let mut state = self.lock();
        let response = state.connection.respond(fresh)?;
        state.renewing = false;
        state.no_credentials = None;
        drop(state);
        self.send_command(&response);
        Ok(())
    }
}

/// Tries until it works: the broker ends the connection when it has waited long enough.
async fn renew(link: Arc<Link>) {
    let ending = link.ending.notified();
    tokio::pin!(ending);
    ending.as_mut().enable();
    let mut backoff = Backoff::default();
    while !link.is_down() {
        let renewed = tokio::select! {
            renewed = link.renew_once() => renewed,
            () = ending.as_mut() => return,
        };
        let Err(error) = renewed else { return };
        tracing::warn!(broker = %link.address, %error, "no fresh credentials for the broker");
        link.lock().no_credentials = Some(error);
        tokio::select! {
            () = tokio::time::sleep(backoff.next(rand::random())) => {}
            () = ending.as_mut() => return,
        }
    }
}
