//! How much may be on its way to a connection, so that one whose peer does not read keeps its
//! deliveries waiting here, where others can get them, and not in a queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What a delivery occupies beside its message while it waits to be written.
const HEAD: usize = 128;

/// How much room a delivery takes.
pub(crate) fn size(message: &[u8]) -> usize {
    HEAD + message.len()
}

/// Bytes that may still be handed out for a connection; a message may push it below zero. Shared
/// by the connection's consumers and changed only while the broker works, so no order is needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room(Option<Arc<AtomicI64>>);

impl Room {
    pub(crate) fn bounded(bytes: usize) -> Self {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        Self(Some(Arc::new(AtomicI64::new(bytes))))
    }

    pub(crate) fn left(&self) -> i64 {
        self.0
            .as_ref()
            .map_or(i64::MAX, |left| left.load(Ordering::Relaxed))
    }

    pub(crate) fn take(&self, bytes: usize) {
        self.add(i64::try_from(bytes).map_or(i64::MIN, |bytes| -bytes));
    }

    /// Says whether there is room where there was none.
    pub(crate) fn give_back(&self, bytes: usize) -> bool {
        let before = self.left();
        self.add(i64::try_from(bytes).unwrap_or(i64::MAX));
        before <= 0 && self.left() > 0
    }

    fn add(&self, bytes: i64) {
        if let Some(left) = &self.0 {
            left.store(self.left().saturating_add(bytes), Ordering::Relaxed);
        }
    }
}
