//! What a seed decides before anything happens.

use std::time::Duration;

use pulsar_wire::compression::Codec;
use pulsar_wire::proto::SubType;
use rand::Rng;
use rand::rngs::SmallRng;

use crate::session::producer::Batching;

/// One thing that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Deliver,
    Publish,
    PublishBatch,
    Read,
    Ack,
    GiveBack,
    Cut,
    Stall,
    Tick,
    Jump,
    Unload,
    SetBack,
    Crash,
    Corrupt,
    AckMembers,
    OpenConsumer,
    CloseConsumer,
    OpenProducer,
    CloseProducer,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) kind: SubType,
    pub(super) batch_index_acks: bool,
    pub(super) deduplication: bool,
    pub(super) clients: usize,
    pub(super) window: u32,
    pub(super) window_bytes: u64,
    pub(super) send_timeout: Option<Duration>,
    pub(super) named_producers: bool,
    pub(super) codec: Codec,
    pub(super) batching: Option<Batching>,
    /// How likely a connection is refused.
    pub(super) refusing: f64,
    /// How likely the broker names the next broker when it closes a session.
    pub(super) assigning: f64,
    pub(super) keys: u32,
    pub(super) steps: u32,
    weights: Vec<(Action, u32)>,
    total: u32,
}

impl Plan {
    pub(super) fn new(rng: &mut SmallRng) -> Self {
        let kinds = [
            SubType::Exclusive,
            SubType::Shared,
            SubType::Failover,
            SubType::KeyShared,
        ];
        // Each seed leaves some things out: what goes wrong alone hides behind what goes wrong often.
        let mut sometimes = |weight: u32, chance: f64| {
            if rng.random_bool(chance) {
                rng.random_range(1..=2 * weight)
            } else {
                0
            }
        };
        let weights = vec![
            (Action::Deliver, 400 + 2 * sometimes(200, 0.5)),
            (Action::Publish, sometimes(80, 0.95)),
            (Action::PublishBatch, sometimes(30, 0.7)),
            (Action::Read, 100 + sometimes(150, 0.5)),
            (Action::Ack, 60 + sometimes(80, 0.5)),
            (Action::GiveBack, sometimes(20, 0.6)),
            (Action::Cut, sometimes(8, 0.7)),
            (Action::Stall, sometimes(8, 0.4)),
            (Action::Tick, sometimes(40, 0.8)),
            (Action::Jump, sometimes(15, 0.7)),
            (Action::Unload, sometimes(6, 0.4)),
            (Action::SetBack, sometimes(4, 0.3)),
            (Action::Crash, sometimes(3, 0.2)),
            (Action::Corrupt, sometimes(5, 0.2)),
            (Action::AckMembers, sometimes(10, 0.3)),
            (Action::OpenConsumer, sometimes(10, 0.7)),
            (Action::CloseConsumer, sometimes(6, 0.5)),
            (Action::OpenProducer, sometimes(10, 0.7)),
            (Action::CloseProducer, sometimes(6, 0.5)),
        ];
        let windows = [1, 2, 3, 5, 10, 100];
        Self {
            kind: kinds[rng.random_range(0..kinds.len())],
            batch_index_acks: rng.random(),
            deduplication: rng.random(),
            clients: rng.random_range(1..=3),
            window: windows[rng.random_range(0..windows.len())],
            window_bytes: if rng.random() {
                u64::MAX
            } else {
                rng.random_range(1..2_000)
            },
            send_timeout: rng
                .random_bool(0.7)
                .then(|| Duration::from_secs(rng.random_range(1..40))),
            named_producers: rng.random(),
            codec: if rng.random() { Codec::None } else { Codec::Lz4 },
            batching: rng.random::<bool>().then(|| Batching {
                max_messages: rng.random_range(1..10),
                max_bytes: rng.random_range(100..2_000),
                max_delay: Duration::from_millis(rng.random_range(0..3_000)),
            }),
            refusing: if rng.random() { 0.2 } else { 0.0 },
            assigning: if rng.random() { 0.5 } else { 0.0 },
            keys: rng.random_range(1..6),
            steps: rng.random_range(50..400),
            total: weights.iter().map(|(_, weight)| weight).sum(),
            weights,
        }
    }

    pub(super) fn next(&self, rng: &mut SmallRng) -> Action {
        let mut left = rng.random_range(0..self.total);
        for (action, weight) in &self.weights {
            if left < *weight {
                return *action;
            }
            left -= weight;
        }
        Action::Deliver
    }

    /// Whether single messages are given back, and not all of them.
    pub(super) fn redelivers_singly(&self) -> bool {
        matches!(self.kind, SubType::Shared | SubType::KeyShared)
    }
}
