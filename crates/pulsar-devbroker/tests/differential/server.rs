//! The broker that is looked at, and its administration.

use std::sync::Arc;

use pulsar_devbroker::DevBroker;
use pulsar_testing::Broker;

/// A broker of either make. A clone is the same one.
#[derive(Clone)]
pub(crate) enum Server {
    Dev(Arc<DevBroker>),
    Real(Broker),
}

impl Server {
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Dev(broker) => broker.url(),
            Self::Real(broker) => broker.url().to_owned(),
        }
    }

    pub(crate) fn create_partitioned(&self, topic: &str, partitions: u32) {
        match self {
            Self::Dev(broker) => broker.create_partitioned(topic, partitions).expect("it is new"),
            Self::Real(broker) => broker.admin().create_partitioned(topic, partitions),
        }
    }

    pub(crate) fn terminate(&self, topic: &str) {
        match self {
            Self::Dev(broker) => broker.terminate(topic).expect("it is there"),
            Self::Real(broker) => broker.admin().terminate(topic),
        }
    }

    pub(crate) fn unload(&self, topic: &str) {
        match self {
            Self::Dev(broker) => broker.unload(topic).expect("it is there"),
            Self::Real(broker) => broker.admin().unload(topic),
        }
    }

    pub(crate) fn delete(&self, topic: &str) {
        match self {
            Self::Dev(broker) => broker.delete_topic(topic).expect("it is there"),
            Self::Real(broker) => broker.admin().delete(topic, true),
        }
    }
}
