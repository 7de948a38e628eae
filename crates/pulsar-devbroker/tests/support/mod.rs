//! Drives a broker with a clock moved by hand.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pulsar_devbroker::{Broker, Config, Output, PeerId, SubscriptionStats};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_headers_and_payload};

pub(crate) const TOPIC: &str = "persistent://public/default/orders";
pub(crate) const START_MS: u64 = 1_700_000_000_000;

pub(crate) struct World {
    pub(crate) broker: Broker,
    pub(crate) now: Instant,
    pub(crate) started: Instant,
    /// All that was sent, with messages beside MESSAGE.
    pub(crate) sent: VecDeque<(PeerId, Command, Option<Bytes>)>,
    pub(crate) closed: Vec<(PeerId, String)>,
    /// The first connection.
    publisher: Option<PeerId>,
    requests: u64,
    sequences: u64,
}

/// A consumer of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Consumer {
    pub(crate) peer: PeerId,
    pub(crate) id: u64,
}

/// A delivery as a consumer sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delivery {
    pub(crate) consumer: Consumer,
    pub(crate) id: MessageIdData,
    pub(crate) count: u32,
    pub(crate) epoch: Option<u64>,
    pub(crate) ack_set: Vec<i64>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(settings: impl FnOnce(&mut Config)) -> Self {
        let now = Instant::now();
        let mut config = Config::new(now, START_MS);
        settings(&mut config);
        Self {
            broker: Broker::new(config),
            now,
            started: now,
            sent: VecDeque::new(),
            closed: Vec::new(),
            publisher: None,
            requests: 0,
            sequences: 0,
        }
    }

    /// A connection that said CONNECT and looked the topic up.
    pub(crate) fn peer(&mut self) -> PeerId {
        let peer = self.broker.connect(self.now);
        self.publisher.get_or_insert(peer);
        self.send(peer, CommandConnect::default());
        self.look_up(peer);
        self.sent.clear();
        peer
    }

    /// The first connection.
    pub(crate) fn publisher(&self) -> PeerId {
        self.publisher.expect("a connection")
    }

    pub(crate) fn look_up(&mut self, peer: PeerId) {
        let request_id = self.request();
        self.send(
            peer,
            CommandLookupTopic {
                topic: TOPIC.into(),
                request_id,
                ..Default::default()
            },
        );
    }

    pub(crate) fn request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    pub(crate) fn send(&mut self, peer: PeerId, command: impl Into<Command>) {
        self.broker.receive(self.now, peer, command.into(), None);
        self.drain();
    }

    pub(crate) fn send_with(&mut self, peer: PeerId, command: impl Into<Command>, message: Bytes) {
        self.broker.receive(self.now, peer, command.into(), Some(message));
        self.drain();
    }

    /// Moves the clock, stopping wherever the broker wants to act.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.broker.next_time().filter(|next| *next <= end) {
            assert!(next > self.now, "a moment in the past would never end");
            self.now = next;
            self.broker.on_time(self.now);
            self.drain();
        }
        self.now = end;
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.broker.poll_output() {
            match output {
                Output::Send {
                    peer,
                    command,
                    message,
                } => self.sent.push_back((peer, command, message)),
                Output::Close { peer, why } => self.closed.push((peer, why)),
                _ => unreachable!("there is no other output"),
            }
        }
    }

    /// The only answer so far, the rest unread.
    pub(crate) fn answer(&mut self) -> Command {
        let (_, command, _) = self.sent.pop_front().expect("an answer");
        command
    }

    /// What was delivered since the last time.
    pub(crate) fn deliveries(&mut self) -> Vec<Delivery> {
        let sent = std::mem::take(&mut self.sent);
        let deliveries = sent.into_iter().filter_map(|(peer, command, _)| match command {
            Command::Message(message) => Some(Delivery {
                consumer: Consumer {
                    peer,
                    id: message.consumer_id,
                },
                count: message.redelivery_count(),
                epoch: message.consumer_epoch,
                id: message.message_id,
                ack_set: message.ack_set,
            }),
            _ => None,
        });
        deliveries.collect()
    }

    /// The entry ids of what was delivered since the last time.
    pub(crate) fn entries(&mut self) -> Vec<u64> {
        self.deliveries()
            .iter()
            .map(|delivery| delivery.id.entry_id)
            .collect()
    }

    pub(crate) fn open_producer(&mut self, peer: PeerId, id: u64) {
        let request_id = self.request();
        self.send(
            peer,
            CommandProducer {
                producer_id: id,
                ..producer(request_id)
            },
        );
    }

    pub(crate) fn publish(&mut self, peer: PeerId, metadata: MessageMetadata) {
        let publish_time = START_MS;
        self.publish_at(
            peer,
            MessageMetadata {
                publish_time,
                ..metadata
            },
        );
    }

    /// As [`publish`](Self::publish), at the time that the metadata says.
    pub(crate) fn publish_at(&mut self, peer: PeerId, metadata: MessageMetadata) {
        let sequence_id = self.sequences;
        self.sequences += 1;
        let metadata = MessageMetadata {
            producer_name: "shop".into(),
            sequence_id,
            ..metadata
        };
        let message = encode_headers_and_payload(&metadata, b"order");
        let send = CommandSend {
            producer_id: 1,
            sequence_id,
            ..Default::default()
        };
        self.send_with(peer, send, message);
    }

    pub(crate) fn publish_many(&mut self, peer: PeerId, count: u64) {
        for _ in 0..count {
            self.publish(peer, MessageMetadata::default());
        }
    }

    /// A consumer of the subscription `billing` that starts at the earliest message.
    pub(crate) fn subscribe(&mut self, peer: PeerId, id: u64, kind: SubType) -> Consumer {
        let request_id = self.request();
        self.send(
            peer,
            CommandSubscribe {
                consumer_id: id,
                ..subscribe(request_id, kind)
            },
        );
        Consumer { peer, id }
    }

    pub(crate) fn flow(&mut self, consumer: Consumer, message_permits: u32) {
        self.send(
            consumer.peer,
            CommandFlow {
                consumer_id: consumer.id,
                message_permits,
            },
        );
    }

    pub(crate) fn ack(&mut self, consumer: Consumer, id: &MessageIdData) {
        self.send(
            consumer.peer,
            CommandAck {
                consumer_id: consumer.id,
                message_id: vec![id.clone()],
                ..Default::default()
            },
        );
    }

    pub(crate) fn ack_cumulative(&mut self, consumer: Consumer, id: &MessageIdData) {
        self.send(
            consumer.peer,
            CommandAck {
                consumer_id: consumer.id,
                ack_type: AckType::Cumulative as i32,
                message_id: vec![id.clone()],
                ..Default::default()
            },
        );
    }

    pub(crate) fn redeliver(&mut self, consumer: Consumer, ids: &[MessageIdData]) {
        self.send(
            consumer.peer,
            CommandRedeliverUnacknowledgedMessages {
                consumer_id: consumer.id,
                message_ids: ids.to_vec(),
                consumer_epoch: None,
            },
        );
    }

    pub(crate) fn close(&mut self, consumer: Consumer) {
        let request_id = self.request();
        self.send(
            consumer.peer,
            CommandCloseConsumer {
                consumer_id: consumer.id,
                request_id,
                ..Default::default()
            },
        );
    }

    pub(crate) fn disconnect(&mut self, peer: PeerId) {
        self.broker.disconnect(self.now, peer);
        self.drain();
    }

    pub(crate) fn billing(&self) -> SubscriptionStats {
        self.broker.stats(TOPIC).expect("the topic").subscriptions["billing"].clone()
    }
}

