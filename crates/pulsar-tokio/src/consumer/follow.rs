//! Topics that get more partitions, appear and vanish while they are consumed.
//!
//! Looking from time to time finds all of it. Where a broker tells of new and deleted topics by itself, that is a hint to
//! look now.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::ConsumerBuilder;
use super::parts::Shared;
use crate::background::jittered;
use crate::error::Error;
use crate::topic::TopicName;
use crate::topic_watch::TopicWatch;
use crate::topics::{Pattern, Wanted};

/// How long after a hint to look: partitions of a new topic are made one after the other.
const SOON: Duration = Duration::from_millis(50);

/// The shortest time between two looks.
const REST: Duration = Duration::from_secs(1);

/// How often to look after a hint: what a broker tells can be ahead of what it answers.
const LOOKS: u32 = 3;

/// Looks again and again for what is new and what is gone.
pub(super) async fn follow(builder: ConsumerBuilder, wanted: Wanted, shared: Arc<Shared>) {
    let mut watch = Watch::new(&wanted);
    watch.begin(&builder).await;
    let mut looks = 0;
    let mut looked = Instant::now();
    let mut due = looked + jittered(builder.partition_check);
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            () = watch.changed() => {
                looks = LOOKS;
                due = due.min((Instant::now() + SOON).max(looked + REST));
                continue;
            }
        }
        watch.begin(&builder).await;
        if let Err(error) = look(&builder, &wanted, &shared).await {
            tracing::debug!(topics = %shared.topics, %error, "looking for new topics failed; they are looked for again");
        }
        looked = Instant::now();
        looks = looks.saturating_sub(1);
        due = looked
            + if looks > 0 {
                REST
            } else {
                jittered(builder.partition_check)
            };
    }
}

/// A watch at a broker, where there can be one.
enum Watch {
    /// There is nothing to be told.
    Never,
    Wanted(Pattern),
    Stands(Pattern, TopicWatch),
}

impl Watch {
    fn new(wanted: &Wanted) -> Self {
        match wanted {
            Wanted::Named(_) => Self::Never,
            Wanted::Pattern(pattern) => Self::Wanted(pattern.clone()),
        }
    }

    /// Begins one if there is none; a broker that has none is not asked again.
    async fn begin(&mut self, builder: &ConsumerBuilder) {
        let pattern = match self {
            Self::Wanted(pattern) => pattern.clone(),
            Self::Stands(pattern, watch) if watch.is_lost() => pattern.clone(),
            Self::Never | Self::Stands(..) => return,
        };
        *self = match TopicWatch::begin(&builder.client.0, &pattern).await {
            Ok(Some(watch)) => Self::Stands(pattern, watch),
            Ok(None) => Self::Never,
            Err(error) if error.is_transient() => Self::Wanted(pattern),
            Err(error) => {
                tracing::debug!(%error, "topics are not watched; they are looked for from time to time");
                Self::Never
            }
        };
    }

    async fn changed(&self) {
        match self {
            Self::Stands(_, watch) => watch.changed().await,
            Self::Never | Self::Wanted(_) => std::future::pending().await,
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
    let opened = builder.open_part(topic, part, builder.place_of_new(), &shared.ready);
    match opened.await {
        Ok(opened) => {
            shared.add(opened);
            tracing::info!(topic = %part, "consuming a new topic or partition too");
        }
        Err(error) => {
            tracing::warn!(topic = %part, %error, "a new topic or partition cannot be consumed; it is tried again");
        }
    }
}
