//! What a scenario is given: topics of its own, peers, and a place for what it observes.

use std::pin::Pin;
use std::sync::Arc;

use pulsar_wire::proto::SubType;
use serde_json::Value;

use super::consumer::{Consumer, subscribe};
use super::publisher::Publisher;
use crate::groups::Lab;
use crate::peer::Peer;
use crate::server::Server;

/// A scenario as it stands in the list of its group.
pub(crate) type Run = for<'a> fn(&'a Scenario) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The scenarios of a group.
macro_rules! scenarios {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const ALL: &[(&str, super::scenario::Run)] =
            &[$((stringify!($name), |scenario| Box::pin($name(scenario)))),+];
    };
}
pub(crate) use scenarios;

/// One scenario while it runs.
pub(crate) struct Scenario {
    path: String,
    lab: Arc<Lab>,
}

impl Scenario {
    pub(crate) fn new(path: String, lab: Arc<Lab>) -> Self {
        Self { path, lab }
    }

    /// Notes what was seen, under a name within the scenario.
    pub(crate) fn observe(&self, name: &str, value: impl Into<Value>) {
        let path = format!("{}/{}", self.path, name.replace('.', "/"));
        self.lab.record.note(&path, value);
    }

    /// A topic that nobody else uses.
    pub(crate) fn topic(&self) -> String {
        self.lab.topic(&self.path.replace('/', "-"))
    }

    /// A topic with this many partitions.
    pub(crate) async fn partitioned(&self, partitions: u32) -> String {
        let topic = self.topic();
        let name = topic.clone();
        self.administer(move |server| server.create_partitioned(&name, partitions))
            .await;
        topic
    }

    /// Lets a topic take no more messages.
    pub(crate) async fn terminate(&self, topic: &str) {
        let topic = topic.to_owned();
        self.administer(move |server| server.terminate(&topic)).await;
    }

    /// Has the broker give a topic away.
    pub(crate) async fn unload(&self, topic: &str) {
        let topic = topic.to_owned();
        self.administer(move |server| server.unload(&topic)).await;
    }

    /// Deletes a topic with all that is attached to it.
    pub(crate) async fn delete(&self, topic: &str) {
        let topic = topic.to_owned();
        self.administer(move |server| server.delete(&topic)).await;
    }

    async fn administer(&self, work: impl FnOnce(&Server) + Send + 'static) {
        let server = self.lab.server.clone();
        let done = tokio::task::spawn_blocking(move || work(&server));
        done.await.expect("the broker does what its administrator wants");
    }

    /// Only a socket.
    pub(crate) async fn dial(&self) -> Peer {
        Peer::dial(&self.lab.url).await
    }

    /// After CONNECT, and not answering to PING.
    pub(crate) async fn connect_mute(&self) -> Peer {
        let mut peer = Peer::dial_mute(&self.lab.url).await;
        peer.ask(crate::peer::hello()).await;
        peer
    }

    pub(crate) async fn connect(&self) -> Peer {
        Peer::connect(&self.lab.url).await
    }

    pub(crate) async fn publisher(&self, topic: &str) -> Publisher {
        Publisher::open(self.lab.peer(topic).await, topic).await
    }

    /// Of the subscription `sub`, from the earliest message on, on a connection of its own.
    pub(crate) async fn consumer(&self, topic: &str, kind: SubType) -> Consumer {
        self.named_consumer(topic, kind, "worker").await
    }

    /// The same with a name, which decides on the keys that it gets.
    pub(crate) async fn named_consumer(&self, topic: &str, kind: SubType, name: &str) -> Consumer {
        let mut command = subscribe(topic, kind);
        command.consumer_name = Some(name.into());
        Consumer::attach(self.lab.peer(topic).await, command).await
    }
}

/// What the types of subscriptions are called in the record.
pub(crate) const KINDS: [(&str, SubType); 4] = [
    ("exclusive", SubType::Exclusive),
    ("failover", SubType::Failover),
    ("shared", SubType::Shared),
    ("key_shared", SubType::KeyShared),
];
