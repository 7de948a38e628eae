//! What a consumer reads: a topic, several, or those of a namespace whose names match a pattern.

use std::fmt;

use regex_lite::Regex;

use crate::error::{Error, ErrorKind};
use crate::topic::TopicName;

/// The topics of a consumer.
///
/// ```
/// # use pulsar_tokio::Topics;
/// let one: Topics = "orders".into();
/// let several = Topics::of(["orders", "returns"]);
/// let all = Topics::pattern("persistent://acme/shop/orders-.*");
/// ```
#[derive(Clone)]
pub struct Topics(Kind);

#[derive(Clone)]
enum Kind {
    Named(Vec<String>),
    Pattern(String),
}

impl Topics {
    /// These topics. One that is named twice counts once.
    pub fn of<T: Into<String>>(topics: impl IntoIterator<Item = T>) -> Self {
        Self(Kind::Named(topics.into_iter().map(Into::into).collect()))
    }

    /// The topics of one namespace whose names match a regular expression as a whole, those that are made later too.
    ///
    /// `persistent://acme/shop/orders-.*` has the namespace in front; a pattern without one, such as `orders-.*`, looks in
    /// `public/default`. A pattern that begins with `non-persistent://` finds topics that are not persistent, any other
    /// finds persistent ones. The syntax is that of the crate `regex`: without look-around and back references.
    pub fn pattern(pattern: impl Into<String>) -> Self {
        Self(Kind::Pattern(pattern.into()))
    }

    /// The topics as they were named; none for a pattern.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match &self.0 {
            Kind::Named(names) => names,
            Kind::Pattern(_) => &[],
        }
    }

    /// # Errors
    ///
    /// A name is none of Pulsar's, or the pattern cannot be read.
    pub(crate) fn parse(&self) -> Result<Wanted, Error> {
        match &self.0 {
            Kind::Pattern(pattern) => Pattern::parse(pattern).map(Wanted::Pattern),
            Kind::Named(names) => {
                let mut topics: Vec<TopicName> = Vec::with_capacity(names.len());
                for name in names {
                    let topic = TopicName::parse(name)?;
                    if !topics.contains(&topic) {
                        topics.push(topic);
                    }
                }
                if topics.is_empty() {
                    return Err(Error::new(
                        ErrorKind::InvalidTopic,
                        "no topic is named, expected at least one",
                    ));
                }
                Ok(Wanted::Named(topics))
            }
        }
    }
}

impl From<&str> for Topics {
    fn from(topic: &str) -> Self {
        Self::of([topic])
    }
}

impl From<String> for Topics {
    fn from(topic: String) -> Self {
        Self::of([topic])
    }
}

impl From<&String> for Topics {
    fn from(topic: &String) -> Self {
        Self::of([topic])
    }
}

impl From<TopicName> for Topics {
    fn from(topic: TopicName) -> Self {
        Self::of([topic.as_str()])
    }
}

impl From<&TopicName> for Topics {
    fn from(topic: &TopicName) -> Self {
        Self::of([topic.as_str()])
    }
}

impl fmt::Display for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Named(names) => f.write_str(&names.join(", ")),
            Kind::Pattern(pattern) => write!(f, "topics like {pattern}"),
        }
    }
}

impl fmt::Debug for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a consumer reads, checked.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// At least one, all different.
    Named(Vec<TopicName>),
    Pattern(Pattern),
}

