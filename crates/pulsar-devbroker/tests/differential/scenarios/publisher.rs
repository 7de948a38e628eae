//! A producer on a connection of its own.

use bytes::Bytes;
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_send};
use serde_json::Value;
use tokio::time::timeout;

use crate::peer::{PATIENCE, Peer};

/// What every message says about when it was published; the broker keeps its own time.
pub(crate) const PUBLISHED: u64 = 1_700_000_000_000;

pub(crate) struct Publisher {
    pub(crate) peer: Peer,
    sequence: u64,
}

impl Publisher {
    pub(crate) async fn open(mut peer: Peer, topic: &str) -> Self {
        let answer = peer.request(|request_id| producer(topic, request_id)).await;
        assert!(
            answer["is"] == "PRODUCER_SUCCESS",
            "no producer on {topic}: {answer}"
        );
        Self { peer, sequence: 0 }
    }

    /// Publishes one message and gives its id.
    pub(crate) async fn publish(&mut self, payload: &str) -> MessageIdData {
        self.publish_with(MessageMetadata::default(), payload).await
    }

    pub(crate) async fn publish_with(&mut self, metadata: MessageMetadata, payload: &str) -> MessageIdData {
        let (send, metadata) = self.message(metadata);
        self.peer
            .bytes(&encode_send(&send, &metadata, payload.as_bytes()))
            .await;
        self.stored().await
    }

    /// Publishes `m0`, `m1`, ... and gives their ids.
    pub(crate) async fn publish_many(&mut self, count: usize) -> Vec<MessageIdData> {
        let mut ids = Vec::new();
        for index in 0..count {
            ids.push(self.publish(&format!("m{index}")).await);
        }
        ids
    }

    /// Publishes these as one batch.
    pub(crate) async fn publish_batch(
        &mut self,
        metadata: MessageMetadata,
        payloads: &[&str],
    ) -> MessageIdData {
        let frame = self.batch(metadata, payloads);
        self.peer.bytes(&frame).await;
        self.stored().await
    }

    pub(crate) fn batch(&mut self, metadata: MessageMetadata, payloads: &[&str]) -> Bytes {
        let (mut send, mut metadata) = self.message(metadata);
        let mut batch = BatchBuilder::new();
        for payload in payloads {
            batch.push(SingleMessageMetadata::default(), payload.as_bytes());
        }
        let count = payloads.len();
        self.sequence += count as u64 - 1;
        send.num_messages = i32::try_from(count).ok();
        send.highest_sequence_id = Some(self.sequence - 1);
        metadata.num_messages_in_batch = send.num_messages;
        metadata.highest_sequence_id = send.highest_sequence_id;
        encode_send(&send, &metadata, &batch.finish())
    }

    /// The head of the next message.
    pub(crate) fn message(&mut self, metadata: MessageMetadata) -> (CommandSend, MessageMetadata) {
        let sequence_id = self.sequence;
        self.sequence += 1;
        let send = CommandSend {
            producer_id: 1,
            sequence_id,
            ..Default::default()
        };
        let metadata = MessageMetadata {
            producer_name: "shop".into(),
            sequence_id,
            publish_time: PUBLISHED,
            ..metadata
        };
        (send, metadata)
    }

    /// Sends a frame as it is and gives the answer.
    pub(crate) async fn raw(&mut self, frame: &[u8]) -> Value {
        self.peer.bytes(frame).await;
        self.peer.next().await
    }

    async fn stored(&mut self) -> MessageIdData {
        let frame = timeout(PATIENCE, self.peer.frame())
            .await
            .expect("a receipt in time");
        match frame.expect("an open connection").command {
            Command::SendReceipt(receipt) => receipt.message_id.expect("a receipt names the message"),
            other => panic!("a receipt was expected, not {other:?}"),
        }
    }
}

pub(crate) fn producer(topic: &str, request_id: u64) -> CommandProducer {
    CommandProducer {
        topic: topic.into(),
        producer_id: 1,
        request_id,
        ..Default::default()
    }
}

pub(crate) fn with_key(key: &str) -> MessageMetadata {
    MessageMetadata {
        partition_key: Some(Bytes::copy_from_slice(key.as_bytes())),
        ..Default::default()
    }
}
