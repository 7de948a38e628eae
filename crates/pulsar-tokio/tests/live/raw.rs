//! A connection that sends what no client would.

use bytes::{Bytes, BytesMut};
use pulsar_wire::proto::{
    CommandConnect, CommandLookupTopic, CommandProducer, CommandSend, MessageMetadata, ProducerAccessMode,
};
use pulsar_wire::{Command, Frame, FrameDecoder, PROTOCOL_VERSION, encode_frame, encode_send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::within;

pub(crate) struct RawProducer {
    socket: TcpStream,
    decoder: FrameDecoder,
    input: BytesMut,
    sequence: u64,
}

impl RawProducer {
    pub(crate) async fn open(url: &str, topic: &str) -> Self {
        Self::open_with(url, topic, ProducerAccessMode::Shared).await
    }

    pub(crate) async fn open_with(url: &str, topic: &str, mode: ProducerAccessMode) -> Self {
        let address = url.strip_prefix("pulsar://").expect("a broker's URL");
        let mut raw = Self {
            socket: TcpStream::connect(address).await.expect("a connection"),
            decoder: FrameDecoder::default(),
            input: BytesMut::new(),
            sequence: 0,
        };
        let connect = CommandConnect {
            client_version: "raw".to_owned(),
            protocol_version: Some(PROTOCOL_VERSION),
            ..CommandConnect::default()
        };
        raw.ask(connect.into(), "CONNECTED").await;
        let lookup = CommandLookupTopic {
            topic: topic.to_owned(),
            request_id: 1,
            ..CommandLookupTopic::default()
        };
        raw.ask(lookup.into(), "LOOKUP_RESPONSE").await;
        let producer = CommandProducer {
            topic: topic.to_owned(),
            producer_id: 1,
            request_id: 2,
            producer_access_mode: Some(mode as i32),
            ..CommandProducer::default()
        };
        raw.ask(producer.into(), "PRODUCER_SUCCESS").await;
        raw
    }

    /// Publishes an entry with exactly this metadata, apart from what the protocol requires; its id.
    pub(crate) async fn publish(&mut self, mut metadata: MessageMetadata, payload: &[u8]) -> (u64, u64) {
        metadata.producer_name = Bytes::from_static(b"raw");
        metadata.sequence_id = self.sequence;
        metadata.publish_time = 1;
        let send = CommandSend {
            producer_id: 1,
            sequence_id: self.sequence,
            num_messages: metadata.num_messages_in_batch,
            is_chunk: metadata.num_chunks_from_msg.map(|_| true),
            ..CommandSend::default()
        };
        self.sequence += 1;
        let frame = encode_send(&send, &metadata, payload);
        self.socket.write_all(&frame).await.expect("a write");
        let Command::SendReceipt(receipt) = self.answer("SEND_RECEIPT").await else {
            panic!("no receipt");
        };
        let id = receipt.message_id.expect("an id");
        (id.ledger_id, id.entry_id)
    }

    async fn ask(&mut self, command: Command, expected: &str) {
        let mut frame = BytesMut::new();
        encode_frame(&command, &mut frame);
        self.socket.write_all(&frame).await.expect("a write");
        self.answer(expected).await;
    }

    async fn answer(&mut self, expected: &str) -> Command {
        let command = within(expected, async {
            loop {
                if let Some(Frame { command, .. }) = self.decoder.decode(&mut self.input).expect("a frame") {
                    break command;
                }
                let count = self.socket.read_buf(&mut self.input).await.expect("a read");
                assert!(count > 0, "the broker hung up before {expected}");
            }
        })
        .await;
        assert_eq!(command.name(), expected, "{command:?}");
        command
    }
}
