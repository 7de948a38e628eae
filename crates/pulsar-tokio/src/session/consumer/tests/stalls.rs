use pulsar_wire::proto::CommandConsumerStatsResponse;

use super::*;

impl Scene {
    /// Lets an interval pass; the request with which the broker is asked, if it is.
    fn interval(&mut self) -> Option<u64> {
        self.now += STALL_CHECK;
        self.machine.on_time(self.now);
        let id = self.ids.next();
        self.machine.inquire(self.now, || Some(id));
        self.sent().into_iter().find_map(|command| match command {
            Command::ConsumerStats(question) => {
                assert_eq!(question.consumer_id, self.machine.id());
                Some(question.request_id)
            }
            _ => None,
        })
    }

    /// The broker answers; true if the session is left.
    fn account_of(&mut self, request_id: u64, permits: i64) -> bool {
        self.account_with(request_id, permits, |_| {})
    }

    fn account_with(
        &mut self,
        request_id: u64,
        permits: i64,
        change: impl FnOnce(&mut CommandConsumerStatsResponse),
    ) -> bool {
        let mut response = CommandConsumerStatsResponse {
            request_id,
            available_permits: Some(permits.cast_unsigned()),
            ..CommandConsumerStatsResponse::default()
        };
        change(&mut response);
        self.machine.account(self.now, 0.0, &response)
    }

    /// Two intervals in which the broker is asked and says that it has no permits.
    fn two_empty_accounts(&mut self) -> bool {
        let first = self.interval().unwrap();
        assert!(!self.account_of(first, 0));
        let second = self.interval().unwrap();
        self.account_of(second, -3)
    }
}

#[test]
fn a_broker_that_twice_has_no_permits_gets_a_new_session() {
    let mut scene = Scene::new(SubType::Shared);
    let old = scene.machine.id();
    assert!(scene.two_empty_accounts());
    assert_eq!(scene.machine.snapshot().stalls_cured, 1);
    assert!(!scene.machine.attach.is_open());
    assert_ne!(scene.open().consumer_id, old);
    scene.arrive(1);
    assert_eq!(scene.tickets().len(), 1);
}

#[test]
fn a_broker_that_has_permits_is_left_alone() {
    let mut scene = Scene::new(SubType::Shared);
    for _ in 0..5 {
        let asked = scene.interval().unwrap();
        assert!(!scene.account_of(asked, i64::from(WINDOW)));
    }
    assert_eq!(scene.machine.snapshot().stalls_cured, 0);
}

#[test]
fn an_arrival_between_two_checks_begins_the_count_anew() {
    let mut scene = Scene::new(SubType::Shared);
    let first = scene.interval().unwrap();
    assert!(!scene.account_of(first, 0));
    scene.arrive(1);
    let ticket = scene.one();
    scene.ack(ticket);
    scene.confirm_all();
    assert_eq!(scene.interval(), None);
    let again = scene.interval().unwrap();
    assert!(!scene.account_of(again, 0));
    let third = scene.interval().unwrap();
    assert!(scene.account_of(third, 0));
}

#[test]
fn an_arrival_before_the_answer_takes_the_suspicion_away() {
    let mut scene = Scene::new(SubType::Shared);
    let first = scene.interval().unwrap();
    assert!(!scene.account_of(first, 0));
    let second = scene.interval().unwrap();
    scene.arrive(1);
    assert!(!scene.account_of(second, 0));
}

#[test]
fn a_broker_is_not_asked_while_a_message_is_held() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let _held = scene.one();
    for _ in 0..3 {
        assert_eq!(scene.interval(), None);
    }
}

#[test]
fn a_standby_is_not_asked_about() {
    let mut scene = Scene::new(SubType::Failover);
    assert_eq!(scene.interval(), None);
    scene.machine.active_change(true);
    assert!(scene.interval().is_some());
}

#[test]
fn a_consumer_blocked_on_unacknowledged_messages_is_left_alone() {
    let mut scene = Scene::new(SubType::Shared);
    for _ in 0..3 {
        let asked = scene.interval().unwrap();
        let is_left = scene.account_with(asked, 0, |response| {
            response.blocked_consumer_on_unacked_msgs = Some(true);
        });
        assert!(!is_left);
    }
}

#[test]
fn a_question_without_an_answer_is_not_repeated_and_one_refused_is_no_proof() {
    let mut scene = Scene::new(SubType::Shared);
    let asked = scene.interval().unwrap();
    assert_eq!(scene.interval(), None);
    for _ in 0..2 {
        assert!(!scene.account_with(asked, 0, |response| response.error_code = Some(19)));
    }
    assert!(scene.interval().is_some());
}

#[test]
fn an_answer_from_before_the_session_means_nothing() {
    let mut scene = Scene::new(SubType::Shared);
    let first = scene.interval().unwrap();
    assert!(!scene.account_of(first, 0));
    let second = scene.interval().unwrap();
    scene.lose();
    scene.open();
    assert!(!scene.account_of(second, 0));
}
