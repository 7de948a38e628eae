mod permits;
mod rewinding;
mod sessions;
mod settling;
mod stalls;

use pulsar_wire::batch::BatchBuilder;
use pulsar_wire::proto::{
    CommandAck, CommandAckResponse, CommandRedeliverUnacknowledgedMessages, MessageMetadata,
    SingleMessageMetadata,
};
use pulsar_wire::{Frame, FrameDecoder, encode_headers_and_payload};

use super::*;
use crate::message::{Payload, Ticket};
use crate::session::attach::Step;
use crate::session::cut::{Cut, Next};

const WINDOW: u32 = 100;
const NACK_DELAY: Duration = Duration::from_secs(1);
const STALL_CHECK: Duration = Duration::from_secs(60);

/// A consumer and the little of a broker that it needs.
struct Scene {
    now: Instant,
    machine: Consumer<&'static str>,
    ids: RequestIds,
    sessions: u64,
    sent: Vec<Command>,
}

impl Scene {
    fn new(sub_type: SubType) -> Self {
        let now = Instant::now();
        let setup = ConsumerSetup {
            topic: "persistent://public/default/orders".into(),
            subscription: "sub".into(),
            sub_type,
            name: None,
            initial_position: InitialPosition::Earliest,
            properties: Vec::new(),
            subscription_properties: Vec::new(),
            priority: None,
            key_ranges: Vec::new(),
            window: Window {
                messages: WINDOW,
                bytes: u64::MAX,
            },
            nack_delay: NACK_DELAY,
            stall_check: STALL_CHECK,
            partition: -1,
            creates_topic: true,
            kept: Kept::Durably,
        };
        let attach = Attach::new(now, Duration::from_secs(30));
        let mut scene = Self {
            now,
            machine: Consumer::new(setup, attach),
            ids: RequestIds::default(),
            sessions: 0,
            sent: Vec::new(),
        };
        scene.open();
        scene
    }

    fn open(&mut self) -> CommandSubscribe {
        self.now += Duration::from_secs(10);
        let attach = &mut self.machine.attach;
        while !matches!(attach.step(self.now), Step::Dial(_)) {
            attach.looked_up(Target::direct("pulsar://broker:6650").unwrap());
        }
        assert!(attach.dialled(self.now));
        self.sessions += 1;
        let request_id = self.ids.next();
        self.machine
            .open(self.sessions * 10, request_id, self.ids.clone(), 1_000);
        self.machine.opened(self.now, request_id);
        let sent = self.sent();
        let [Command::Subscribe(subscribe), Command::Flow(flow)] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(flow.message_permits, WINDOW);
        (**subscribe).clone()
    }

    fn lose(&mut self) {
        let error = Error::new(ErrorKind::ConnectionLost, "cut");
        self.machine.session_over(self.now, 0.0, None, error);
    }

    fn sent(&mut self) -> Vec<Command> {
        let mut input = BytesMut::new();
        for frame in self.machine.out.drain(..) {
            input.extend_from_slice(&frame);
        }
        let mut decoder = FrameDecoder::default();
        let frames = std::iter::from_fn(|| decoder.decode(&mut input).unwrap());
        frames.map(|Frame { command, .. }| command).collect()
    }

    fn arrive_as(&mut self, entry: u64, change: impl FnOnce(&mut CommandMessage, &mut MessageMetadata)) {
        self.arrive_with(entry, b"payload", change);
    }

    fn arrive_with(
        &mut self,
        entry: u64,
        payload: &[u8],
        change: impl FnOnce(&mut CommandMessage, &mut MessageMetadata),
    ) {
        let mut command = CommandMessage {
            consumer_id: self.machine.id(),
            message_id: MessageIdData {
                ledger_id: 1,
                entry_id: entry,
                ..MessageIdData::default()
            },
            consumer_epoch: Some(self.machine.rewind.epoch()),
            ..CommandMessage::default()
        };
        let mut metadata = MessageMetadata::default();
        change(&mut command, &mut metadata);
        let frame = MessageFrame::parse(encode_headers_and_payload(&metadata, payload));
        self.machine.message(self.now, command, frame);
    }

    fn arrive(&mut self, entry: u64) {
        self.arrive_as(entry, |_, _| {});
    }

    fn arrive_batch(&mut self, entry: u64, count: u8) {
        self.arrive_batch_as(entry, count, |_, _| {});
    }

