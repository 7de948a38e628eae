//! Names of topics and namespaces.

use std::sync::Arc;

use pulsar_wire::ServerError;

use crate::refusal::Refusal;

const PARTITION: &str = "-partition-";

/// A topic's name in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicName {
    pub(crate) full: Arc<str>,
    pub(crate) namespace: String,
    pub(crate) persistent: bool,
    /// Which partition it is, or -1.
    pub(crate) partition: i32,
    /// Where the partition's number begins in `full`, or its length.
    base: usize,
}

impl TopicName {
    /// Takes short names too: `orders`, `public/default/orders`.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        let invalid = || {
            Refusal::new(
                ServerError::InvalidTopicName,
                format!("Invalid topic name: '{text}'"),
            )
        };
        let (domain, path) = text.split_once("://").unwrap_or(("persistent", text));
        let persistent = match domain {
            "persistent" => true,
            "non-persistent" => false,
            _ => return Err(invalid()),
        };
        let parts: Vec<&str> = path.splitn(4, '/').collect();
        let (namespace, local) = match parts[..] {
            [local] if !text.contains("://") => ("public/default".to_owned(), local),
            [tenant, namespace, local] => (format!("{tenant}/{namespace}"), local),
            // Names of before Pulsar 2: they can be read, but there is no such namespace.
            [tenant, cluster, namespace, local] if text.contains("://") => {
                (format!("{tenant}/{cluster}/{namespace}"), local)
            }
            _ => return Err(invalid()),
        };
        if !is_namespace(&namespace) || local.trim().is_empty() {
            return Err(invalid());
        }
        let full = format!("{domain}://{namespace}/{local}");
        let partition = partition(local);
        let base = match partition {
            None => full.len(),
            Some(_) => full.rfind(PARTITION).unwrap_or(full.len()),
        };
        Ok(Self {
            full: full.into(),
            namespace,
            persistent,
            partition: partition.unwrap_or(-1),
            base,
        })
    }

    /// The name of the partitioned topic that it would be a partition of, or its own.
    pub(crate) fn partitioned(&self) -> &str {
        &self.full[..self.base]
    }

    /// What a schema is filed under, and what patterns are held against: the partitioned topic
    /// without its domain.
    pub(crate) fn path(&self) -> &str {
        let partitioned = self.partitioned();
        partitioned
            .split_once("://")
            .map_or(partitioned, |(_, path)| path)
    }

    /// The name of a partition of this topic.
    pub(crate) fn partition_of(full: &str, index: u32) -> String {
        format!("{full}{PARTITION}{index}")
    }
}

/// Whether a text can name a namespace: `tenant/namespace`, or with a cluster between them.
pub(crate) fn is_namespace(text: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-=:._".contains(letter);
    let is_name = |part: &str| !part.is_empty() && part.chars().all(is_allowed);
    matches!(text.split('/').count(), 2 | 3) && text.split('/').all(is_name)
}

/// A partition's number is written without a sign and without zeros before it.
fn partition(local: &str) -> Option<i32> {
    let (_, number) = local.rsplit_once(PARTITION)?;
    let partition: i32 = number.parse().ok()?;
    (partition >= 0 && partition.to_string() == number).then_some(partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_in_the_default_namespace() {
        let name = TopicName::parse("orders").unwrap();
        assert_eq!(&*name.full, "persistent://public/default/orders");
        assert_eq!(name.namespace, "public/default");
        assert_eq!(name.partition, -1);
    }

    #[test]
    fn a_partition_knows_its_number() {
        let name = TopicName::parse("non-persistent://a/b/orders-partition-12").unwrap();
        assert!(!name.persistent);
        assert_eq!(name.partition, 12);
        assert_eq!(name.partitioned(), "non-persistent://a/b/orders");
        assert_eq!(name.path(), "a/b/orders");
    }

    #[test]
    fn an_odd_number_makes_no_partition() {
        for text in [
            "orders-partition-01",
            "orders-partition-+1",
            "orders-partition--1",
            "orders-partition-",
        ] {
            let name = TopicName::parse(text).unwrap();
            assert_eq!((name.partition, name.partitioned()), (-1, &*name.full), "{text}");
        }
    }

    #[test]
    fn broken_names_are_refused() {
        for text in [
            "",
            "a/b",
            "http://a/b/c",
            "persistent://c",
            "persistent://a//c",
            "a/b/c/d",
            "a b/c/d",
            "persistent://a/b/ ",
        ] {
            let refusal = TopicName::parse(text).unwrap_err();
            assert_eq!(refusal.error, ServerError::InvalidTopicName, "{text}");
        }
    }
}
