//! What a reader put up with: values for a log, never a reason to stop.

use std::fmt;

use crate::properties;

/// Something in a delivery that was dropped or ignored, named by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    pointer: &'static str,
    what: &'static str,
}

impl Warning {
    pub(crate) fn forbidden(pointer: &'static str) -> Self {
        Self {
            pointer,
            what: "is a forbidden member and was dropped",
        }
    }

    pub(crate) fn alias_dropped() -> Self {
        Self {
            pointer: "/urn",
            what: "was dropped because job names the message",
        }
    }

    pub(crate) fn job_ignored() -> Self {
        Self {
            pointer: "/job",
            what: "is not a string and was replaced by urn",
        }
    }

    pub(crate) fn property(name: &'static str) -> Self {
        debug_assert!(properties::NAMES.contains(&name));
        Self {
            pointer: name,
            what: "is not UTF-8 and counts as absent",
        }
    }

    /// The JSON pointer of the member, or the name of the property.
    #[must_use]
    pub fn pointer(&self) -> &'static str {
        self.pointer
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pointer, self.what)
    }
}
