//! What an administrator does and what tests look at, as calls that do not wait.

use std::net::SocketAddr;
use std::time::Duration;

use pulsar_wire::proto::Schema;

use super::DevBroker;
use crate::control::Position;
use crate::control_error::{ControlError, ControlErrorKind};
use crate::peer::PeerId;
use crate::stats::{Counters, StoredEntry, Summary, TopicStats};

/// Topics are named as clients name them: in full, or by their last part for one of
/// `public/default`. A topic with partitions means all of them, except for
/// [`entries`](Self::entries), which looks at one partition. No call waits for anything but the
/// broker's lock, so all can be used where there is no runtime.
impl DevBroker {
    /// Makes a topic without partitions.
    ///
    /// # Errors
    /// When it exists, its namespace does not, or the name is none.
    pub fn create_topic(&self, topic: &str) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.create_topic(topic))
    }

    /// Makes a topic with this many partitions.
    ///
    /// # Errors
    /// When it exists, its namespace does not, or the name is none.
    pub fn create_partitioned(&self, topic: &str, partitions: u32) -> Result<(), ControlError> {
        self.hub
            .with(|broker, _| broker.create_partitioned_topic(topic, partitions))
    }

    /// Raises the number of partitions; the new ones get the subscriptions of the others.
    ///
    /// # Errors
    /// When the topic has no partitions, or not fewer.
    pub fn grow_partitions(&self, topic: &str, partitions: u32) -> Result<(), ControlError> {
        self.hub
            .with(|broker, _| broker.grow_partitions(topic, partitions))
    }

    /// How many partitions a topic has: 0 for one without, `None` when there is no such topic.
    #[must_use]
    pub fn partitions(&self, topic: &str) -> Option<u32> {
        self.hub.with(|broker, _| broker.partition_count(topic))
    }

    /// Gives a topic away and closes its producers and consumers; clients find it again.
    ///
    /// # Errors
    /// When there is no such topic.
    pub fn unload(&self, topic: &str) -> Result<(), ControlError> {
        found(self.hub.with(|broker, now| broker.unload(now, topic)), topic)
    }

    /// Lets a topic take no more messages.
    ///
    /// # Errors
    /// When there is no such topic.
    pub fn terminate(&self, topic: &str) -> Result<(), ControlError> {
        found(self.hub.with(|broker, now| broker.terminate(now, topic)), topic)
    }

    /// Deletes a topic, or all partitions of one, unless producers or consumers are attached.
    ///
    /// # Errors
    /// When there is no such topic, or it is in use.
    pub fn delete_unused_topic(&self, topic: &str) -> Result<(), ControlError> {
        self.hub.with(|broker, now| broker.delete_unused(now, topic))
    }

    /// Deletes a topic, or all partitions of one, with everything attached to it.
    ///
    /// # Errors
    /// When there is no such topic.
    pub fn delete_topic(&self, topic: &str) -> Result<(), ControlError> {
        found(self.hub.with(|broker, now| broker.delete(now, topic)), topic)
    }

    /// Makes a subscription, on all partitions if there are any; the topic too, unless it is there.
    ///
    /// # Errors
    /// When it exists, the topic's namespace does not, or a name is none.
    pub fn create_subscription(
        &self,
        topic: &str,
        subscription: &str,
        position: Position,
    ) -> Result<(), ControlError> {
        self.hub
            .with(|broker, _| broker.create_subscription(topic, subscription, position))
    }

    /// Moves a subscription to a place; its consumers are closed and come back by themselves.
    ///
    /// # Errors
    /// When there is no such topic or subscription.
    pub fn reset_cursor(
        &self,
        topic: &str,
        subscription: &str,
        position: Position,
    ) -> Result<(), ControlError> {
        let done = self
            .hub
            .with(|broker, now| broker.reset_cursor(now, topic, subscription, position));
        found(done, &format!("{topic} with {subscription}"))
    }

    /// Makes the acknowledgements so far survive
    /// [`forget_recent_acks`](Self::forget_recent_acks).
    ///
    /// # Errors
    /// When there is no such topic.
    pub fn store_acks(&self, topic: &str) -> Result<(), ControlError> {
        found(self.hub.with(|broker, _| broker.store_acks(topic)), topic)
    }

    /// Forgets the acknowledgements since the last [`store_acks`](Self::store_acks),
    /// [`unload`](Self::unload) or seek, as a crash of Pulsar does. What they covered comes again.
    ///
    /// # Errors
    /// When there is no such topic.
    pub fn forget_recent_acks(&self, topic: &str) -> Result<(), ControlError> {
        let done = self.hub.with(|broker, now| broker.forget_recent_acks(now, topic));
        found(done, topic)
    }

    /// Makes a namespace, such as `acme/shop`.
    ///
    /// # Errors
    /// When it exists, or the name is none.
    pub fn create_namespace(&self, namespace: &str) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.create_namespace(namespace))
    }

    /// Deletes a namespace with all its topics and whatever is attached to them.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn delete_namespace(&self, namespace: &str) -> Result<(), ControlError> {
        self.hub
            .with(|broker, now| broker.delete_namespace(now, namespace))
    }

    /// Whether the topics of a namespace drop what was published before, whatever the builder said.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn set_deduplication(&self, namespace: &str, on: bool) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.set_deduplication(namespace, on))
    }

    /// Whether clients make a topic of a namespace by using it; they do unless this says otherwise.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn set_topic_creation(&self, namespace: &str, on: bool) -> Result<(), ControlError> {
        self.hub
            .with(|broker, _| broker.set_topic_creation(namespace, on))
    }

    /// Limits each topic of a namespace to so many messages a second, by not reading from those
    /// who publish more; `None` lifts the limit.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn limit_publishing(
        &self,
        namespace: &str,
        messages_per_second: Option<u32>,
    ) -> Result<(), ControlError> {
        self.hub
            .with(|broker, _| broker.limit_publishing(namespace, messages_per_second))
    }

    /// Whether producers of a namespace need a schema where the topic has one.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn enforce_schema(&self, namespace: &str, on: bool) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.enforce_schema(namespace, on))
    }

    /// Limits what a consumer of a namespace may hold without acknowledging it, on Shared and
    /// Key_Shared; 50,000 messages unless this says otherwise.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn limit_unacked(&self, namespace: &str, messages: u64) -> Result<(), ControlError> {
        self.hub
            .with(|broker, _| broker.limit_unacked(namespace, messages))
    }

    /// Refuses messages of a namespace that are to be delivered later than after this time.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn limit_delay(&self, namespace: &str, most: Duration) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.limit_delay(namespace, most))
    }

    /// Gives a topic a schema.
    ///
    /// # Errors
    /// When the topic's namespace does not exist, the name is none, or the topic has a schema of
    /// another kind.
    pub fn set_schema(&self, topic: &str, schema: &Schema) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.set_schema(topic, schema))
    }

    /// Keeps the entries that every subscription has acknowledged, however many there are; without
    /// this 50,000 a topic stay, or 64 MiB.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn keep_acknowledged(&self, namespace: &str) -> Result<(), ControlError> {
        self.hub.with(|broker, _| broker.keep_acknowledged(namespace))
    }

    /// All topics together as they are now.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.hub.with(|broker, _| broker.summary())
    }

    /// The names of all topics, partitions among them.
    #[must_use]
    pub fn topics(&self) -> Vec<String> {
        self.hub.with(|broker, _| broker.topics())
    }

    /// The entries of a topic that are still stored; none when there is no such topic.
    #[must_use]
    pub fn entries(&self, topic: &str) -> Vec<StoredEntry> {
        self.hub.with(|broker, _| broker.entries(topic))
    }

    /// A topic as it is now, or `None` when there is none of this name.
    #[must_use]
    pub fn stats(&self, topic: &str) -> Option<TopicStats> {
        self.hub.with(|broker, _| broker.stats(topic))
    }

    /// What was done since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.hub.with(|broker, _| broker.counters())
    }

    /// Moves the broker's clock forward: what is delayed until then comes now.
    pub fn advance_clock(&self, by: Duration) {
        self.hub.advance_clock(by);
    }

    /// The address of a client, by the connection that figures of producers and consumers name;
    /// `None` when it is gone.
    #[must_use]
    pub fn client_addr(&self, peer: PeerId) -> Option<SocketAddr> {
        self.hub.remote(peer)
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.hub.connections()
    }

    /// Closes new connections at once, until [`accept_connections`](Self::accept_connections).
    pub fn refuse_connections(&self) {
        self.hub.set_open(false);
    }

    /// Takes new connections again.
    pub fn accept_connections(&self) {
        self.hub.set_open(true);
    }

    /// Closes all connections. Clients may come again.
    pub fn cut_connections(&self) {
        self.hub.cut_connections();
    }
}

fn found(done: bool, subject: &str) -> Result<(), ControlError> {
    if done {
        return Ok(());
    }
    Err(ControlError::new(ControlErrorKind::NotFound, subject))
}
