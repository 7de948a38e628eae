//! The ledger of permits: how many messages the broker may still send.
//!
//! Each arrival is charged with what the broker counts for it, before anything is decoded, and
//! exactly that is given back on every way out: handled, seen before, undecodable, dropped. A
//! permit that is not given back is gone, and a subscription whose permits are all gone stands
//! still without an error anywhere. Permits belong to a session and never outlive it.

const GREATEST_GRANT: u32 = i32::MAX.unsigned_abs();

/// The permits of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permits {
    window: u32,
    /// Granted to the broker and not yet used; below 0 when a batch overdrew it.
    outstanding: i64,
    /// Charged and not yet given back.
    held: u64,
    /// Given back and not yet granted again.
    spare: u64,
}

impl Permits {
    pub(crate) fn new(window: u32) -> Self {
        Self {
            window: window.max(1),
            outstanding: 0,
            held: 0,
            spare: 0,
        }
    }

    /// The grant that opens a session.
    pub(crate) fn open(&mut self) -> u32 {
        *self = Self::new(self.window);
        self.outstanding = i64::from(self.window);
        self.window
    }

    /// An arrival of this cost.
    pub(crate) fn charge(&mut self, cost: u32) {
        self.outstanding -= i64::from(cost);
        self.held += u64::from(cost);
    }

    pub(crate) fn give_back(&mut self, count: u32) {
        let count = u64::from(count).min(self.held);
        self.held -= count;
        self.spare += count;
    }

    /// The next grant, once half of the window is spare; a grant for each message would double
    /// the number of frames.
    pub(crate) fn grant(&mut self) -> Option<u32> {
        if self.spare == 0 || self.spare < u64::from(self.window / 2) {
            return None;
        }
        // Brokers count in signed numbers of 32 bits; what is over leaves with the next grant.
        let grant = u32::try_from(self.spare).unwrap_or(u32::MAX).min(GREATEST_GRANT);
        self.spare -= u64::from(grant);
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

    #[test]
    fn every_permit_is_outstanding_held_or_spare() {
        let mut permits = Permits::new(10);
        assert_eq!(permits.open(), 10);
        permits.charge(3);
        permits.charge(1);
        permits.give_back(2);
        assert_eq!(
            permits.outstanding() + i64::from(permits.held()) + i64::try_from(permits.spare).unwrap(),
            10
        );
    }

    #[test]
    fn grants_wait_until_half_of_the_window_is_spare() {
        let mut permits = Permits::new(4);
        permits.open();
        permits.charge(3);
        permits.give_back(1);
        assert_eq!(permits.grant(), None);
        permits.give_back(1);
        assert_eq!(permits.grant(), Some(2));
        assert_eq!(permits.grant(), None);
    }

    #[test]
    fn a_window_of_one_grants_one_at_a_time() {
        let mut permits = Permits::new(1);
        permits.open();
        permits.charge(1);
        assert_eq!(permits.grant(), None);
        permits.give_back(1);
        assert_eq!(permits.grant(), Some(1));
    }

    #[test]
    fn a_batch_may_overdraw_the_window_and_is_given_back_whole() {
        let mut permits = Permits::new(2);
        permits.open();
        permits.charge(5);
        assert_eq!(permits.outstanding(), -3);
        permits.give_back(5);
        assert_eq!(permits.grant(), Some(5));
        assert_eq!(permits.outstanding(), 2);
    }

    #[test]
    fn a_new_session_starts_with_the_whole_window() {
        let mut permits = Permits::new(3);
        permits.open();
        permits.charge(2);
        assert_eq!(permits.open(), 3);
        assert_eq!((permits.outstanding(), permits.held()), (3, 0));
    }
}
