//! A client of frames that says what it sees in words which are the same for every broker.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, Frame, FrameDecoder, PROTOCOL_VERSION, encode_frame, encode_send};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::seen::{self, nothing};

/// The id of every request: only one is under way at a time.
pub(crate) const ASKED: u64 = 7;
/// How long an answer is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// After what time nothing more is expected.
pub(crate) const SILENCE: Duration = Duration::from_millis(700);

pub(crate) struct Peer {
    out: Arc<Mutex<OwnedWriteHalf>>,
    frames: UnboundedReceiver<Frame>,
    /// Came before the answer that was waited for.
    early: VecDeque<Frame>,
    reading: JoinHandle<()>,
    sequence: u64,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// A message to publish.
#[derive(Default)]
pub(crate) struct Letter<'a> {
    pub(crate) texts: &'a [&'a str],
    /// Whether it is a batch, also with one member.
    pub(crate) batch: bool,
    pub(crate) key: Option<&'a str>,
    pub(crate) ordering_key: Option<&'a str>,
    pub(crate) deliver_at: Option<i64>,
}

pub(crate) fn text<'a>(texts: &'a [&'a str; 1]) -> Letter<'a> {
    Letter {
        texts,
        ..Letter::default()
    }
}

pub(crate) fn batch<'a>(texts: &'a [&'a str]) -> Letter<'a> {
    Letter {
        texts,
        batch: true,
        ..Letter::default()
    }
}

impl Peer {
    /// Only a socket.
    pub(crate) async fn dial(url: &str) -> Self {
        Self::dial_as(url, Keeping::Answers).await
    }

    /// One that leaves the broker's PING to be seen.
    pub(crate) async fn dial_mute(url: &str) -> Self {
        Self::dial_as(url, Keeping::Mute).await
    }

    async fn dial_as(url: &str, keeping: Keeping) -> Self {
        let address = url.strip_prefix("pulsar://").expect("a broker's URL");
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (input, out) = stream.into_split();
        let out = Arc::new(Mutex::new(out));
        let (sender, frames) = unbounded_channel();
        Self {
            reading: tokio::spawn(read(input, out.clone(), sender, keeping)),
            out,
            frames,
            early: VecDeque::new(),
            sequence: 0,
        }
    }

    /// After CONNECT.
    pub(crate) async fn connect(url: &str) -> Self {
        let mut peer = Self::dial(url).await;
        let welcome = peer.ask(hello()).await;
        assert_eq!(welcome["is"], "CONNECTED");
        peer
    }

    /// What a broker calls itself.
    pub(crate) async fn server_version(url: &str) -> String {
        let mut peer = Self::dial(url).await;
        peer.tell(hello()).await;
        match peer.frame().await.expect("an answer").command {
            Command::Connected(welcome) => welcome.server_version,
            other => panic!("{} is no welcome", other.name()),
        }
    }

    /// After CONNECT and the lookup of a topic.
    pub(crate) async fn near(url: &str, topic: &str) -> Self {
        let mut peer = Self::connect(url).await;
        // Pulsar answers lookups of a namespace together, so that of an unknown listener may spoil this one.
        for _ in 0..50 {
            let answer = peer.ask(lookup(topic)).await;
            if answer["response"] == "Connect" {
                return peer;
            }
            assert_eq!(answer["error"], "ServiceNotReady", "{answer}");
        }
        panic!("no broker serves {topic}");
    }

    pub(crate) async fn tell(&mut self, command: impl Into<Command>) {
        let mut out = BytesMut::new();
        encode_frame(&command.into(), &mut out);
        self.bytes(&out).await;
    }

    /// What the broker closes while we write is seen when we read.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.out.lock().await.write_all(bytes).await;
    }

    /// The answer to a command.
    pub(crate) async fn ask(&mut self, command: impl Into<Command>) -> Value {
        self.tell(command).await;
        self.next().await
    }

    /// The answer to a request; what comes before it stays to be read.
    pub(crate) async fn request<C: Into<Command>>(&mut self, request: impl FnOnce(u64) -> C) -> Value {
        self.tell(request(ASKED)).await;
        match self.answer().await {
            Some(frame) => seen::frame(&frame),
            None => json!({"is": "closed"}),
        }
    }

    /// All that comes of a request up to its answer, in order.
    pub(crate) async fn exchange<C: Into<Command>>(&mut self, request: impl FnOnce(u64) -> C) -> Value {
        let answer = self.request(request).await;
        let early = self.early.drain(..).map(|frame| seen::frame(&frame));
        early.chain([answer]).collect()
    }

    pub(crate) async fn answer(&mut self) -> Option<Frame> {
        loop {
            let frame = timeout(PATIENCE, self.frames.recv())
                .await
                .expect("an answer in time")?;
            let is_own = matches!(
                frame.command,
                Command::CloseProducer(_) | Command::CloseConsumer(_)
            );
            if frame.command.request_id() == Some(ASKED) && !is_own {
                return Some(frame);
            }
            self.early.push_back(frame);
        }
    }

    /// The next message for a consumer; other frames stay to be read.
    pub(crate) async fn message(&mut self, consumer_id: u64, time: Duration) -> Option<Frame> {
        let is_it =
            |frame: &Frame| matches!(&frame.command, Command::Message(it) if it.consumer_id == consumer_id);
        if let Some(at) = self.early.iter().position(is_it) {
            return self.early.remove(at);
        }
        loop {
            let frame = timeout(time, self.frames.recv()).await.ok()??;
            if is_it(&frame) {
                return Some(frame);
            }
            self.early.push_back(frame);
        }
    }

    /// Waits until there is a message for a consumer, which stays to be read.
    pub(crate) async fn wait_for_message(&mut self, consumer_id: u64) {
        if let Some(frame) = self.message(consumer_id, PATIENCE).await {
            self.early.push_front(frame);
        }
    }

    /// Whether the connection stands and commands are read.
    pub(crate) async fn ping(&mut self) -> Value {
        self.ask(CommandPing {}).await
    }

    /// Forgets what came and was not looked at.
    pub(crate) fn clear(&mut self) {
        self.early.clear();
        while self.frames.try_recv().is_ok() {}
    }

    /// Everything that comes of a command.
    pub(crate) async fn all_of(&mut self, command: impl Into<Command>) -> Value {
        let first = self.ask(command).await;
        let mut all = vec![first];
        if let Value::Array(others) = self.all().await {
            all.extend(others);
        }
        Value::Array(all)
    }

    /// What comes next.
    pub(crate) async fn next(&mut self) -> Value {
        self.next_within(PATIENCE).await
    }

    /// What comes next, if it comes soon.
    pub(crate) async fn soon(&mut self) -> Value {
        self.next_within(SILENCE).await
    }

    /// What comes until nothing does any more.
    pub(crate) async fn all(&mut self) -> Value {
        let mut all = Vec::new();
        loop {
            let one = self.soon().await;
            if one == nothing() {
                return Value::Array(all);
            }
            let ended = one["is"] == "closed";
            all.push(one);
            if ended {
                return Value::Array(all);
            }
        }
    }

    /// The texts of what comes until nothing does any more, with redelivery counts.
    pub(crate) async fn deliveries(&mut self) -> Vec<String> {
        let all = self.all().await;
        let texts = all.as_array().expect("a list").iter().map(|one| {
            let count = one
                .get("redelivery_count")
                .map_or(String::new(), |count| format!(" #{count}"));
            match one["text"].as_str() {
                Some(text) => format!("{text}{count}"),
                None => one["is"].as_str().expect("a name").to_owned(),
            }
        });
        texts.collect()
    }

    pub(crate) async fn next_within(&mut self, time: Duration) -> Value {
        match timeout(time, self.frame()).await {
            Ok(Some(frame)) => seen::frame(&frame),
            Ok(None) => json!({"is": "closed"}),
            Err(_) => nothing(),
        }
    }

    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        match self.early.pop_front() {
            Some(frame) => Some(frame),
            None => self.frames.recv().await,
        }
    }

    /// The receipt, or why there is none.
    pub(crate) async fn publish(&mut self, producer_id: u64, letter: Letter<'_>) -> Value {
        let frame = self.letter(producer_id, &letter);
        self.bytes(&frame).await;
        self.next().await
    }

    pub(crate) async fn publish_all(&mut self, producer_id: u64, texts: &[&str]) {
        for one in texts {
            let receipt = self.publish(producer_id, text(&[one])).await;
            assert_eq!(receipt["is"], "SEND_RECEIPT", "{receipt}");
        }
    }

    /// The frame of a message with the next sequence id.
    pub(crate) fn letter(&mut self, producer_id: u64, letter: &Letter<'_>) -> Bytes {
        let first = self.sequence;
        let count = letter.texts.len() as u64;
        self.sequence += count;
        let own = |text: Option<&str>| text.map(|text| Bytes::copy_from_slice(text.as_bytes()));
        let mut send = CommandSend {
            producer_id,
            sequence_id: first,
            ..Default::default()
        };
        let mut metadata = MessageMetadata {
            producer_name: "raw".into(),
            sequence_id: first,
            publish_time: seen::now(),
            partition_key: own(letter.key),
            ordering_key: own(letter.ordering_key),
            deliver_at_time: letter.deliver_at,
            ..Default::default()
        };
        if !letter.batch {
            return encode_send(&send, &metadata, letter.texts[0].as_bytes());
        }
        let members = i32::try_from(count).expect("a few");
        send.num_messages = Some(members);
        send.highest_sequence_id = Some(first + count - 1);
        metadata.num_messages_in_batch = Some(members);
        let mut builder = BatchBuilder::new();
        for text in letter.texts {
            builder.push(SingleMessageMetadata::default(), text.as_bytes());
        }
        encode_send(&send, &metadata, &builder.finish())
    }

    /// A producer of this number.
    pub(crate) async fn produces(&mut self, topic: &str, producer_id: u64) {
        let answer = self.ask(producer(topic, producer_id)).await;
        assert_eq!(answer["is"], "PRODUCER_SUCCESS", "{answer}");
    }

    /// A consumer of this number, from the first message on.
    pub(crate) async fn consumes(&mut self, topic: &str, consumer_id: u64, kind: SubType) {
        let answer = self.request(|_| subscribe(topic, consumer_id, kind)).await;
        assert_eq!(answer["is"], "SUCCESS", "{answer}");
        // Before or behind the answer.
        if kind == SubType::Failover {
            assert_eq!(self.next().await["is"], "ACTIVE_CONSUMER_CHANGE");
        }
    }

    pub(crate) async fn flow(&mut self, consumer_id: u64, message_permits: u32) {
        let flow = CommandFlow {
            consumer_id,
            message_permits,
        };
        self.tell(flow).await;
    }

    /// The ids of what comes next.
    pub(crate) async fn ids(&mut self, count: usize) -> Vec<MessageIdData> {
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            let frame = timeout(PATIENCE, self.frame()).await.expect("a message in time");
            match frame.expect("an open connection").command {
                Command::Message(message) => ids.push(message.message_id),
                other => panic!("a message was expected, not {}", other.name()),
            }
        }
        ids
    }
}

