//! What the consumer was built with.

/// The settings of a consumer that decide about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Deliveries allowed in total, the first included; from 1 to 2147483647.
    pub max_attempts: u32,
    /// A dead-letter producer exists.
    pub dead_letter: bool,
    /// A retry producer exists or can be made.
    pub retry: bool,
    /// A hook for URNs without a handler exists.
    pub unknown_urn_hook: bool,
}

impl Policy {
    /// True when this delivery was the last that is allowed.
    pub(crate) fn exhausted(&self, counted: i64) -> bool {
        counted >= self.max_attempts.into()
    }
}

impl Default for Policy {
    /// Three deliveries, and nothing to publish with.
    fn default() -> Self {
        Self {
            max_attempts: 3,
            dead_letter: false,
            retry: false,
            unknown_urn_hook: false,
        }
    }
}
