//! A consumer from the delivery to the confirmed acknowledgement, across sessions.
//!
//! Nothing here is acknowledged that was not settled, and nothing that is settled is handed out
//! again while the broker's confirmation is outstanding. See [`entries`](super::entries) for what
//! is noted of each entry, [`permits`](super::permits) for how many may come, and
//! [`acks`](super::acks) for how confirmations are gathered.

mod inquiry;
mod position;
mod settling;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use pulsar_wire::proto::{
    CommandCloseConsumer, CommandMessage, CommandSubscribe, InitialPosition, IntRange, KeySharedMeta,
    KeySharedMode, KeyValue, MessageIdData, SubType,
};
use pulsar_wire::{AckSet, Command, MessageFrame, encode_frame};

pub(crate) use self::inquiry::permits;
use self::position::Place;
pub(crate) use self::position::{Kept, Position};
use super::acks::Acks;
use super::attach::Attach;
use super::chunks::{Chunk, Chunks, is_chunk};
use super::connection::RequestIds;
use super::cut::Arrived;
use super::entries::{Arrival, Entries, Settled};
use super::permits::{Permits, Window};
use super::rewind::Rewind;
use super::stall::StallWatch;
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;
use crate::message::EntryKey;

/// The greatest number of messages that a batch may claim to hold.
pub(crate) const GREATEST_BATCH: u32 = 1 << 20;

/// When a chunked message that had to be let go is asked for again: not at once, since the others are still there.
const LET_GO: Duration = Duration::from_secs(10);

/// How many uuids of reported chunked messages are remembered.
const REPORTED_CHUNKS: usize = 100;

/// What a consumer is opened with.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerSetup {
    pub(crate) topic: String,
    pub(crate) subscription: String,
    pub(crate) sub_type: SubType,
    pub(crate) name: Option<String>,
    pub(crate) initial_position: InitialPosition,
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) subscription_properties: Vec<(String, String)>,
    pub(crate) priority: Option<i32>,
    /// The ranges of key hashes that this consumer wants; none where the broker divides them.
    pub(crate) key_ranges: Vec<RangeInclusive<u16>>,
    pub(crate) window: Window,
    pub(crate) nack_delay: Duration,
    pub(crate) stall_check: Duration,
    pub(crate) partition: i32,
    /// Whether a topic that is not there is to be made.
    pub(crate) creates_topic: bool,
    pub(crate) kept: Kept,
}

/// The state of one consumer on one topic; `A` is who waits for an acknowledgement.
#[derive(Debug)]
pub(crate) struct Consumer<A> {
    pub(crate) attach: Attach,
    setup: ConsumerSetup,
    /// The id of the current session; every session has a fresh one, since a broker that still
    /// knows the old one would keep its permits.
    id: u64,
    ids: Option<RequestIds>,
    most: usize,
    opening: Option<u64>,
    session: u32,
    /// Counts the times at which everything queued was dropped.
    generation: u32,
    rewind: Rewind,
    place: Place,
    active: bool,
    closing: bool,
    permits: Permits,
    queue: VecDeque<Arrived>,
    entries: Entries,
    acks: Acks<A>,
    nacks: BTreeMap<Instant, Vec<EntryKey>>,
    chunks: Chunks,
    reported_chunks: VecDeque<Bytes>,
    stall: StallWatch,
    stalls_cured: u64,
    pub(crate) out: Vec<Bytes>,
    pub(crate) done: Vec<(A, Result<(), Error>)>,
}

/// What becomes of a message whose turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOut {
    Yes,
    /// It is settled, or being handled, already.
    Skip,
    /// Its queue was dropped; it will come again.
    Stale,
}

/// What a consumer looks like from outside.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) active: bool,
    pub(crate) permits: i64,
    pub(crate) held: u32,
    pub(crate) queued: usize,
    pub(crate) entries: usize,
    pub(crate) unanswered: usize,
    pub(crate) stalls_cured: u64,
    pub(crate) last_error: Option<Error>,
}

