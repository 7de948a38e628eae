//! What tests ask of a broker's administration. A port: another broker can stand in behind it.

use std::fmt;
use std::time::Duration;

use crate::stats::TopicStats;

/// Where a cursor is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the first message that is kept.
    Earliest,
    /// Behind the last message.
    Latest,
    /// Before the entry with this id.
    At {
        /// The ledger of the entry.
        ledger: u64,
        /// The entry in its ledger.
        entry: u64,
    },
}

/// A schema that a topic is given.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// Pulsar's name of its kind: `STRING`, `JSON`, `AVRO`, ...
    pub kind: &'a str,
    /// Its definition: an Avro record for `JSON` and `AVRO`, empty for `STRING`.
    pub definition: &'a str,
}

/// What a producer is to do when the backlog is over its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverQuota {
    /// To keep its messages until there is room.
    Hold,
    /// To fail its messages.
    Fail,
}

/// What tests ask of a broker's administration. Topics are full names (`persistent://tenant/namespace/name`), partitioned
/// or not; namespaces are `tenant/namespace`.
///
/// # Panics
/// Every method, with the broker's answer, when the broker refuses or cannot be reached.
pub trait Admin: fmt::Debug + Send + Sync {
    /// The broker's version.
    fn version(&self) -> String;

    /// Makes a topic without partitions.
    fn create_topic(&self, topic: &str);

    /// Makes a topic with this many partitions.
    fn create_partitioned(&self, topic: &str, partitions: u32);

    /// Raises the number of partitions.
    fn grow_partitions(&self, topic: &str, partitions: u32);

    /// The number of partitions; 0 when the topic has none or is not there.
    fn partitions(&self, topic: &str) -> u32;

    /// Whether the topic is there.
    fn exists(&self, topic: &str) -> bool;

    /// Has the broker give the topic up and cut its clients off; they find it again.
    fn unload(&self, topic: &str);

    /// Ends the topic: nothing can be published any more, what is there can be read.
    fn terminate(&self, topic: &str);

    /// Deletes the topic; with `force` although it has clients or subscriptions.
    fn delete(&self, topic: &str, force: bool);

    /// Makes a subscription that starts at `position`.
    fn create_subscription(&self, topic: &str, subscription: &str, position: Position);

    /// Moves a subscription's cursor; its consumers are disconnected.
    fn reset_cursor(&self, topic: &str, subscription: &str, position: Position);

    /// What the topic says about itself; for a partitioned topic the sum over its partitions.
    fn stats(&self, topic: &str) -> TopicStats;

    /// The exact number of entries that a subscription has not acknowledged; a batch is one entry.
    fn backlog(&self, topic: &str, subscription: &str) -> u64;

    /// Gives the topic a schema.
    fn set_schema(&self, topic: &str, schema: Schema<'_>);

    /// Makes a namespace.
    fn create_namespace(&self, namespace: &str);

    /// Deletes a namespace with all its topics.
    fn delete_namespace(&self, namespace: &str);

    /// Whether producers and consumers without a schema are refused on topics that have one.
    fn enforce_schema(&self, namespace: &str, enforced: bool);

    /// Whether the broker drops what a producer sends twice.
    fn set_deduplication(&self, namespace: &str, on: bool);

    /// Limits each topic of the namespace to this many messages a second; `None` lifts the limit.
    fn limit_publishing(&self, namespace: &str, messages_per_second: Option<u32>);

    /// Limits the backlog of each topic of the namespace to this many bytes.
    fn limit_backlog(&self, namespace: &str, bytes: u64, over: OverQuota);

    /// Refuses messages of the namespace that are to be delivered later than after this time.
    fn limit_delay(&self, namespace: &str, most: Duration);

    /// Limits what a consumer of the namespace may have unacknowledged on Shared and `Key_Shared`.
    fn limit_unacked(&self, namespace: &str, messages: u32);

    /// Whether clients make a topic by using it.
    fn set_topic_creation(&self, namespace: &str, on: bool);

    /// Keeps acknowledged messages, so that a cursor can be moved back to them.
    fn keep_acknowledged(&self, namespace: &str);
}
