//! Stopping the broker, in an orderly way and otherwise, and starting it again.

use std::io;

use tokio::net::TcpListener;

use super::{DevBroker, StartError, accept};

impl DevBroker {
    /// Takes no more connections, closes those that are there once what is ready for them is
    /// written, and waits for the end of that, a second at most.
    ///
    /// # Cancel safety
    /// The broker ends nevertheless.
    pub async fn shutdown(self) {
        self.close().await;
    }

    /// Stops it as an operator would: nobody listens any more, connections are closed. It can be
    /// [started again](Self::start_again), with everything that it had.
    ///
    /// # Cancel safety
    /// It stops nevertheless, but acknowledgements are not stored as
    /// [`store_acks`](Self::store_acks) would.
    pub async fn stop(&self) {
        self.close().await;
        self.hub.with(|broker, now| broker.stop(now));
    }

    /// Ends it as a crash would: as [`stop`](Self::stop), but the acknowledgements since they were
    /// last [stored](Self::store_acks) are forgotten, although they were confirmed.
    ///
    /// # Cancel safety
    /// It stops nevertheless, but may forget nothing.
    pub async fn crash(&self) {
        self.close().await;
        self.hub.with(|broker, now| broker.crash(now));
    }

    /// Starts it after [`stop`](Self::stop) or [`crash`](Self::crash), at the same address.
    ///
    /// # Errors
    /// When it runs, or its address was taken meanwhile.
    ///
    /// # Cancel safety
    /// It starts nevertheless.
    pub async fn start_again(&self) -> Result<(), StartError> {
        let (hub, stop, address) = (self.hub.clone(), self.stop.clone(), self.addr);
        let start = async move {
            let listener = TcpListener::bind(address).await?;
            stop.send_replace(false);
            accept::spawn(&hub, listener, stop.subscribe());
            Ok(())
        };
        let started = self.runtime.spawn(start).await;
        let started = started.unwrap_or_else(|_| Err(io::Error::other("the broker's runtime has ended")));
        started.map_err(|source| StartError { address, source })
    }

    async fn close(&self) {
        self.stop.send_replace(true);
        // The tasks hold the other ends.
        self.stop.closed().await;
    }
}
