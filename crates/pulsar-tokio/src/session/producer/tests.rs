use std::time::{Duration, Instant};

use pulsar_wire::proto::{CommandProducerSuccess, CommandSendError, CommandSendReceipt, MessageIdData};
use pulsar_wire::{Command, Frame, FrameDecoder, ServerError};

use super::*;
use crate::lookup::Target;

const TIMEOUT: Duration = Duration::from_secs(30);
const DELAY: Duration = Duration::from_millis(10);
const REPETITIVE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

struct Scene {
    now: Instant,
    machine: Producer<&'static str>,
    requests: u64,
    /// The broker's greatest size.
    most: usize,
}

impl Scene {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut ProducerSetup)) -> Self {
        let now = Instant::now();
        let mut setup = ProducerSetup {
            topic: "persistent://public/default/orders".into(),
            name: None,
            initial_subscription: None,
            properties: Vec::new(),
            send_timeout: Some(TIMEOUT),
            persistent: true,
            partition: -1,
            codec: Codec::None,
            batching: None,
        };
        change(&mut setup);
        let machine = Producer::new(7, setup, Attach::new(now, TIMEOUT));
        Self {
            now,
            machine,
            requests: 0,
            most: 1_000,
        }
    }

    fn opened() -> Self {
        let mut scene = Self::new();
        scene.open(-1);
        scene
    }

    fn dial(&mut self) -> CommandProducer {
        self.requests += 1;
        self.now += Duration::from_secs(10);
        let attach = &mut self.machine.attach;
        while !matches!(attach.step(self.now), super::super::attach::Step::Dial(_)) {
            attach.looked_up(Target::direct("pulsar://broker:6650").unwrap());
        }
        assert!(attach.dialled(self.now));
        self.machine.open(self.requests, self.most);
        match &self.sent()[..] {
            [Command::Producer(command)] => (**command).clone(),
            other => panic!("{other:?}"),
        }
    }

    fn open(&mut self, last_sequence_id: i64) -> CommandProducer {
        let command = self.dial();
        self.success(last_sequence_id);
        command
    }

    fn success(&mut self, last_sequence_id: i64) {
        let success = CommandProducerSuccess {
            request_id: self.requests,
            producer_name: "given".into(),
            last_sequence_id: Some(last_sequence_id),
            ..CommandProducerSuccess::default()
        };
        self.machine.opened(self.requests, &success);
    }

    fn send(&mut self, text: &'static str) {
        let message = NewMessage::new(text);
        self.machine.send(self.now, 1, message, text).unwrap();
    }

    fn lose(&mut self) {
        let error = Error::new(ErrorKind::ConnectionLost, "cut");
        self.machine.session_over(self.now, 0.0, None, &error);
    }

    fn receipt(&mut self, sequence_id: u64, entry: u64) -> After {
        let receipt = CommandSendReceipt {
            producer_id: 7,
            sequence_id,
            message_id: Some(MessageIdData {
                ledger_id: if entry == u64::MAX { entry } else { 1 },
                entry_id: entry,
                ..MessageIdData::default()
            }),
            ..CommandSendReceipt::default()
        };
        self.machine.receipt(self.now, 0.0, &receipt)
    }

    fn refuse(&mut self, sequence_id: u64, code: ServerError) -> After {
        let refusal = CommandSendError {
            producer_id: 7,
            sequence_id,
            error: code.code(),
            message: "no".into(),
        };
        self.machine.send_error(self.now, 0.0, &refusal)
    }

    fn sent(&mut self) -> Vec<Command> {
        let mut input = bytes::BytesMut::new();
        for frame in self.machine.out.drain(..) {
            input.extend_from_slice(&frame);
        }
        let mut decoder = FrameDecoder::default();
        let frames = std::iter::from_fn(|| decoder.decode(&mut input).unwrap());
        frames.map(|Frame { command, .. }| command).collect()
    }

    fn sequences(&mut self) -> Vec<u64> {
        let sent = self.sent().into_iter();
        sent.map(|command| match command {
            Command::Send(send) => send.sequence_id,
            other => panic!("{}", other.name()),
        })
        .collect()
    }

    fn done(&mut self) -> Vec<(&'static str, Result<Stored, Error>)> {
        self.machine.done.drain(..).collect()
    }

    /// Who was told, and that all went well.
    fn stored(&mut self) -> Vec<&'static str> {
        let done = self.done().into_iter();
        done.map(|(text, result)| result.map(|_| text).unwrap()).collect()
    }

    fn failed(&mut self) -> Vec<(&'static str, Error)> {
        let done = self.done().into_iter();
        done.map(|(text, result)| (text, result.unwrap_err())).collect()
    }
}

