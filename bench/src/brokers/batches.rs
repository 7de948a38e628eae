//! Publishing batches in frames: `pulsar-tokio` sends each message alone.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::{
    CommandConnect, CommandLookupTopic, CommandProducer, CommandSend, MessageMetadata, SingleMessageMetadata,
};
use pulsar_wire::{Command, FrameDecoder, PROTOCOL_VERSION, encode_frame, encode_send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::process::address;
use super::{BATCH, BYTES, ours};
use crate::Result;

/// How many batches may be on their way.
const IN_FLIGHT: u32 = 50;

pub(super) fn produce(url: &str, topic: &str, count: u32) -> Result<Duration> {
    ours::block_on(async {
        let mut connection = Connection::open(url, topic).await?;
        let since = Instant::now();
        connection.publish(count / BATCH).await?;
        Ok(since.elapsed())
    })
}

struct Connection {
    socket: TcpStream,
    input: BytesMut,
    decoder: FrameDecoder,
}

impl Connection {
    async fn open(url: &str, topic: &str) -> Result<Self> {
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

    async fn publish(&mut self, batches: u32) -> Result<()> {
        let body = [b'x'; BYTES];
        for number in 0..batches {
            if number >= IN_FLIGHT {
                self.is_answered("SEND_RECEIPT").await?;
            }
            self.socket.write_all(&batch(number, &body)).await?;
        }
        for _ in 0..batches.min(IN_FLIGHT) {
            self.is_answered("SEND_RECEIPT").await?;
        }
        Ok(())
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

fn batch(number: u32, body: &[u8]) -> Bytes {
    let mut batch = BatchBuilder::new();
    for _ in 0..BATCH {
        batch.push(SingleMessageMetadata::default(), body);
    }
    let first = u64::from(number) * u64::from(BATCH);
    let count = i32::try_from(BATCH).ok();
    let send = CommandSend {
        producer_id: 1,
        sequence_id: first,
        num_messages: count,
        highest_sequence_id: Some(first + u64::from(BATCH) - 1),
        ..Default::default()
    };
    let metadata = MessageMetadata {
        producer_name: Bytes::from_static(b"bench"),
        sequence_id: first,
        publish_time: 1_790_000_000_000,
        num_messages_in_batch: count,
        ..Default::default()
    };
    encode_send(&send, &metadata, &batch.finish())
}
