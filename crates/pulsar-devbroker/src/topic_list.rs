//! The list of a namespace's topics, as clients with a pattern ask for it.

use pulsar_wire::proto::TopicsMode;
use regex_lite::{Regex, RegexBuilder};

use crate::catalog::Catalog;

/// The longest pattern that the broker applies itself; clients apply longer ones.
pub(crate) const LONGEST_PATTERN: usize = 50;

/// The full names of a namespace's topics, in order.
pub(crate) fn topics(
    catalog: &Catalog,
    namespace: &str,
    mode: TopicsMode,
    pattern: Option<&Regex>,
) -> Vec<String> {
    let is_wanted = |persistent: bool| match mode {
        TopicsMode::Persistent => persistent,
        TopicsMode::NonPersistent => !persistent,
        TopicsMode::All => true,
    };
    let topics = catalog.topics.values().map(|topic| &topic.name);
    topics
        .filter(|name| name.namespace == namespace && is_wanted(name.persistent))
        .filter(|name| pattern.is_none_or(|pattern| pattern.is_match(name.path())))
        .map(|name| name.full.to_string())
        .collect()
}

/// How large a pattern may become: repeated repetitions would take long to hold against names.
const LARGEST_PATTERN: usize = 8 * 1024;

/// A pattern that names are to match as a whole. It may name a domain, which does not count.
/// `None` where it is too long, too large or in a dialect that is not known here: clients apply
/// those.
pub(crate) fn pattern(text: &str) -> Option<Regex> {
    if text.chars().count() > LONGEST_PATTERN {
        return None;
    }
    RegexBuilder::new(&format!("^(?:{})$", without_domain(text)))
        .size_limit(LARGEST_PATTERN)
        .build()
        .ok()
}

/// A pattern without the domain in it.
pub(crate) fn without_domain(text: &str) -> String {
    let domain = ["non-persistent://", "persistent://"]
        .into_iter()
        .find(|domain| text.contains(domain));
    domain.map_or_else(|| text.to_owned(), |domain| text.replacen(domain, "", 1))
}

/// Tells lists apart: by it a client sees that nothing changed. `topics` are in order.
pub(crate) fn hash(topics: &[String]) -> String {
    let checksum = crc32c::crc32c(topics.join(",").as_bytes());
    // The number's bytes from the lowest on, as Pulsar prints them.
    format!("{:08x}", checksum.swap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_nothing_is_zero() {
        assert_eq!(hash(&[]), "00000000");
    }

    #[test]
    fn the_lowest_byte_of_the_hash_comes_first() {
        // The check value of CRC-32C is e3069283.
        assert_eq!(hash(&["123456789".to_owned()]), "839206e3");
    }

    #[test]
    fn a_pattern_meets_whole_paths_whatever_the_domain() {
        for text in [
            "persistent://public/default/or.*",
            "^persistent://public/default/or.*$",
            "public/default/or.*",
        ] {
            let pattern = pattern(text).unwrap();
            assert!(pattern.is_match("public/default/orders"), "{text}");
            assert!(!pattern.is_match("xpublic/default/orders"), "{text}");
        }
    }
}
