//! Topics that get more partitions while they are sent to.

use std::sync::Arc;

use super::{Open, Parts, ProducerBuilder, Sending};
use crate::background::jittered;
use crate::endpoint::Guard;
use crate::error::Error;
use crate::topic::TopicName;

impl Parts {
    pub(super) fn holding(parts: Vec<Guard<Sending>>) -> Self {
        let open = Open {
            parts,
            closing: false,
        };
        Self { open: open.into() }
    }

    /// Adds partitions, all at once, so that keys move only once. When the producer is closing they are closed.
    fn add(&self, parts: Vec<Guard<Sending>>) {
        let mut open = self.write();
        if !open.closing {
            open.parts.extend(parts);
        }
    }
}

/// Asks for the number of partitions again and again, and opens what is new.
pub(super) async fn follow(builder: ProducerBuilder, topic: TopicName, parts: Arc<Parts>) {
    loop {
        tokio::time::sleep(jittered(builder.partition_check)).await;
        if let Err(error) = grow(&builder, &topic, &parts).await {
            tracing::debug!(%topic, %error, "looking for new partitions failed; they are looked for again");
        }
    }
}

async fn grow(builder: &ProducerBuilder, topic: &TopicName, parts: &Parts) -> Result<(), Error> {
    let known = u32::try_from(parts.read().parts.len()).unwrap_or(u32::MAX);
    let there = builder.partitions(topic).await?;
    if there > known {
        parts.add(builder.open_partitions(topic, known..there).await?);
        tracing::info!(%topic, partitions = there, before = known, "sending to new partitions too");
    }
    Ok(())
}
