//! The producers that a consumer makes by itself, one for each topic, when it first needs them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pulsar_tokio::{Error, Health, Producer};
use tokio::sync::Mutex;

use crate::pulsar::Pulsar;

/// How long closing a producer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Producers by topic. A failed attempt leaves nothing behind, so the next one tries again, and a
/// producer that has ended (a terminated topic, a fence) is replaced.
#[derive(Debug)]
pub(crate) struct Producers {
    pulsar: Pulsar,
    open: Mutex<Option<HashMap<Arc<str>, Arc<Producer>>>>,
}

impl Producers {
    pub(crate) fn new(pulsar: Pulsar) -> Self {
        Self {
            pulsar,
            open: Mutex::new(Some(HashMap::new())),
        }
    }

    /// The producer to `topic`, made now if there is none.
    pub(crate) async fn to(
        &self,
        topic: &Arc<str>,
        initial_subscription: Option<&str>,
    ) -> Result<Arc<Producer>, Error> {
        // The lock is held while opening, so that two retries make one producer.
        let mut open = self.open.lock().await;
        let Some(open) = open.as_mut() else {
            return Err(closed(topic));
        };
        if let Some(producer) = open
            .get(topic)
            .filter(|producer| producer.health() != Health::Ended)
        {
            return Ok(producer.clone());
        }
        open.remove(topic);
        let producer = self.pulsar.producer(topic, initial_subscription).await?;
        open.insert(topic.clone(), producer.clone());
        Ok(producer)
    }

    /// Closes them all; a second call finds none.
    pub(crate) async fn close(&self) {
        let open = self.open.lock().await.take().unwrap_or_default();
        for producer in open.values() {
            producer.close(PATIENCE).await;
        }
    }
}

fn closed(topic: &str) -> Error {
    Error::closed(format!("the consumer that writes to {topic} is closed"))
}

#[cfg(test)]
mod tests {
    use pulsar_tokio::ErrorKind;

    use super::*;

    #[tokio::test]
    async fn after_closing_nothing_is_opened_any_more() {
        let producers = Producers::new(Pulsar::new("pulsar://127.0.0.1:1").unwrap());
        producers.close().await;
        producers.close().await;
        let error = producers.to(&"orders".into(), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
    }

    #[tokio::test]
    async fn a_failed_attempt_is_not_remembered() {
        let producers = Producers::new(Pulsar::new("pulsar://127.0.0.1:1").unwrap());
        for _ in 0..2 {
            let error = producers.to(&"orders".into(), None).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unreachable);
        }
    }
}
