//! The ledger of permits: how many messages the broker may still send.
//!
//! Each arrival is charged with what the broker counts for it, before anything is decoded, and
//! exactly that is given back on every way out: handled, seen before, undecodable, dropped. A
//! permit that is not given back is gone, and a subscription whose permits are all gone stands
//! still without an error anywhere. Permits belong to a session and never outlive it.

//!
//! A broker counts messages, memory counts bytes. So how large messages are is learned from those that came, and no more
//! are asked for than fit the budget by that. The estimate rises with the first large message and falls slowly; before
//! anything is known a message may be as large as the broker takes. What was granted when messages were small may still
//! turn out to be large: at worst that is the window times the broker's greatest size.

const GREATEST_GRANT: u32 = i32::MAX.unsigned_abs();

/// By which part of itself the estimate falls with every entry that is smaller.
const FALL: u64 = 16;

/// How much a consumer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) messages: u32,
    pub(crate) bytes: u64,
}

/// The permits of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permits {
    window: Window,
    /// How many bytes a message is thought to have; survives the session.
    estimate: Option<u64>,
    /// The broker's greatest size.
    most: u64,
    /// Granted to the broker and not yet used; below 0 when a batch overdrew it.
    outstanding: i64,
    /// Charged and not yet given back.
    held: u64,
}

impl Permits {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window: Window {
                messages: window.messages.max(1),
                ..window
            },
            estimate: None,
            most: 0,
            outstanding: 0,
            held: 0,
        }
    }

    /// The session is over; what was learned stays.
    pub(crate) fn end_session(&mut self) {
        self.outstanding = 0;
        self.held = 0;
    }

    /// The grant that opens a session with a broker that takes messages of this size.
    pub(crate) fn open(&mut self, most: u64) -> u32 {
        self.end_session();
        self.most = most;
        let grant = self.target();
        self.outstanding = i64::from(grant);
        grant
    }

    /// How many messages may be granted or held now.
    fn target(&self) -> u32 {
        let size = self.estimate.unwrap_or(self.most).max(1);
        let fitting = u32::try_from(self.window.bytes / size).unwrap_or(u32::MAX);
        fitting.clamp(1, self.window.messages)
    }

    /// An arrival of this cost, and what it takes.
    pub(crate) fn charge(&mut self, cost: u32, bytes: u64) {
        self.outstanding -= i64::from(cost);
        self.held += u64::from(cost);
        let size = bytes / u64::from(cost.max(1));
        self.estimate = Some(match self.estimate {
            Some(estimate) => size.max(estimate - estimate / FALL),
            None => size,
        });
    }

    pub(crate) fn give_back(&mut self, count: u32) {
        self.held -= u64::from(count).min(self.held);
    }

    /// The next grant, once half of the window is free; a grant for each message would double
    /// the number of frames.
    pub(crate) fn grant(&mut self) -> Option<u32> {
        let target = self.target();
        let held = i64::try_from(self.held).unwrap_or(i64::MAX);
        let free = i64::from(target)
            .saturating_sub(self.outstanding)
            .saturating_sub(held);
        if free < i64::from((target / 2).max(1)) {
            return None;
        }
        // Brokers count in signed numbers of 32 bits; what is over leaves with the next grant.
        let grant = u32::try_from(free).unwrap_or(u32::MAX).min(GREATEST_GRANT);
        self.outstanding += i64::from(grant);
        Some(grant)
    }

    /// Granted to the broker and not yet used.
    pub(crate) fn outstanding(&self) -> i64 {
        self.outstanding
    }

    /// Charged for deliveries that are queued or being handled.
    pub(crate) fn held(&self) -> u32 {
        u32::try_from(self.held).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of messages that are so small that only their number counts.
    fn permits(messages: u32) -> Permits {
        let mut permits = Permits::new(Window {
            messages,
            bytes: u64::MAX,
        });
        assert_eq!(permits.open(1_000), messages);
        permits
    }

    #[test]
    fn grants_wait_until_half_of_the_window_is_free() {
        let mut permits = permits(4);
        permits.charge(3, 3);
        permits.give_back(1);
        assert_eq!(permits.grant(), None);
        permits.give_back(1);
        assert_eq!(permits.grant(), Some(2));
        assert_eq!(permits.grant(), None);
        assert_eq!((permits.outstanding(), permits.held()), (3, 1));
    }

    #[test]
    fn a_window_of_one_grants_one_at_a_time() {
        let mut permits = permits(1);
        permits.charge(1, 1);
        assert_eq!(permits.grant(), None);
        permits.give_back(1);
        assert_eq!(permits.grant(), Some(1));
    }

    #[test]
    fn a_batch_may_overdraw_the_window_and_is_given_back_whole() {
        let mut permits = permits(2);
        permits.charge(5, 5);
        assert_eq!(permits.outstanding(), -3);
        permits.give_back(5);
        assert_eq!(permits.grant(), Some(5));
        assert_eq!(permits.outstanding(), 2);
    }

    #[test]
    fn a_new_session_starts_with_the_whole_window() {
        let mut permits = permits(3);
        permits.charge(2, 2);
        assert_eq!(permits.open(1_000), 3);
        assert_eq!((permits.outstanding(), permits.held()), (3, 0));
    }

    #[test]
    fn before_a_message_has_come_it_may_be_as_large_as_the_broker_takes() {
        let window = Window {
            messages: 1_000,
            bytes: 64_000,
        };
        assert_eq!(Permits::new(window).open(5_000), 12);
        // One is always asked for.
        assert_eq!(Permits::new(window).open(1_000_000), 1);
    }

    #[test]
    fn what_is_granted_follows_the_size_of_what_comes() {
        let mut permits = Permits::new(Window {
            messages: 1_000,
            bytes: 64_000,
        });
        permits.open(5_000);
        permits.charge(1, 100);
        permits.give_back(1);
        // 640 fit.
        assert_eq!(permits.grant(), Some(640 - 11));
        // One large message, alone or in a batch of four, and nothing is granted until less is held.
        permits.charge(4, 4 * 4_000);
        assert_eq!(permits.target(), 16);
        assert_eq!(permits.grant(), None);
        permits.charge(636, 636 * 100);
        permits.give_back(632);
        assert_eq!(permits.grant(), Some(9));
        assert_eq!((permits.outstanding(), permits.held()), (9, 8));
    }

    #[test]
    fn the_estimate_falls_back_to_small_messages_and_outlives_the_session() {
        let mut permits = Permits::new(Window {
            messages: 1_000,
            bytes: 64_000,
        });
        permits.open(5_000);
        permits.charge(1, 5_000);
        for _ in 0..200 {
            permits.charge(1, 100);
        }
        assert_eq!(permits.target(), 640);
        assert_eq!(permits.open(5_000), 640);
    }
}