impl<A> Consumer<A> {
    pub(crate) fn new(setup: ConsumerSetup, attach: Attach) -> Self {
        Self {
            attach,
            id: 0,
            ids: None,
            most: 0,
            opening: None,
            session: 0,
            generation: 0,
            rewind: Rewind::default(),
            place: Place::default(),
            active: true,
            closing: false,
            permits: Permits::new(setup.window),
            queue: VecDeque::new(),
            entries: Entries::default(),
            acks: Acks::new(),
            nacks: BTreeMap::new(),
            chunks: Chunks::default(),
            reported_chunks: VecDeque::new(),
            stall: StallWatch::new(setup.stall_check),
            stalls_cured: 0,
            out: Vec::new(),
            done: Vec::new(),
            setup,
        }
    }

    // The session.

    /// The command that opens a session under a fresh consumer id.
    /// `most` is the broker's greatest size.
    pub(crate) fn open(&mut self, consumer_id: u64, request_id: u64, ids: RequestIds, most: usize) {
        self.most = most;
        self.id = consumer_id;
        self.ids = Some(ids);
        self.opening = Some(request_id);
        self.session += 1;
        self.active = self.setup.sub_type != SubType::Failover;
        let start = self.start();
        if let Some(start) = start {
            self.begin_at(start);
        }
        let command = CommandSubscribe {
            topic: self.setup.topic.clone(),
            subscription: self.setup.subscription.clone(),
            sub_type: self.setup.sub_type as i32,
            consumer_id,
            request_id,
            consumer_name: self.setup.name.clone(),
            durable: Some(start.is_none()),
            start_message_id: start.map(Position::to_wire),
            metadata: pairs(&self.setup.properties),
            subscription_properties: pairs(&self.setup.subscription_properties),
            priority_level: self.setup.priority,
            key_shared_meta: self.key_shared_meta(),
            initial_position: Some(self.setup.initial_position as i32),
            force_topic_creation: Some(self.setup.creates_topic),
            // Also 0: without it the broker marks no delivery, and those from before the first
            // rewind could not be told from those behind it.
            consumer_epoch: Some(self.rewind.epoch()),
            ..CommandSubscribe::default()
        };
        self.transmit(&Command::Subscribe(Box::new(command)));
    }

    fn key_shared_meta(&self) -> Option<KeySharedMeta> {
        let range = |range: &RangeInclusive<u16>| IntRange {
            start: i32::from(*range.start()),
            end: i32::from(*range.end()),
        };
        (!self.setup.key_ranges.is_empty()).then(|| KeySharedMeta {
            key_shared_mode: KeySharedMode::Sticky as i32,
            hash_ranges: self.setup.key_ranges.iter().map(range).collect(),
            allow_out_of_order_delivery: None,
        })
    }

    /// The session is open: the broker may send.
    pub(crate) fn opened(&mut self, now: Instant, request_id: u64) {
        if self.opening == Some(request_id) {
            self.opening = None;
            self.attach.opened();
            self.stall.begin(now);
            let window = self.permits.open(self.most as u64);
            self.flow(window);
        }
    }

    /// The broker refused to open.
    pub(crate) fn refused(&mut self, request_id: u64, now: Instant, chance: f64, error: Error) {
        if self.opening == Some(request_id) {
            self.opening = None;
            self.attach.failed(now, chance, error);
        }
    }

    /// The session is over. What was not handed out comes again; acknowledgements under way end as
    /// lost, and their messages are acknowledged again, without running, when they come again.
    pub(crate) fn session_over(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error) {
        self.forget_session(&error);
        self.attach.lost(now, chance, target, error);
    }

    fn forget_session(&mut self, error: &Error) {
        self.opening = None;
        self.out.clear();
        self.nacks.clear();
        self.rewind.forget();
        self.stall.end();
        self.drop_queue();
        self.permits.end_session();
        let lost = Error::ambiguous(
            ErrorKind::SessionLost,
            format!(
                "the session on {} ended before the acknowledgement was confirmed: {error}",
                self.setup.topic
            ),
        );
        let all = self.acks.take_all();
        self.unanswered(all, &lost);
        self.leave_place();
    }

    fn drop_queue(&mut self) {
        self.generation += 1;
        let freed = self.queue.drain(..).map(|arrived| arrived.permits).sum();
        if self.attach.is_open() {
            self.permits.give_back(freed);
        }
        self.entries.drop_queued();
        self.chunks.drop_begun(|key| self.entries.knows(key));
    }