/// A namespace and what the names in it have to be like.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) namespace: String,
    pub(crate) persistent: bool,
    /// As the broker is asked, with the namespace in front.
    pub(crate) text: String,
    local: Regex,
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, Error> {
        let refuse =
            |why: String| Error::new(ErrorKind::InvalidTopic, format!("topic pattern {text:?} {why}"));
        let (persistent, rest) = match text.split_once("://") {
            Some(("persistent", rest)) => (true, rest),
            Some(("non-persistent", rest)) => (false, rest),
            Some((domain, _)) => {
                return Err(refuse(format!(
                    "has the domain {domain:?}, expected persistent or non-persistent"
                )));
            }
            None => (true, text),
        };
        let parts: Vec<&str> = rest.splitn(3, '/').collect();
        let (tenant, namespace, local) = match parts[..] {
            [local] => ("public", "default", local),
            [tenant, namespace, local] => (tenant, namespace, local),
            _ => return Err(refuse("is incomplete, expected tenant/namespace/pattern".into())),
        };
        let is_name = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_=:.".contains(c))
        };
        if !is_name(tenant) || !is_name(namespace) {
            return Err(refuse(
                "has no plain tenant and namespace in front of the pattern".into(),
            ));
        }
        if local.is_empty() {
            return Err(refuse("is empty behind the namespace".into()));
        }
        let local_regex = Regex::new(&format!("^(?:{local})$"))
            .map_err(|error| refuse(format!("is no regular expression: {error}")))?;
        let domain = if persistent {
            "persistent"
        } else {
            "non-persistent"
        };
        Ok(Self {
            namespace: format!("{tenant}/{namespace}"),
            persistent,
            text: format!("{domain}://{tenant}/{namespace}/{local}"),
            local: local_regex,
        })
    }

    /// The topics among these full names that match, without partitions and without Pulsar's own.
    pub(crate) fn pick(&self, names: &[String]) -> Vec<TopicName> {
        let mut topics: Vec<TopicName> = names
            .iter()
            .filter_map(|name| TopicName::parse(name).ok())
            .map(|topic| topic.without_partition())
            .filter(|topic| topic.is_persistent() == self.persistent)
            .filter(|topic| !topic.local().starts_with("__") && self.local.is_match(topic.local()))
            .collect();
        topics.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        topics.dedup();
        topics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        match Topics::pattern(text).parse().unwrap() {
            Wanted::Pattern(pattern) => pattern,
            Wanted::Named(topics) => panic!("{topics:?}"),
        }
    }

    fn picked(text: &str, names: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let topics = pattern(text).pick(&names);
        topics.iter().map(|topic| topic.as_str().to_owned()).collect()
    }

    #[test]
    fn a_topic_that_is_named_twice_counts_once() {
        let topics = Topics::of(["orders", "returns", "persistent://public/default/orders"]);
        match topics.parse().unwrap() {
            Wanted::Named(topics) => assert_eq!(topics.len(), 2),
            Wanted::Pattern(pattern) => panic!("{pattern:?}"),
        }
    }

    #[test]
    fn a_pattern_has_to_match_the_whole_name() {
        let names = [
            "persistent://public/default/orders-1",
            "persistent://public/default/old-orders-1",
            "persistent://public/default/orders-",
        ];
        assert_eq!(picked("orders-.+", &names), [names[0]]);
        assert_eq!(picked("orders-1|orders-", &names), [names[2], names[0]]);
    }

    #[test]
    fn partitions_count_as_their_topic_and_topics_of_pulsars_own_do_not_count() {
        let names = [
            "persistent://acme/shop/orders-partition-0",
            "persistent://acme/shop/orders-partition-1",
            "persistent://acme/shop/__change_events",
            "non-persistent://acme/shop/orders-live",
        ];
        assert_eq!(
            picked("persistent://acme/shop/.*", &names),
            ["persistent://acme/shop/orders"]
        );
        assert_eq!(picked("non-persistent://acme/shop/.*", &names), [names[3]]);
    }

    #[test]
    fn patterns_that_cannot_be_read_are_refused_with_their_text() {
        for text in ["", "a/b", "http://a/b/c", "a/b/", "a.*/b/c", "a/b/("] {
            let error = Topics::pattern(text).parse().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTopic, "{text}");
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn no_topic_at_all_is_refused() {
        let error = Topics::of(Vec::<String>::new()).parse().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTopic);
    }
}