fn batching() -> Scene {
    let mut scene = Scene::with(|setup| {
        setup.batching = Some(Batching {
            max_messages: 3,
            max_bytes: 800,
            max_delay: DELAY,
        });
    });
    scene.most = 10_000;
    scene.open(-1);
    scene
}

/// The first and the last number of each entry that was sent.
fn ranges(scene: &mut Scene) -> Vec<(u64, u64)> {
    let sent = scene.sent().into_iter();
    sent.map(|command| match command {
        Command::Send(send) => (
            send.sequence_id,
            send.highest_sequence_id.unwrap_or(send.sequence_id),
        ),
        other => panic!("{}", other.name()),
    })
    .collect()
}

#[test]
fn a_message_that_finds_nothing_on_its_way_leaves_at_once_and_the_next_ones_with_its_receipt() {
    let mut scene = batching();
    for text in ["a", "b", "c"] {
        scene.send(text);
    }
    assert_eq!(ranges(&mut scene), [(0, 0)]);
    assert_eq!(scene.machine.pending(), 3);
    scene.receipt(0, 5);
    assert_eq!(ranges(&mut scene), [(1, 2)]);
    scene.receipt(1, 6);
    let ids: Vec<_> = scene
        .done()
        .into_iter()
        .map(|(text, stored)| (text, stored.unwrap().id.unwrap()))
        .map(|(text, id)| (text, id.entry, id.batch_index))
        .collect();
    assert_eq!(ids, [("a", 5, -1), ("b", 6, 0), ("c", 6, 1)]);
    assert_eq!(scene.machine.pending(), 0);
}

#[test]
fn a_full_batch_does_not_wait_for_anything() {
    let mut scene = batching();
    for text in ["a", "b", "c", "d", "e"] {
        scene.send(text);
    }
    assert_eq!(ranges(&mut scene), [(0, 0), (1, 3)]);
}

#[test]
fn what_waits_leaves_when_its_time_is_over() {
    let mut scene = batching();
    scene.send("a");
    scene.send("b");
    assert_eq!(scene.machine.next_time(), Some(scene.now + DELAY));
    scene.machine.on_time(scene.now + DELAY);
    assert_eq!(ranges(&mut scene), [(0, 0), (1, 1)]);
}

#[test]
fn a_delayed_message_leaves_alone_and_behind_what_came_before_it() {
    let mut scene = batching();
    scene.send("a");
    scene.send("b");
    scene.send("c");
    let delayed = NewMessage::new("d").deliver_at_ms(1);
    scene.machine.send(scene.now, 1, delayed, "d").unwrap();
    assert_eq!(ranges(&mut scene), [(0, 0), (1, 2), (3, 3)]);
}

#[test]
fn batches_are_sent_again_as_they_were_and_refused_by_their_highest_number() {
    let mut scene = batching();
    for text in ["a", "b", "c", "d"] {
        scene.send(text);
    }
    scene.sent();
    scene.lose();
    scene.open(-1);
    assert_eq!(ranges(&mut scene), [(0, 0), (1, 3)]);
    scene.refuse(3, ServerError::NotAllowedError);
    let failed: Vec<_> = scene.failed().into_iter().map(|(text, _)| text).collect();
    assert_eq!(failed, ["b", "c", "d"]);
    scene.receipt(0, 5);
    assert_eq!(scene.stored(), ["a"]);
}

