//! Topic names in all the forms that Pulsar takes, and the partition of a keyed message.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// A full topic name: `persistent://tenant/namespace/name`.
///
/// Short forms are completed as Pulsar does: `orders` means `persistent://public/default/orders`,
/// and `tenant/namespace/orders` means `persistent://tenant/namespace/orders`.
///
/// ```
/// # use pulsar_tokio::TopicName;
/// let topic = TopicName::parse("orders")?;
/// assert_eq!(topic.as_str(), "persistent://public/default/orders");
/// assert_eq!(topic.partition(2).as_str(), "persistent://public/default/orders-partition-2");
/// # Ok::<(), pulsar_tokio::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TopicName {
    full: String,
    /// Where the local name begins.
    local: usize,
}

impl TopicName {
    /// Reads a topic name in any of Pulsar's forms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidTopic`] names the text and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: &str| Error::new(ErrorKind::InvalidTopic, format!("topic name {text:?} {why}"));
        if text.trim().is_empty() {
            return Err(refuse("is blank"));
        }
        let (domain, rest) = match text.split_once("://") {
            Some((domain @ ("persistent" | "non-persistent"), rest)) => (domain, rest),
            Some((domain, _)) => {
                return Err(refuse(&format!(
                    "has the domain {domain:?}, expected persistent or non-persistent"
                )));
            }
            None => ("persistent", text),
        };
        let complete = text.contains("://");
        let parts: Vec<&str> = rest.splitn(3, '/').collect();
        let (tenant, namespace, local) = match parts[..] {
            [local] if !complete => ("public", "default", local),
            [tenant, namespace, local] => (tenant, namespace, local),
            _ => {
                return Err(refuse(
                    "is incomplete, expected persistent://tenant/namespace/name",
                ));
            }
        };
        if tenant.is_empty() || namespace.is_empty() || local.is_empty() {
            return Err(refuse(
                "has an empty part, expected persistent://tenant/namespace/name",
            ));
        }
        if local.contains('/') {
            return Err(refuse(
                "has too many parts, expected persistent://tenant/namespace/name",
            ));
        }
        let prefix = format!("{domain}://{tenant}/{namespace}/");
        Ok(Self {
            local: prefix.len(),
            full: prefix + local,
        })
    }

    /// The full name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.full
    }

    /// The last part of the name.
    #[must_use]
    pub fn local(&self) -> &str {
        &self.full[self.local..]
    }

    /// True for topics whose messages a broker stores.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.full.starts_with("persistent")
    }

    /// The name of one partition of this topic.
    #[must_use]
    pub fn partition(&self, index: u32) -> Self {
        Self {
            full: format!("{}-partition-{index}", self.full),
            local: self.local,
        }
    }

    /// The topic that this is a partition of, or this one.
    pub(crate) fn without_partition(self) -> Self {
        if self.partition_index() < 0 {
            return self;
        }
        let end = self.full.rfind("-partition-").unwrap_or(self.full.len());
        Self {
            full: self.full[..end].to_owned(),
            local: self.local,
        }
    }

    /// Which partition this is the name of, -1 if it is none's.
    pub(crate) fn partition_index(&self) -> i32 {
        let number = self.full.rsplit_once("-partition-").map(|(_, number)| number);
        number.and_then(|number| number.parse().ok()).unwrap_or(-1)
    }

    /// The topic in the same tenant and namespace with `suffix` behind its name.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self {
            full: format!("{}{suffix}", self.full),
            local: self.local,
        }
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

/// The partition that every client in Java's default picks for a key: the hash of Java's
/// `String`, made positive, modulo the number of partitions.
pub(crate) fn partition_of_key(key: &str, partitions: u32) -> u32 {
    let hash = key.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    (hash & i32::MAX) as u32 % partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_completed() {
        for (given, full) in [
            ("orders", "persistent://public/default/orders"),
            ("acme/lab/orders", "persistent://acme/lab/orders"),
            ("persistent://acme/lab/orders", "persistent://acme/lab/orders"),
            (
                "non-persistent://acme/lab/orders",
                "non-persistent://acme/lab/orders",
            ),
        ] {
            assert_eq!(TopicName::parse(given).unwrap().as_str(), full);
        }
    }

    #[test]
    fn names_that_pulsar_refuses_are_refused_with_the_name() {
        for given in [
            "",
            "  ",
            "a/b",
            "http://a/b/c",
            "persistent://orders",
            "persistent://a/b/",
            "a//c",
            "a/b/c/d",
        ] {
            let error = TopicName::parse(given).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTopic);
            assert!(error.to_string().contains(&format!("{given:?}")), "{error}");
        }
    }

    #[test]
    fn the_local_name_is_what_follows_the_last_slash() {
        assert_eq!(
            TopicName::parse("persistent://acme/lab/orders-partition-2")
                .unwrap()
                .local(),
            "orders-partition-2"
        );
    }

    #[test]
    fn keys_hash_as_java_strings_do() {
        // Short texts can be checked by hand; the long one is the known text whose hash is i32::MIN,
        // which must not become a negative partition.
        assert_eq!(partition_of_key("", 7), 0);
        assert_eq!(partition_of_key("a", 10), 97 % 10);
        assert_eq!(partition_of_key("ab", 1000), (97 * 31 + 98) % 1000);
        assert_eq!(partition_of_key("polygenelubricants", 5), 0);
    }
}
