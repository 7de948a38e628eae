//! What ends a command from outside.

use std::future::pending;

use tokio::sync::watch;

use crate::failure::Failure;

/// How many signals to stop have come.
pub(crate) struct Signals {
    seen: watch::Receiver<u32>,
}

impl Signals {
    /// From here on such a signal no longer ends the process by itself.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (count, seen) = watch::channel(0);
        let mut source = source().map_err(|error| Failure::new("cannot wait for signals", &error))?;
        tokio::spawn(async move {
            loop {
                source.next().await;
                count.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { seen })
    }

    /// Waits until that many have come.
    pub(crate) async fn seen(&self, number: u32) {
        let mut seen = self.seen.clone();
        if seen.wait_for(|count| *count >= number).await.is_err() {
            pending().await
        }
    }
}

#[cfg(unix)]
mod platform {
    use std::fs::File;
    use std::io::{self, stdout};
    use std::os::fd::AsFd;

    use tokio::io::Interest;
    use tokio::net::unix::pipe::Sender;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Source {
        interrupt: Signal,
        terminate: Signal,
    }

    pub(super) fn source() -> io::Result<Source> {
        Ok(Source {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    impl Source {
        pub(super) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        }
    }

    /// Resolves when the reader of a pipe has left; never for a file or a terminal.
    pub(super) async fn output_closed() -> io::Result<()> {
        let output = File::from(stdout().as_fd().try_clone_to_owned()?);
        // Only watched, never written to: it stays a blocking one.
        let output = Sender::from_file_unchecked(output)?;
        output.ready(Interest::ERROR).await?;
        Ok(())
    }
}

#[cfg(not(unix))]
mod platform {
    use std::future::pending;
    use std::io;

    pub(super) struct Source;

    pub(super) fn source() -> io::Result<Source> {
        Ok(Source)
    }

    impl Source {
        pub(super) async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// There the next write finds out.
    pub(super) async fn output_closed() -> io::Result<()> {
        pending().await
    }
}

use platform::source;

/// Resolves when nobody reads the output any more, so that a quiet topic does not keep the command alive.
pub(crate) async fn output_closed() {
    if platform::output_closed().await.is_err() {
        pending().await
    }
}