pub(crate) fn producer(request_id: u64) -> CommandProducer {
    CommandProducer {
        topic: TOPIC.into(),
        producer_id: 1,
        request_id,
        ..Default::default()
    }
}

pub(crate) fn subscribe(request_id: u64, kind: SubType) -> CommandSubscribe {
    CommandSubscribe {
        topic: TOPIC.into(),
        subscription: "billing".into(),
        sub_type: kind as i32,
        consumer_id: 1,
        request_id,
        initial_position: Some(InitialPosition::Earliest as i32),
        ..Default::default()
    }
}

pub(crate) fn with_key(key: &str) -> MessageMetadata {
    MessageMetadata {
        partition_key: Some(Bytes::copy_from_slice(key.as_bytes())),
        ..Default::default()
    }
}

pub(crate) fn batch_of(count: i32) -> MessageMetadata {
    MessageMetadata {
        num_messages_in_batch: Some(count),
        ..Default::default()
    }
}

pub(crate) fn due_in(ms: u64) -> MessageMetadata {
    let time = i64::try_from(START_MS + ms).expect("a time of this century");
    MessageMetadata {
        deliver_at_time: Some(time),
        ..Default::default()
    }
}

pub(crate) fn server_error(command: &Command) -> Option<pulsar_wire::ServerError> {
    match command {
        Command::Error(error) => Some(pulsar_wire::ServerError::from_i32(error.error)),
        _ => None,
    }
}