/// What becomes of the broker's PING.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Answers,
    Mute,
}

/// Hands frames on until the connection ends. Answers at once when the broker asks whether we are there: it does so
/// also when another connection wants what this one has.
async fn read(
    mut input: OwnedReadHalf,
    out: Arc<Mutex<OwnedWriteHalf>>,
    frames: UnboundedSender<Frame>,
    keeping: Keeping,
) {
    let mut bytes = BytesMut::new();
    let mut decoder = FrameDecoder::new(16 << 20);
    loop {
        while let Some(frame) = decoder.decode(&mut bytes).expect("a frame") {
            if keeping == Keeping::Answers && matches!(frame.command, Command::Ping(_)) {
                let mut pong = BytesMut::new();
                encode_frame(&CommandPong {}.into(), &mut pong);
                let _ = out.lock().await.write_all(&pong).await;
            } else if frames.send(frame).is_err() {
                return;
            }
        }
        match input.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

pub(crate) fn hello() -> CommandConnect {
    CommandConnect {
        client_version: "raw".into(),
        protocol_version: Some(PROTOCOL_VERSION),
        ..Default::default()
    }
}

pub(crate) fn lookup(topic: &str) -> CommandLookupTopic {
    CommandLookupTopic {
        topic: topic.into(),
        request_id: ASKED,
        ..Default::default()
    }
}

pub(crate) fn producer(topic: &str, producer_id: u64) -> CommandProducer {
    CommandProducer {
        topic: topic.into(),
        producer_id,
        request_id: ASKED,
        ..Default::default()
    }
}

pub(crate) const SUB: &str = "sub";

pub(crate) fn subscribe(topic: &str, consumer_id: u64, kind: SubType) -> CommandSubscribe {
    CommandSubscribe {
        topic: topic.into(),
        subscription: SUB.into(),
        sub_type: kind as i32,
        consumer_id,
        request_id: ASKED,
        consumer_name: Some(format!("c{consumer_id}")),
        initial_position: Some(InitialPosition::Earliest as i32),
        ..Default::default()
    }
}

pub(crate) fn ack(consumer_id: u64, ids: &[MessageIdData]) -> CommandAck {
    CommandAck {
        consumer_id,
        ack_type: AckType::Individual as i32,
        message_id: ids.to_vec(),
        request_id: Some(ASKED),
        ..Default::default()
    }
}

pub(crate) fn redeliver(consumer_id: u64, ids: &[MessageIdData]) -> CommandRedeliverUnacknowledgedMessages {
    CommandRedeliverUnacknowledgedMessages {
        consumer_id,
        message_ids: ids.to_vec(),
        consumer_epoch: None,
    }
}

pub(crate) fn close_consumer(consumer_id: u64) -> CommandCloseConsumer {
    CommandCloseConsumer {
        consumer_id,
        request_id: ASKED,
        ..Default::default()
    }
}

pub(crate) fn close_producer(producer_id: u64) -> CommandCloseProducer {
    CommandCloseProducer {
        producer_id,
        request_id: ASKED,
        ..Default::default()
    }
}

pub(crate) fn stats(consumer_id: u64) -> CommandConsumerStats {
    CommandConsumerStats {
        consumer_id,
        request_id: ASKED,
    }
}

pub(crate) fn last_id(consumer_id: u64) -> CommandGetLastMessageId {
    CommandGetLastMessageId {
        consumer_id,
        request_id: ASKED,
    }
}
