//! Another client: it publishes batches, some compressed, some broken, and acknowledges members.

use bytes::Bytes;
use pulsar_devbroker::PeerId;
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::compression::{Codec, compress};
use pulsar_wire::proto::{
    CommandAck, CommandCloseConsumer, CommandConnect, CommandFlow, CommandLookupTopic, CommandProducer,
    CommandSend, CommandSubscribe, InitialPosition, MessageIdData, MessageMetadata, SingleMessageMetadata,
    SubType,
};
use pulsar_wire::{AckSet, Command, MessageFrame, encode_headers_and_payload};
use rand::Rng;

use super::truth::numbers_of;
use super::world::{Check, SUBSCRIPTION, TOPIC, World};

/// What the peer's producer is numbered on its connection.
const PRODUCER: u64 = 1;

#[derive(Debug, Default)]
pub(super) struct Peer {
    pub(super) id: Option<PeerId>,
    is_open: bool,
    requests: u64,
    sequence: u64,
    received: Vec<(MessageIdData, Vec<i64>, MessageFrame)>,
}

impl Peer {
    /// What the broker sent to it.
    pub(super) fn take(&mut self, command: Command, message: Option<Bytes>) {
        match command {
            Command::ProducerSuccess(_) => self.is_open = true,
            Command::CloseProducer(_) => self.is_open = false,
            Command::Message(delivery) => {
                let frame = MessageFrame::parse(message.unwrap_or_default());
                self.received.push((delivery.message_id, delivery.ack_set, frame));
            }
            _ => {}
        }
    }
}

impl World {
    pub(super) fn publish_batch(&mut self) -> Check {
        self.open_peer()?;
        if !self.peer.is_open {
            return Ok(());
        }
        let count = match self.rng.random_range(0..20) {
            0 => self.rng.random_range(60..140),
            1 => 1,
            _ => self.rng.random_range(1..6),
        };
        let key = self.any_key();
        let mut batch = BatchBuilder::new();
        for _ in 0..count {
            let (_, payload) = self.truth.publish(None);
            let metadata = SingleMessageMetadata {
                partition_key: key.clone(),
                ..SingleMessageMetadata::default()
            };
            batch.push(metadata, &payload);
        }
        let codecs = [Codec::None, Codec::Lz4, Codec::Snappy];
        let codec = codecs[self.rng.random_range(0..codecs.len())];
        let is_broken = self.rng.random_bool(0.1);
        let claimed = count + if is_broken { self.rng.random_range(1..3) } else { 0 };
        let size = u32::try_from(batch.size()).map_err(|error| error.to_string())?;
        let payload = compress(codec, &batch.finish()).map_err(|error| error.to_string())?;
        let metadata = MessageMetadata {
            producer_name: "peer".into(),
            sequence_id: self.peer.sequence,
            publish_time: self.unix_ms(),
            partition_key: key,
            num_messages_in_batch: Some(claimed),
            compression: Some(codec.number()),
            uncompressed_size: Some(size),
            ..MessageMetadata::default()
        };
        let send = CommandSend {
            producer_id: PRODUCER,
            sequence_id: self.peer.sequence,
            num_messages: Some(claimed),
            highest_sequence_id: Some(self.peer.sequence + u64::from(claimed.unsigned_abs()) - 1),
            ..CommandSend::default()
        };
        self.peer.sequence += u64::from(claimed.unsigned_abs());
        self.note(|| format!("the peer publishes {count} messages as {claimed}, {codec}"));
        let message = encode_headers_and_payload(&metadata, &payload);
        self.tell_broker(send.into(), Some(message))
    }

    /// Comes as a consumer, acknowledges some members of what it gets, and goes.
    pub(super) fn ack_members(&mut self) -> Check {
        if self.plan.kind != SubType::Shared || !self.plan.batch_index_acks {
            return Ok(());
        }
        self.open_peer()?;
        let consumer_id = self.peer.requests;
        self.peer.requests += 1;
        let subscribe = CommandSubscribe {
            topic: TOPIC.to_owned(),
            subscription: SUBSCRIPTION.to_owned(),
            sub_type: SubType::Shared as i32,
            consumer_id,
            request_id: consumer_id,
            initial_position: Some(InitialPosition::Earliest as i32),
            ..CommandSubscribe::default()
        };
        self.tell_broker(subscribe.into(), None)?;
        let flow = CommandFlow {
            consumer_id,
            message_permits: 1,
        };
        self.tell_broker(flow.into(), None)?;
        for (id, open, frame) in std::mem::take(&mut self.peer.received) {
            self.ack_some(consumer_id, id, &open, &frame)?;
        }
        let close = CommandCloseConsumer {
            consumer_id,
            request_id: consumer_id,
            ..CommandCloseConsumer::default()
        };
        self.tell_broker(close.into(), None)
    }

    fn ack_some(&mut self, consumer_id: u64, id: MessageIdData, open: &[i64], frame: &MessageFrame) -> Check {
        let numbers = numbers_of(frame);
        let metadata = frame.metadata().map_err(|error| error.to_string())?;
        let Some(of) = metadata.num_messages_in_batch else {
            return Ok(());
        };
        let mut left = AckSet::full(of.unsigned_abs());
        let mut acked = Vec::new();
        for (index, number) in (0..).zip(numbers) {
            let was_open = open.is_empty() || AckSet::from_words(open.to_vec()).is_set(index);
            if number.is_some() && was_open && self.rng.random() {
                left.clear(index);
                acked.push((index, number));
            }
        }
        if acked.is_empty() || left.is_empty() {
            return Ok(());
        }
        self.note(|| format!("the peer acknowledges {acked:?} of entry {}", id.entry_id));
        self.truth.acked_elsewhere(id.entry_id, &acked);
        let ack = CommandAck {
            consumer_id,
            message_id: vec![MessageIdData {
                ack_set: left.into_words(),
                ..id
            }],
            ..CommandAck::default()
        };
        self.tell_broker(ack.into(), None)
    }

    fn open_peer(&mut self) -> Check {
        if self.peer.id.is_none() {
            self.peer.id = Some(self.broker.connect(self.now));
            self.tell_broker(CommandConnect::default().into(), None)?;
        }
        if self.peer.is_open {
            return Ok(());
        }
        let request_id = self.peer.requests;
        self.peer.requests += 2;
        let look_up = CommandLookupTopic {
            topic: TOPIC.to_owned(),
            request_id,
            ..CommandLookupTopic::default()
        };
        self.tell_broker(look_up.into(), None)?;
        let producer = CommandProducer {
            topic: TOPIC.to_owned(),
            producer_id: PRODUCER,
            request_id: request_id + 1,
            producer_name: Some("peer".to_owned()),
            ..CommandProducer::default()
        };
        self.tell_broker(producer.into(), None)
    }

    fn tell_broker(&mut self, command: Command, message: Option<Bytes>) -> Check {
        if let Some(peer) = self.peer.id {
            self.broker.receive(self.now, peer, command, message);
        }
        self.pump()
    }
}
