//! Topics that get more partitions, appear and vanish while they are consumed.

use std::sync::Arc;

use super::ConsumerBuilder;
use super::parts::Shared;
use crate::background::pause;
use crate::error::Error;
use crate::topic::TopicName;
use crate::topics::Wanted;

/// Looks again and again for what is new and what is gone.
pub(super) async fn follow(builder: ConsumerBuilder, wanted: Wanted, shared: Arc<Shared>) {
    loop {
        pause(builder.partition_check).await;
        if let Err(error) = look(&builder, &wanted, &shared).await {
            tracing::debug!(topics = %shared.topics, %error, "looking for new topics failed; they are looked for again");
        }
    }
}

async fn look(builder: &ConsumerBuilder, wanted: &Wanted, shared: &Shared) -> Result<(), Error> {
    let topics = builder.topics_now(wanted).await?;
    if matches!(wanted, Wanted::Pattern(_)) {
        shared.retain(&topics);
    }
    for topic in topics {
        // A topic that was found without partitions cannot get some.
        if shared.holds(topic.as_str()) {
            continue;
        }
        for part in builder.parts_now(&topic).await? {
            if !shared.holds(part.as_str()) {
                open(builder, shared, &topic, &part).await;
            }
        }
    }
    Ok(())
}

async fn open(builder: &ConsumerBuilder, shared: &Shared, topic: &TopicName, part: &TopicName) {
    match builder
        .open_part(topic, part, builder.place_of_new(), &shared.ready)
        .await
    {
        Ok(opened) => {
            shared.add(opened);
            tracing::info!(topic = %part, "consuming a new topic or partition too");
        }
        Err(error) => {
            tracing::warn!(topic = %part, %error, "a new topic or partition cannot be consumed; it is tried again");
        }
    }
}