#[test]
fn closing_sends_what_waits() {
    let mut scene = batching();
    scene.send("a");
    scene.send("b");
    scene.machine.close();
    assert_eq!(ranges(&mut scene), [(0, 0), (1, 1)]);
    assert_eq!(scene.machine.pending(), 2);
}

#[test]
fn a_terminal_refusal_fails_what_waits_too() {
    let mut scene = batching();
    scene.send("a");
    scene.send("b");
    scene.refuse(0, ServerError::TopicTerminatedError);
    assert_eq!(scene.failed().len(), 2);
    assert_eq!(scene.machine.pending(), 0);
}

#[test]
fn what_a_codec_does_not_make_smaller_is_sent_as_it_is() {
    for (text, compressed) in [("a", false), (REPETITIVE, true)] {
        let mut scene = Scene::with(|setup| setup.codec = Codec::Lz4);
        scene.open(-1);
        scene.send(text);
        let frame = scene.machine.out.pop().unwrap();
        let mut input = bytes::BytesMut::from(&frame[..]);
        let frame = FrameDecoder::default().decode(&mut input).unwrap().unwrap();
        let metadata = frame.message.unwrap().metadata().unwrap();
        assert_eq!(metadata.compression.is_some(), compressed);
        assert_eq!(metadata.uncompressed_size.is_some(), compressed);
    }
}

#[test]
fn receipts_in_order_end_the_sends_in_order() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.send("b");
    assert_eq!(scene.sequences(), [0, 1]);
    scene.receipt(0, 5);
    scene.receipt(1, 6);
    let done = scene.done();
    assert_eq!(done[0].0, "a");
    assert_eq!(done[1].1.as_ref().unwrap().id.unwrap().entry, 6);
    assert_eq!(scene.machine.pending(), 0);
}

#[test]
fn a_receipt_behind_the_head_is_ignored() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.send("b");
    scene.receipt(0, 5);
    assert_eq!(scene.receipt(0, 5), After::Fine);
    assert_eq!(scene.machine.pending(), 1);
}

#[test]
fn a_receipt_ahead_of_the_head_opens_a_new_session_that_sends_all_again() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.send("b");
    assert_eq!(scene.receipt(1, 5), After::Reopen);
    scene.open(-1);
    assert_eq!(scene.sequences(), [0, 1]);
}

#[test]
fn a_new_session_sends_what_is_pending_with_the_same_numbers_a_greater_epoch_and_the_given_name() {
    let mut scene = Scene::new();
    let first = scene.open(-1);
    assert_eq!((first.epoch, first.producer_name), (Some(0), None));
    for text in ["a", "b", "c"] {
        scene.send(text);
    }
    scene.sent();
    scene.receipt(0, 5);
    scene.lose();
    scene.send("d");
    assert_eq!(scene.sequences(), [0_u64; 0]);

    let second = scene.open(99);
    assert_eq!(second.epoch, Some(1));
    assert_eq!(second.producer_id, first.producer_id);
    assert_eq!(second.producer_name.as_deref(), Some("given"));
    assert_eq!(second.user_provided_producer_name, Some(false));
    scene.send("e");
    assert_eq!(scene.sequences(), [1, 2, 3, 4]);
}

#[test]
fn every_attempt_to_open_has_a_greater_epoch() {
    let mut scene = Scene::new();
    assert_eq!(scene.open(-1).epoch, Some(0));
    scene.lose();
    assert_eq!(scene.dial().epoch, Some(1));
    scene.lose();
    assert_eq!(scene.dial().epoch, Some(2));
}

#[test]
fn an_answer_to_an_attempt_that_was_given_up_opens_nothing() {
    let mut scene = Scene::opened();
    scene.lose();
    scene.dial();
    scene.lose();
    scene.success(-1);
    assert!(!scene.machine.attach.is_open());
}

