//! A publisher to be opened, with the settings of the producer below it.

use std::future::IntoFuture;
use std::pin::Pin;

use pulsar_tokio::{Batching, Compression, ProducerBuilder};

use crate::Publisher;
use crate::open_error::OpenError;
use crate::pulsar::Pulsar;
use crate::sink::PulsarSink;

/// A publisher to be opened: await it as it is, or with other settings.
///
/// ```no_run
/// # async fn demo(pulsar: babelqueue_pulsar::Pulsar) -> Result<(), babelqueue_pulsar::OpenError> {
/// use babelqueue_pulsar::{Batching, Compression};
///
/// let orders = pulsar.publisher("orders").await?;
/// let clicks = pulsar
///     .publisher("clicks")
///     .batching(Batching::new())
///     .compression(Compression::Lz4)
///     .max_pending(5_000)
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The broker cannot be reached or refuses.
///
/// # Cancel safety
///
/// Dropping the future closes what it has opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before it is awaited"]
pub struct PublisherBuilder {
    topic: String,
    producer: ProducerBuilder,
}

impl PublisherBuilder {
    pub(crate) fn new(pulsar: &Pulsar, topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            producer: pulsar.client().producer(topic),
        }
    }

    /// Puts messages of one key, and those without a key, together into batches. By default each is sent alone.
    pub fn batching(mut self, batching: Batching) -> Self {
        self.producer = self.producer.batching(batching);
        self
    }

    /// How bodies are compressed. Default: not at all.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.producer = self.producer.compression(compression);
        self
    }

    /// How many messages may wait for their receipts before publishing has to wait. Default 500; batches get larger with
    /// more.
    pub fn max_pending(mut self, messages: u32) -> Self {
        self.producer = self.producer.max_pending(messages);
        self
    }
}

impl IntoFuture for PublisherBuilder {
    type Output = Result<Publisher, OpenError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let opened = self.producer.open().await;
            let producer =
                opened.map_err(|error| OpenError::pulsar(&format!("publish to {}", self.topic), error))?;
            Ok(Publisher::new(PulsarSink::new(producer)))
        })
    }
}
