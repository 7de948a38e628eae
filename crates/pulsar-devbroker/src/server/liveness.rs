//! Who is quiet for too long.

use std::time::Instant;

use super::builder::Patience;

#[derive(Debug)]
pub(super) struct Liveness {
    patience: Patience,
    /// When the peer was last heard of; at first, when it came.
    heard: Instant,
    connected: bool,
    asked: bool,
}

/// What is to be done about a quiet peer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Look again at that time.
    Wait(Instant),
    /// Send a PING.
    Ask,
    /// Close the connection.
    GiveUp(&'static str),
}

impl Liveness {
    pub(super) fn new(patience: Patience, now: Instant) -> Self {
        Self {
            patience,
            heard: now,
            connected: false,
            asked: false,
        }
    }

    /// Something came from the peer.
    pub(super) fn hear(&mut self, now: Instant) {
        // Before CONNECT nothing else counts, or a peer could stay by talking nonsense slowly.
        if self.connected {
            self.heard = now;
            self.asked = false;
        }
    }

    /// The peer said CONNECT.
    pub(super) fn connected(&mut self, now: Instant) {
        self.connected = true;
        self.hear(now);
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(super) fn judge(&mut self, now: Instant) -> Verdict {
        let quiet = now.saturating_duration_since(self.heard);
        let Patience {
            handshake,
            keep_alive,
        } = self.patience;
        if !self.connected {
            if quiet >= handshake {
                return Verdict::GiveUp("no CONNECT came in time");
            }
            return Verdict::Wait(self.heard + handshake);
        }
        if !self.asked {
            if quiet < keep_alive {
                return Verdict::Wait(self.heard + keep_alive);
            }
            self.asked = true;
            return Verdict::Ask;
        }
        if quiet >= 2 * keep_alive {
            return Verdict::GiveUp("the peer does not answer to PING");
        }
        Verdict::Wait(self.heard + 2 * keep_alive)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PATIENCE: Patience = Patience {
        handshake: Duration::from_secs(5),
        keep_alive: Duration::from_secs(30),
    };

    #[test]
    fn a_peer_that_never_connects_is_given_up_however_much_it_talks() {
        let start = Instant::now();
        let mut liveness = Liveness::new(PATIENCE, start);
        liveness.hear(start + Duration::from_secs(4));
        let end = start + Duration::from_secs(5);
        assert_eq!(liveness.judge(start), Verdict::Wait(end));
        assert!(matches!(liveness.judge(end), Verdict::GiveUp(_)));
    }

    #[test]
    fn a_quiet_peer_is_asked_once_and_then_given_up() {
        let start = Instant::now();
        let mut liveness = Liveness::new(PATIENCE, start);
        liveness.connected(start);
        assert_eq!(liveness.judge(start + Duration::from_secs(30)), Verdict::Ask);
        let end = start + Duration::from_secs(60);
        assert_eq!(
            liveness.judge(start + Duration::from_secs(31)),
            Verdict::Wait(end)
        );
        assert!(matches!(liveness.judge(end), Verdict::GiveUp(_)));
    }

    #[test]
    fn an_answer_starts_it_all_over() {
        let start = Instant::now();
        let mut liveness = Liveness::new(PATIENCE, start);
        liveness.connected(start);
        liveness.judge(start + Duration::from_secs(30));
        liveness.hear(start + Duration::from_secs(59));
        let next = start + Duration::from_secs(89);
        assert_eq!(
            liveness.judge(start + Duration::from_secs(60)),
            Verdict::Wait(next)
        );
    }
}