#[test]
fn numbers_begin_behind_the_last_one_that_the_broker_has_of_the_name() {
    let mut scene = Scene::new();
    scene.open(41);
    scene.send("a");
    assert_eq!(scene.sequences(), [42]);
}

#[test]
fn the_empty_id_is_an_error_at_first_and_success_after_a_resend() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.receipt(0, u64::MAX);
    assert_eq!(scene.failed()[0].1.kind(), ErrorKind::NotStored);

    scene.send("b");
    scene.lose();
    scene.open(1);
    scene.receipt(1, u64::MAX);
    assert_eq!(scene.done()[0].1.as_ref().unwrap().id, None);
}

#[test]
fn a_message_first_sent_in_the_new_session_is_no_resend() {
    let mut scene = Scene::opened();
    scene.lose();
    scene.send("a");
    scene.open(-1);
    scene.receipt(0, u64::MAX);
    assert_eq!(scene.failed()[0].1.kind(), ErrorKind::NotStored);
}

#[test]
fn on_a_topic_that_keeps_nothing_the_empty_id_is_always_an_error() {
    let mut scene = Scene::with(|setup| setup.persistent = false);
    scene.open(-1);
    scene.send("a");
    scene.lose();
    scene.open(-1);
    scene.receipt(0, u64::MAX);
    assert_eq!(scene.failed()[0].1.kind(), ErrorKind::NotStored);
}

#[test]
fn a_message_that_is_not_allowed_fails_alone() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.send("b");
    assert_eq!(scene.refuse(0, ServerError::NotAllowedError), After::Fine);
    let failed = scene.failed();
    assert_eq!(failed.len(), 1);
    assert!(!failed[0].1.is_ambiguous());
    scene.receipt(1, 5);
    assert_eq!(scene.stored(), ["b"]);
}

#[test]
fn a_refusal_that_may_pass_opens_a_new_session() {
    for code in [
        ServerError::PersistenceError,
        ServerError::ChecksumError,
        ServerError::UnknownError,
        ServerError::ProducerBlockedQuotaExceededError,
    ] {
        let mut scene = Scene::opened();
        scene.send("a");
        assert_eq!(scene.refuse(0, code), After::Reopen);
        assert!(scene.done().is_empty());
        scene.sent();
        scene.open(-1);
        assert_eq!(scene.sequences(), [0]);
    }
}

#[test]
fn a_terminal_refusal_fails_everything_pending_and_everything_after() {
    for code in [ServerError::TopicTerminatedError, ServerError::ProducerFenced] {
        let mut scene = Scene::opened();
        scene.send("a");
        scene.send("b");
        scene.refuse(0, code);
        let failed = scene.failed();
        assert_eq!(failed.len(), 2);
        assert!(
            failed
                .iter()
                .all(|(_, error)| error.is_terminal() && !error.is_ambiguous())
        );
        let (_, error) = scene
            .machine
            .send(scene.now, 1, NewMessage::new("c"), "c")
            .unwrap_err();
        assert!(error.is_terminal());
    }
}

#[test]
fn what_an_earlier_session_sent_fails_as_ambiguous_when_the_next_is_refused_for_good() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.lose();
    scene.send("b");
    scene.dial();
    let error = Error::refused(ServerError::TopicTerminatedError, "", "open");
    scene.machine.refused(scene.requests, scene.now, 0.0, &error);
    let failed = scene.failed();
    assert!(failed[0].1.is_ambiguous() && failed[0].1.is_terminal());
    assert!(!failed[1].1.is_ambiguous());
}

