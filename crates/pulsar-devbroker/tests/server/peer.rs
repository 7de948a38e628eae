//! A client of frames.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pulsar_devbroker::DevBroker;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, Frame, FrameDecoder, encode_frame, encode_send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub(crate) const TOPIC: &str = "persistent://public/default/orders";

/// Far more than anything takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    input: BytesMut,
    decoder: FrameDecoder,
    requests: u64,
    sequence: u64,
}

impl Peer {
    /// Only a socket.
    pub(crate) async fn dial(broker: &DevBroker) -> Self {
        let stream = TcpStream::connect(broker.addr()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            input: BytesMut::new(),
            decoder: FrameDecoder::default(),
            requests: 0,
            sequence: 0,
        }
    }

    /// After CONNECT and a lookup.
    pub(crate) async fn connect(broker: &DevBroker) -> Self {
        let mut peer = Self::dial(broker).await;
        peer.hello().await;
        let request_id = peer.request();
        let lookup = CommandLookupTopic {
            topic: TOPIC.into(),
            request_id,
            ..Default::default()
        };
        peer.send(lookup).await;
        assert!(matches!(peer.next().await, Command::LookupTopicResponse(_)));
        peer
    }

    pub(crate) async fn hello(&mut self) {
        let hello = CommandConnect {
            client_version: "test".into(),
            protocol_version: Some(19),
            ..Default::default()
        };
        self.send(hello).await;
        assert!(matches!(self.next().await, Command::Connected(_)));
    }

    pub(crate) fn request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    pub(crate) async fn send(&mut self, command: impl Into<Command>) {
        let mut out = BytesMut::new();
        encode_frame(&command.into(), &mut out);
        self.bytes(&out).await;
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn produce(&mut self, producer_id: u64) {
        let request_id = self.request();
        let producer = CommandProducer {
            topic: TOPIC.into(),
            producer_id,
            request_id,
            ..Default::default()
        };
        self.send(producer).await;
        assert!(matches!(self.next().await, Command::ProducerSuccess(_)));
    }

    /// Does not wait for the receipt.
    pub(crate) async fn publish(&mut self, producer_id: u64, payload: &[u8]) {
        let frame = self.message(producer_id, payload);
        self.bytes(&frame).await;
    }

    pub(crate) fn message(&mut self, producer_id: u64, payload: &[u8]) -> Bytes {
        let sequence_id = self.sequence;
        self.sequence += 1;
        let send = CommandSend {
            producer_id,
            sequence_id,
            ..Default::default()
        };
        let metadata = MessageMetadata {
            producer_name: "test".into(),
            sequence_id,
            publish_time: 1,
            ..Default::default()
        };
        encode_send(&send, &metadata, payload)
    }

    pub(crate) async fn receipt(&mut self) -> CommandSendReceipt {
        match self.next().await {
            Command::SendReceipt(receipt) => receipt,
            other => panic!("a receipt was expected, not {other:?}"),
        }
    }

    pub(crate) async fn subscribe(&mut self, consumer_id: u64, kind: SubType) {
        let request_id = self.request();
        let subscribe = CommandSubscribe {
            topic: TOPIC.into(),
            subscription: "billing".into(),
            sub_type: kind as i32,
            consumer_id,
            request_id,
            initial_position: Some(InitialPosition::Earliest as i32),
            ..Default::default()
        };
        self.send(subscribe).await;
        assert!(matches!(self.next().await, Command::Success(_)));
    }

    pub(crate) async fn flow(&mut self, consumer_id: u64, message_permits: u32) {
        let flow = CommandFlow {
            consumer_id,
            message_permits,
        };
        self.send(flow).await;
    }

    /// Waits until it is confirmed.
    pub(crate) async fn ack(&mut self, consumer_id: u64, message_id: MessageIdData) {
        let request_id = self.request();
        let ack = CommandAck {
            consumer_id,
            message_id: vec![message_id],
            request_id: Some(request_id),
            ..Default::default()
        };
        self.send(ack).await;
        while !matches!(self.next().await, Command::AckResponse(_)) {}
    }

    /// The next frame.
    pub(crate) async fn frame(&mut self) -> Frame {
        self.frame_or_end().await.expect("the connection ended")
    }

    pub(crate) async fn next(&mut self) -> Command {
        self.frame().await.command
    }

    /// A delivery.
    pub(crate) async fn delivery(&mut self) -> (CommandMessage, Bytes) {
        let frame = self.frame().await;
        match (frame.command, frame.message) {
            (Command::Message(command), Some(message)) => (command, message.payload),
            (other, _) => panic!("a message was expected, not {other:?}"),
        }
    }

    /// Passes what comes by until the broker closes the connection.
    pub(crate) async fn ended(&mut self) {
        while self.frame_or_end().await.is_some() {}
    }

    async fn frame_or_end(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).unwrap() {
                return Some(frame);
            }
            let read = timeout(LONG, self.stream.read_buf(&mut self.input));
            match read.await.expect("nothing comes") {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}