    fn arrive_batch_as(
        &mut self,
        entry: u64,
        count: u8,
        change: impl FnOnce(&mut CommandMessage, &mut MessageMetadata),
    ) {
        let mut batch = BatchBuilder::new();
        for member in 0..count {
            batch.push(SingleMessageMetadata::default(), &[member]);
        }
        self.arrive_with(entry, &batch.finish(), |command, metadata| {
            metadata.num_messages_in_batch = Some(i32::from(count));
            change(command, metadata);
        });
    }

    /// Hands out all that is queued, as a receiver does.
    fn receive(&mut self) -> Vec<(Ticket, Payload)> {
        let mut handed = Vec::new();
        while let Some(arrived) = self.machine.next_arrived() {
            let mut cut = Cut::new(arrived);
            loop {
                let next = cut.next();
                let is_over = cut.is_over();
                match next {
                    Next::Member(member) => {
                        if self.machine.hand_out(&mut cut.arrived, member.index) == HandOut::Yes {
                            handed.push((ticket(&cut.arrived, member.index, member.rest), member.payload));
                        }
                    }
                    Next::Gone(index) => self.machine.gone(&cut.arrived, index),
                    Next::End => {}
                }
                if is_over {
                    break;
                }
            }
            self.machine.cut_over(&mut cut.arrived);
            self.machine.flush(self.now);
        }
        handed
    }

    fn tickets(&mut self) -> Vec<Ticket> {
        self.receive().into_iter().map(|(ticket, _)| ticket).collect()
    }

    fn one(&mut self) -> Ticket {
        let tickets = self.tickets();
        assert_eq!(tickets.len(), 1);
        tickets[0]
    }

    fn ack(&mut self, ticket: Ticket) {
        self.machine.ack(self.now, ticket, "waiter");
    }

    /// The entries of the acknowledgements that were sent, each confirmed at once.
    fn confirm_all(&mut self) -> Vec<u64> {
        let mut entries = Vec::new();
        loop {
            let acks = self.acks_sent();
            if acks.is_empty() {
                return entries;
            }
            for ack in acks {
                assert!(ack.message_id.iter().all(|id| id.ack_set.is_empty()));
                entries.extend(ack.message_id.iter().map(|id| id.entry_id));
                self.confirm(&ack);
            }
        }
    }

    fn acks_sent(&mut self) -> Vec<CommandAck> {
        let sent = self.sent();
        let (acks, other): (Vec<_>, Vec<_>) = sent
            .into_iter()
            .partition(|command| matches!(command, Command::Ack(_)));
        self.sent.extend(other);
        acks.into_iter()
            .map(|command| match command {
                Command::Ack(ack) => ack,
                other => panic!("{}", other.name()),
            })
            .collect()
    }

    fn confirm(&mut self, ack: &CommandAck) {
        let response = CommandAckResponse {
            consumer_id: ack.consumer_id,
            request_id: ack.request_id,
            ..CommandAckResponse::default()
        };
        self.machine.ack_response(self.now, &response);
    }

    fn redelivered(&mut self) -> Vec<CommandRedeliverUnacknowledgedMessages> {
        let mut sent = std::mem::take(&mut self.sent);
        sent.append(&mut self.sent());
        sent.into_iter()
            .filter_map(|command| match command {
                Command::RedeliverUnacknowledgedMessages(command) => Some(command),
                _ => None,
            })
            .collect()
    }

    fn told(&mut self) -> Vec<Result<(), ErrorKind>> {
        let done = self.machine.done.drain(..);
        done.map(|(_, result)| result.map_err(|error| error.kind()))
            .collect()
    }

    fn held(&self) -> u32 {
        self.machine.snapshot().held
    }

    /// The clock is only waited for to look for a stall.
    #[track_caller]
    fn nothing_is_due(&self) {
        assert_eq!(self.machine.next_time(), self.machine.stall.next_check());
    }

    /// Nothing is held, so every permit is with the broker or about to go there.
    #[track_caller]
    fn nothing_is_held(&self) {
        assert_eq!(self.held(), 0);
        assert!(self.machine.snapshot().permits > 0);
    }
}

fn ticket(arrived: &Arrived, index: u32, rest: bool) -> Ticket {
    Ticket {
        part: 0,
        key: arrived.key,
        index,
        of: arrived.of,
        rest,
        session: arrived.session,
    }
}

fn chunk(metadata: &mut MessageMetadata) {
    metadata.uuid = Some("u".into());
    metadata.num_chunks_from_msg = Some(2);
}