#[test]
fn a_quota_that_fails_producers_fails_what_is_pending_and_one_that_holds_them_does_not() {
    for (code, fails) in [
        (ServerError::ProducerBlockedQuotaExceededException, true),
        (ServerError::ProducerBlockedQuotaExceededError, false),
    ] {
        let mut scene = Scene::opened();
        scene.send("sent");
        scene.lose();
        scene.send("unsent");
        scene.dial();
        let error = Error::refused(code, "", "open");
        scene.machine.refused(scene.requests, scene.now, 0.0, &error);
        let failed: Vec<_> = scene
            .failed()
            .into_iter()
            .map(|(name, error)| (name, error.is_ambiguous()))
            .collect();
        let expected: &[_] = if fails {
            &[("sent", true), ("unsent", false)]
        } else {
            &[]
        };
        assert_eq!(failed, expected);
        scene.send("next");
        scene.open(-1);
        assert_eq!(scene.sequences().last(), Some(&2));
    }
}

#[test]
fn a_timeout_is_ambiguous_only_for_what_was_sent() {
    let mut scene = Scene::opened();
    scene.send("sent");
    scene.lose();
    scene.send("unsent");
    assert_eq!(scene.machine.next_time(), Some(scene.now + TIMEOUT));
    scene
        .machine
        .on_time(scene.now + TIMEOUT - Duration::from_nanos(1));
    assert!(scene.done().is_empty());
    scene.machine.on_time(scene.now + TIMEOUT);
    let failed = scene.failed();
    assert_eq!(
        failed
            .iter()
            .map(|(text, error)| (*text, error.is_ambiguous()))
            .collect::<Vec<_>>(),
        [("sent", true), ("unsent", false)]
    );
    assert_eq!(scene.machine.next_time(), None);
}

#[test]
fn a_receipt_for_what_has_timed_out_disturbs_nobody() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.machine.on_time(scene.now + TIMEOUT);
    scene.failed();
    assert_eq!(scene.receipt(0, 5), After::Fine);
    scene.send("b");
    assert_eq!(scene.receipt(0, 5), After::Fine);
    scene.receipt(1, 6);
    assert_eq!(scene.stored(), ["b"]);
}

#[test]
fn a_message_that_is_too_large_takes_no_number() {
    let mut scene = Scene::opened();
    let message = NewMessage::new(vec![0; 1_000]);
    let (_, error) = scene.machine.send(scene.now, 1, message, "large").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    scene.send("a");
    assert_eq!(scene.sequences(), [0]);
}

#[test]
fn closing_takes_nothing_more_and_fails_what_is_left_as_ambiguous() {
    let mut scene = Scene::opened();
    scene.send("a");
    scene.machine.close();
    let (_, error) = scene
        .machine
        .send(scene.now, 1, NewMessage::new("b"), "b")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    scene.machine.end();
    let failed = scene.failed();
    assert_eq!(failed[0].1.kind(), ErrorKind::Closed);
    assert!(failed[0].1.is_ambiguous());
}

/// A message that arrived damaged, and the one behind it that was stored.
fn damaged() -> Scene {
    let mut scene = Scene::new();
    scene.open(-1);
    scene.send("damaged");
    scene.send("stored");
    assert_eq!(scene.refuse(0, ServerError::ChecksumError), After::Reopen);
    scene.open(1);
    scene
}

#[test]
fn what_arrived_damaged_and_is_dropped_later_is_not_stored() {
    let mut scene = damaged();
    scene.receipt(0, u64::MAX);
    scene.receipt(1, u64::MAX);
    let done = scene.done();
    let error = done[0].1.as_ref().unwrap_err();
    assert_eq!(
        (error.kind(), error.is_ambiguous()),
        (ErrorKind::NotStored, false)
    );
    assert_eq!(done[1].1.as_ref().unwrap().id, None);
}

#[test]
fn what_arrived_damaged_and_later_without_a_receipt_may_be_stored() {
    let mut scene = damaged();
    scene.lose();
    scene.open(1);
    scene.receipt(0, u64::MAX);
    let done = scene.done();
    let error = done[0].1.as_ref().unwrap_err();
    assert_eq!((error.kind(), error.is_ambiguous()), (ErrorKind::NotStored, true));
}
