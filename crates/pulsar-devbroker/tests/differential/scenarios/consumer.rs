//! A consumer on a connection of its own.

use std::time::{Duration, Instant};

use pulsar_wire::batch::BatchReader;
use pulsar_wire::proto::*;
use pulsar_wire::{Checksum, Command, MessageFrame};
use serde_json::Value;

use crate::peer::{PATIENCE, Peer, SILENCE};

pub(crate) struct Consumer {
    pub(crate) peer: Peer,
}

pub(crate) struct Delivery {
    pub(crate) command: CommandMessage,
    pub(crate) message: MessageFrame,
}

impl Consumer {
    /// Pulsar takes a moment to forget a consumer or a subscription; so it is asked again while it
    /// is not ready.
    pub(crate) async fn attach(mut peer: Peer, command: CommandSubscribe) -> Self {
        let start = Instant::now();
        loop {
            let ask = |request_id| CommandSubscribe {
                request_id,
                ..command.clone()
            };
            let answer = peer.request(ask).await;
            if answer["is"] == "SUCCESS" {
                return Self { peer };
            }
            let is_transient = answer["error"] == "ServiceNotReady";
            assert!(
                is_transient && start.elapsed() < PATIENCE,
                "no consumer: {answer}"
            );
        }
    }

    pub(crate) async fn flow(&mut self, message_permits: u32) {
        self.peer
            .tell(CommandFlow {
                consumer_id: 1,
                message_permits,
            })
            .await;
    }

    /// The next so many deliveries, or as many as come.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Delivery> {
        self.take_within(count, PATIENCE).await
    }

    /// All deliveries until nothing more comes.
    pub(crate) async fn rest(&mut self) -> Vec<Delivery> {
        self.take_within(usize::MAX, SILENCE).await
    }

    pub(crate) async fn take_within(&mut self, count: usize, patience: Duration) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        while deliveries.len() < count {
            let Some(frame) = self.peer.message(1, patience).await else {
                break;
            };
            if let (Command::Message(command), Some(message)) = (frame.command, frame.message) {
                deliveries.push(Delivery { command, message });
            }
        }
        deliveries
    }

    /// Gives permits for plenty and then all that comes.
    pub(crate) async fn everything(&mut self) -> Vec<Delivery> {
        self.flow(1000).await;
        self.some().await
    }

    /// What comes where something should.
    pub(crate) async fn some(&mut self) -> Vec<Delivery> {
        let mut all = self.take_within(1, Duration::from_secs(4)).await;
        all.extend(self.rest().await);
        all
    }

    pub(crate) async fn ack(&mut self, ids: &[MessageIdData]) -> Value {
        self.ack_as(AckType::Individual, ids).await
    }

    pub(crate) async fn ack_as(&mut self, kind: AckType, ids: &[MessageIdData]) -> Value {
        self.peer
            .request(|request_id| ack(kind, ids, Some(request_id)))
            .await
    }

    /// Asks for messages again; without ids for all.
    pub(crate) async fn redeliver(&mut self, ids: &[MessageIdData]) {
        self.redeliver_with_epoch(ids, None).await;
    }

    pub(crate) async fn redeliver_with_epoch(&mut self, ids: &[MessageIdData], consumer_epoch: Option<u64>) {
        let message_ids = ids.to_vec();
        let command = CommandRedeliverUnacknowledgedMessages {
            consumer_id: 1,
            message_ids,
            consumer_epoch,
        };
        self.peer.tell(command).await;
    }

    pub(crate) async fn close(&mut self) -> Value {
        self.peer.request(|request_id| close(1, request_id)).await
    }

    pub(crate) async fn last_id(&mut self) -> Value {
        self.peer
            .request(|request_id| CommandGetLastMessageId {
                consumer_id: 1,
                request_id,
            })
            .await
    }

    pub(crate) async fn unsubscribe(&mut self, force: Option<bool>) -> Value {
        self.peer
            .request(|request_id| CommandUnsubscribe {
                consumer_id: 1,
                request_id,
                force,
            })
            .await
    }

    /// All that comes up to the answer.
    pub(crate) async fn seek(&mut self, message_id: Option<MessageIdData>, time: Option<u64>) -> Value {
        let seek = |request_id| CommandSeek {
            consumer_id: 1,
            request_id,
            message_id,
            message_publish_time: time,
        };
        self.peer.exchange(seek).await
    }
}

pub(crate) fn close(consumer_id: u64, request_id: u64) -> CommandCloseConsumer {
    CommandCloseConsumer {
        consumer_id,
        request_id,
        ..Default::default()
    }
}

pub(crate) fn ack(kind: AckType, ids: &[MessageIdData], request_id: Option<u64>) -> CommandAck {
    CommandAck {
        consumer_id: 1,
        ack_type: kind as i32,
        message_id: ids.to_vec(),
        request_id,
        ..Default::default()
    }
}

/// To the subscription `sub`, from the earliest message on.
pub(crate) fn subscribe(topic: &str, kind: SubType) -> CommandSubscribe {
    CommandSubscribe {
        topic: topic.into(),
        subscription: "sub".into(),
        sub_type: kind as i32,
        consumer_id: 1,
        initial_position: Some(InitialPosition::Earliest as i32),
        ..Default::default()
    }
}

impl Delivery {
    pub(crate) fn id(&self) -> MessageIdData {
        MessageIdData {
            ledger_id: self.command.message_id.ledger_id,
            entry_id: self.command.message_id.entry_id,
            ..Default::default()
        }
    }

    /// The messages, joined where there are several.
    pub(crate) fn text(&self) -> String {
        let Ok(metadata) = self.message.metadata() else {
            return "unreadable".into();
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Some(count) = metadata.num_messages_in_batch else {
            return text(&self.message.payload);
        };
        let members = BatchReader::new(self.message.payload.clone(), count.unsigned_abs());
        members
            .map_while(Result::ok)
            .map(|member| text(&member.payload))
            .collect::<Vec<_>>()
            .join("+")
    }

    /// `entry text #count`, and what is unusual about it.
    fn show(&self) -> String {
        let CommandMessage {
            message_id,
            redelivery_count,
            ack_set,
            consumer_epoch,
            ..
        } = &self.command;
        let mut shown = format!("{} {}", message_id.entry_id, self.text());
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                shown.push_str(&format!(" {name}{value}"));
            }
        };
        add("#", redelivery_count.map(|count| count.to_string()));
        add("epoch ", consumer_epoch.map(|epoch| epoch.to_string()));
        let partition = message_id.partition.filter(|partition| *partition != -1);
        add("partition ", partition.map(|partition| partition.to_string()));
        add("ack set ", (!ack_set.is_empty()).then(|| format!("{ack_set:?}")));
        let is_odd = self.message.checksum != Checksum::Valid;
        add(
            "checksum ",
            is_odd.then(|| format!("{:?}", self.message.checksum)),
        );
        add(
            "broker entry",
            self.message.broker_entry.as_ref().map(|_| String::new()),
        );
        shown
    }
}

/// Deliveries in full.
pub(crate) fn shown(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().map(Delivery::show).collect()
}

/// Deliveries by their payloads.
pub(crate) fn texts(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().map(Delivery::text).collect()
}

pub(crate) fn ids(deliveries: &[Delivery]) -> Vec<MessageIdData> {
    deliveries.iter().map(Delivery::id).collect()
}