    fn unanswered(&mut self, group: Vec<(EntryKey, Option<A>)>, error: &Error) {
        for (key, waiter) in group {
            self.entries.unanswered(key);
            self.done
                .extend(waiter.map(|waiter| (waiter, Err(error.clone()))));
        }
    }

    /// The broker made this consumer the active one of a `Failover` subscription, or no longer so.
    pub(crate) fn active_change(&mut self, active: bool) {
        self.active = active;
        self.rewind.forget();
        if !active {
            self.drop_queue();
            self.replenish();
        }
    }

    // Deliveries.

    /// An entry arrived. True if there is something new to hand out.
    pub(crate) fn message(&mut self, now: Instant, command: CommandMessage, frame: MessageFrame) -> bool {
        if command.consumer_id != self.id {
            return false;
        }
        let metadata = frame.metadata().ok();
        let in_batch = metadata
            .as_ref()
            .and_then(|metadata| metadata.num_messages_in_batch);
        let claimed = in_batch.map_or(1, |count| count.max(1).unsigned_abs());
        let ack_set = (!command.ack_set.is_empty()).then(|| AckSet::from_words(command.ack_set));
        let cost = ack_set
            .as_ref()
            .map_or(claimed, |open| open.count_within(claimed));
        // A queue holds what came, a handler what that is decompressed.
        let uncompressed = metadata.as_ref().and_then(|metadata| metadata.uncompressed_size);
        let bytes = frame.headers_and_payload.len() as u64;
        self.permits
            .charge(cost, bytes.max(u64::from(uncompressed.unwrap_or_default())));
        self.stall.arrived();
        // What is noted of an entry must not grow with what its producer claims; one like that is
        // undecodable, and so one delivery.
        let of = if claimed > GREATEST_BATCH { 1 } else { claimed };

        let is_old = self.rewind.is_old(command.consumer_epoch);
        let key = EntryKey {
            ledger: command.message_id.ledger_id,
            entry: command.message_id.entry_id,
        };
        if !is_old && self.rewind.is_gap(key) {
            self.give_back(cost);
            self.rewind_all(now);
            return false;
        }
        if is_old && self.entries.is_idle(key) {
            self.rewind.owe(now, key);
        }
        let is_over = is_old || self.rewind.is_echo(key);
        let is_over = is_over || self.closing;
        let mut frame = frame;
        if let Some(metadata) = metadata
            .as_ref()
            .filter(|metadata| !is_over && is_chunk(metadata))
        {
            match self.chunks.arrive(key, metadata, frame) {
                Chunk::Whole(whole) => frame = whole,
                chunk => {
                    if let Chunk::Refused(why) = chunk {
                        self.report_chunk(
                            &command.message_id,
                            metadata.uuid.clone().unwrap_or_default(),
                            why,
                        );
                    }
                    // A window that is smaller than a message has chunks must not hold it up.
                    self.give_back(cost);
                    self.ask_for_let_go(now);
                    self.flush(now);
                    return false;
                }
            }
        }
        let arrival = if is_over {
            Arrival::Ignore
        } else {
            self.entries.arrive(key, of)
        };
        match arrival {
            Arrival::Queue => {
                self.queue.push_back(Arrived {
                    key,
                    partition: self.setup.partition,
                    redelivery_count: command.redelivery_count.unwrap_or_default(),
                    ack_set,
                    metadata,
                    frame,
                    of,
                    permits: cost,
                    session: self.session,
                    generation: self.generation,
                });
                // The first messages show how many fit.
                self.replenish();
                true
            }
            Arrival::AckAgain => {
                self.give_back(cost);
                self.push_ack(key, None);
                self.flush(now);
                false
            }
            Arrival::Ignore => {
                self.give_back(cost);
                self.flush(now);
                false
            }
        }
    }

