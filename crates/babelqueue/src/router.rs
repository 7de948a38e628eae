//! Which handler a URN goes to.

use std::collections::HashMap;

use babelqueue_core::trim_urn;

use crate::handler::Handler;

/// URN → handler, by exact match of the ASCII-trimmed URN.
#[derive(Default)]
pub(crate) struct Router {
    handlers: HashMap<String, Handler>,
    blank: bool,
}

impl Router {
    /// Registers a handler; the last one for a URN wins.
    pub(crate) fn register(&mut self, urn: &str, handler: Handler) {
        let urn = trim_urn(urn);
        self.blank |= urn.is_empty();
        self.handlers.insert(urn.to_owned(), handler);
    }

    /// Whether a blank URN was registered, which can never be routed to.
    pub(crate) fn has_blank(&self) -> bool {
        self.blank
    }

    pub(crate) fn knows(&self, urn: &str) -> bool {
        self.handlers.contains_key(urn)
    }

    pub(crate) fn find(&self, urn: &str) -> Option<&Handler> {
        self.handlers.get(urn)
    }

    pub(crate) fn urns(&self) -> impl Iterator<Item = &str> {
        self.handlers.keys().map(String::as_str)
    }
}
