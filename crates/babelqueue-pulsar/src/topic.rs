//! Names: the queue that a topic is, and where its dead letters go.

/// What a dead-letter topic's name ends with.
const DEAD_LETTER_SUFFIX: &str = ".dlq";

/// The short name of a topic, the text behind its last `/`: the queue's name in an envelope.
///
/// ```
/// # use babelqueue_pulsar::short_name;
/// assert_eq!(short_name("persistent://acme/lab/orders"), "orders");
/// assert_eq!(short_name("orders"), "orders");
/// ```
#[must_use]
pub fn short_name(topic: &str) -> &str {
    topic.rsplit_once('/').map_or(topic, |(_, name)| name)
}

/// The dead-letter topic of a work topic: the same name with `.dlq` behind it.
///
/// ```
/// # use babelqueue_pulsar::dead_letter_topic;
/// assert_eq!(dead_letter_topic("persistent://acme/lab/orders"), "persistent://acme/lab/orders.dlq");
/// ```
#[must_use]
pub fn dead_letter_topic(topic: &str) -> String {
    format!("{topic}{DEAD_LETTER_SUFFIX}")
}