    /// A message that cannot be put together is not lost but left unacknowledged.
    fn report_chunk(&mut self, id: &MessageIdData, uuid: Bytes, why: &str) {
        if self.reported_chunks.contains(&uuid) {
            return;
        }
        tracing::error!(
            topic = self.setup.topic,
            subscription = self.setup.subscription,
            entry = format_args!("{}:{}", id.ledger_id, id.entry_id),
            uuid = %String::from_utf8_lossy(&uuid),
            why,
            "a chunked message cannot be put together; it is left unacknowledged"
        );
        self.reported_chunks.push_back(uuid);
        if self.reported_chunks.len() > REPORTED_CHUNKS {
            self.reported_chunks.pop_front();
        }
    }

    /// What had to be let go comes again where a broker delivers single entries again.
    fn ask_for_let_go(&mut self, now: Instant) {
        let let_go = self.chunks.take_let_go();
        if !let_go.is_empty() && matches!(self.setup.sub_type, SubType::Shared | SubType::KeyShared) {
            self.nacks.entry(now + LET_GO).or_default().extend(let_go);
        }
    }

    /// The next entry to be cut.
    pub(crate) fn next_arrived(&mut self) -> Option<Arrived> {
        self.queue.pop_front()
    }

    pub(crate) fn has_arrived(&self) -> bool {
        !self.queue.is_empty()
    }

    /// May this member of an entry be handed out?
    pub(crate) fn hand_out(&mut self, arrived: &mut Arrived, index: u32) -> HandOut {
        if arrived.generation != self.generation {
            return HandOut::Stale;
        }
        // The permit moves from the entry to the message, or back to the broker.
        let permit = u32::from(arrived.permits > 0);
        arrived.permits -= permit;
        if self.is_before_start(arrived.key, index) {
            self.entries.note_settled(arrived.key, index);
        } else if self.entries.hand_out(arrived.key, index) {
            self.note_handed_out(arrived.key, index);
            return HandOut::Yes;
        }
        self.give_back(permit);
        HandOut::Skip
    }

    /// A member that the broker or the producer says is gone.
    pub(crate) fn gone(&mut self, arrived: &Arrived, index: u32) {
        self.entries.note_settled(arrived.key, index);
    }

    /// An entry is cut to its end (or its queue was dropped meanwhile).
    pub(crate) fn cut_over(&mut self, arrived: &mut Arrived) {
        let permits = std::mem::take(&mut arrived.permits);
        if arrived.session == self.session {
            self.give_back(permits);
        }
        if arrived.generation == self.generation && self.entries.cut_over(arrived.key) == Settled::Complete {
            self.push_ack(arrived.key, None);
        }
    }

    // The end.

    /// No more permits; what is being handled may still be settled.
    pub(crate) fn close(&mut self) {
        self.closing = true;
        self.drop_queue();
    }

    /// True when no acknowledgement waits for its confirmation in this session.
    pub(crate) fn is_drained(&self) -> bool {
        self.acks.unanswered() == 0
    }

    /// The command that ends the session of this consumer id.
    pub(crate) fn close_command(&mut self, request_id: u64) {
        let consumer_id = self.id;
        self.transmit(&Command::CloseConsumer(CommandCloseConsumer {
            consumer_id,
            request_id,
            ..CommandCloseConsumer::default()
        }));
    }

    /// Ends it all: who still waits is told.
    pub(crate) fn end(&mut self) {
        let error = Error::new(
            ErrorKind::Closed,
            format!("the consumer on {} was closed", self.setup.topic),
        );
        self.forget_session(&error);
        if !self.attach.is_ended() {
            self.attach.end(error);
        }
    }

    pub(crate) fn topic(&self) -> &str {
        &self.setup.topic
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            active: self.active,
            permits: self.permits.outstanding(),
            held: self.permits.held(),
            queued: self.queue.len(),
            entries: self.entries.open(),
            unanswered: self.acks.unanswered(),
            stalls_cured: self.stalls_cured,
            last_error: self.attach.last_error().cloned(),
        }
    }

    fn transmit(&mut self, command: &Command) {
        let mut frame = BytesMut::new();
        encode_frame(command, &mut frame);
        self.out.push(frame.freeze());
    }
}

fn pairs(pairs: &[(String, String)]) -> Vec<KeyValue> {
    pairs
        .iter()
        .map(|(key, value)| KeyValue {
            key: key.clone().into(),
            value: value.clone().into(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
