//! The tasks that run as long as the broker does: taking connections, and keeping time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

use super::connection;
use super::hub::Hub;

/// How long to wait where no connection could be taken, for instance because the process has too
/// many files open.
const BREATHER: Duration = Duration::from_millis(50);

/// Takes connections and keeps time until the broker stops. What runs then holds `stopped`.
pub(super) fn spawn(hub: &Arc<Hub>, listener: TcpListener, stopped: watch::Receiver<bool>) {
    tokio::spawn(accept(hub.clone(), listener, stopped.clone()));
    tokio::spawn(keep_time(hub.clone(), stopped));
}

async fn accept(hub: Arc<Hub>, listener: TcpListener, stopped: watch::Receiver<bool>) {
    tokio::select! {
        () = ended(stopped.clone()) => {}
        never = take_all(&hub, &listener, &stopped) => match never {},
    }
    // Who waits for the end may listen there next, so the port goes first.
    drop(listener);
    drop(stopped);
}

async fn take_all(hub: &Arc<Hub>, listener: &TcpListener, stopped: &watch::Receiver<bool>) -> Infallible {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) if !hub.is_open() => drop(stream),
            Ok((stream, remote)) => {
                failing = false;
                // Where it fails, answers come later, but they come.
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection::serve(hub.clone(), stream, remote, stopped.clone()));
            }
            Err(error) => {
                // One line for the lot: it may go on for long.
                if !failing {
                    tracing::warn!(%error, "no connection can be taken; trying again");
                }
                failing = true;
                sleep(BREATHER).await;
            }
        }
    }
}

/// Drives what the core put off.
async fn keep_time(hub: Arc<Hub>, stopped: watch::Receiver<bool>) {
    loop {
        let next = hub.next_time();
        let due = async {
            match next {
                Some(at) => sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = ended(stopped.clone()) => return,
            () = hub.put_off() => {}
            () = due => hub.with(|broker, now| broker.on_time(now)),
        }
    }
}

/// The broker is to end.
pub(super) async fn ended(mut stopped: watch::Receiver<bool>) {
    // An error means that it is gone already.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
