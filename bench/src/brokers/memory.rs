//! What the development broker takes.

use pulsar_tokio::Client;
use tokio::sync::Semaphore;

use super::ours;
use crate::Result;
use crate::process::{DevBroker, Memory};

pub(super) const BYTES: usize = 300;

/// How far the publisher may be before the consumer, who keeps up by that.
const AHEAD: usize = 5_000;

/// How often memory is looked at while messages pass.
const LOOKS: u32 = 8;

const TOPIC: &str = "memory";

/// The memory with so many messages stored, none of them acknowledged.
pub(super) fn stored(broker: &DevBroker, count: u32) -> Result<Memory> {
    ours::make_subscription(broker.url(), TOPIC)?;
    ours::block_on(async {
        let client = Client::new(broker.url())?;
        ours::publish(&client, TOPIC, count, BYTES, None).await
    })?;
    broker.process().memory()
}

/// The memory each time that an eighth of so many messages has passed, which a consumer takes as they come.
pub(super) fn passed(broker: &DevBroker, count: u32) -> Result<Vec<(u32, Memory)>> {
    ours::block_on(async {
        let client = Client::new(broker.url())?;
        let consumer = ours::subscribe(&client, TOPIC).await?;
        let (ahead, leg) = (Semaphore::new(AHEAD), count / LOOKS);
        let mut looks = Vec::new();
        for look in 1..=LOOKS {
            let publish = ours::publish(&client, TOPIC, leg, BYTES, Some(&ahead));
            let take = ours::take(&consumer, leg, || ahead.add_permits(1));
            tokio::try_join!(publish, take)?;
            looks.push((look * leg, broker.process().memory()?));
        }
        Ok(looks)
    })
}
