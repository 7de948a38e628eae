//! Publishing in frames, without a client: batches of one size for every consumer, and the least that a send can take.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::{
    CommandConnect, CommandLookupTopic, CommandProducer, CommandSend, KeyValue, MessageMetadata,
    SingleMessageMetadata,
};
use pulsar_wire::{Command, FrameDecoder, PROTOCOL_VERSION, encode_frame, encode_send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;
use crate::process::address;

/// How many batches may be on their way.
const IN_FLIGHT: u32 = 50;

/// How many messages a batch holds.
pub(crate) const BATCH: u32 = 100;

/// A message as it is sent again and again.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) body: Bytes,
    pub(crate) properties: Vec<KeyValue>,
}

/// A producer that knows the protocol and nothing else.
pub(crate) struct Connection {
    socket: TcpStream,
    input: BytesMut,
    decoder: FrameDecoder,
}

impl Connection {
    pub(crate) async fn open(url: &str, topic: &str) -> Result<Self> {
        let socket = TcpStream::connect(address(url)?).await?;
        socket.set_nodelay(true)?;
        let mut connection = Self {
            socket,
            input: BytesMut::new(),
            decoder: FrameDecoder::default(),
        };
        let connect = CommandConnect {
            client_version: "bench".into(),
            protocol_version: Some(PROTOCOL_VERSION),
            ..Default::default()
        };
        connection.ask(connect.into(), "CONNECTED").await?;
        let lookup = CommandLookupTopic {
            topic: topic.into(),
            request_id: 1,
            ..Default::default()
        };
        connection.ask(lookup.into(), "LOOKUP_RESPONSE").await?;
        let producer = CommandProducer {
            topic: topic.into(),
            producer_id: 1,
            request_id: 2,
            ..Default::default()
        };
        connection.ask(producer.into(), "PRODUCER_SUCCESS").await?;
        Ok(connection)
    }

    async fn ask(&mut self, command: Command, answer: &str) -> Result<()> {
        let mut frame = BytesMut::new();
        encode_frame(&command, &mut frame);
        self.socket.write_all(&frame).await?;
        self.is_answered(answer).await
    }

    /// Sends so many batches and waits for their receipts.
    pub(crate) async fn send_batches(&mut self, batches: u32, sample: &Sample) -> Result<()> {
        let payload = batch(sample);
        for number in 0..batches {
            if number >= IN_FLIGHT {
                self.is_answered("SEND_RECEIPT").await?;
            }
            self.socket
                .write_all(&frame(number * BATCH, BATCH, &[], &payload))
                .await?;
        }
        for _ in 0..batches.min(IN_FLIGHT) {
            self.is_answered("SEND_RECEIPT").await?;
        }
        Ok(())
    }

    /// Sends so many messages, each after the receipt of the one before; how long each took.
    pub(crate) async fn send_singly(&mut self, count: u32, sample: &Sample) -> Result<Vec<Duration>> {
        let mut latencies = Vec::with_capacity(count as usize);
        for number in 0..count {
            let began = Instant::now();
            self.socket
                .write_all(&frame(number, 1, &sample.properties, &sample.body))
                .await?;
            self.is_answered("SEND_RECEIPT").await?;
            latencies.push(began.elapsed());
        }
        Ok(latencies)
    }

    async fn is_answered(&mut self, expected: &str) -> Result<()> {
        loop {
            let Some(frame) = self.decoder.decode(&mut self.input)? else {
                if self.socket.read_buf(&mut self.input).await? == 0 {
                    return Err(format!("the broker hung up before {expected}").into());
                }
                continue;
            };
            match frame.command {
                Command::Ping(_) => {}
                command if command.name() == expected => return Ok(()),
                other => return Err(format!("{expected} was expected, not {other:?}").into()),
            }
        }
    }
}

/// The payload of a batch.
fn batch(sample: &Sample) -> Bytes {
    let mut batch = BatchBuilder::new();
    for _ in 0..BATCH {
        let metadata = SingleMessageMetadata {
            properties: sample.properties.clone(),
            ..Default::default()
        };
        batch.push(metadata, &sample.body);
    }
    batch.finish()
}

fn frame(first: u32, messages: u32, properties: &[KeyValue], payload: &[u8]) -> Bytes {
    let count = (messages > 1).then_some(messages.cast_signed());
    let first = u64::from(first);
    let send = CommandSend {
        producer_id: 1,
        sequence_id: first,
        num_messages: count,
        highest_sequence_id: count.map(|_| first + u64::from(messages) - 1),
        ..Default::default()
    };
    let metadata = MessageMetadata {
        producer_name: Bytes::from_static(b"bench"),
        sequence_id: first,
        publish_time: 1_790_000_000_000,
        properties: properties.to_vec(),
        num_messages_in_batch: count,
        ..Default::default()
    };
    encode_send(&send, &metadata, payload)
}
