use super::*;

#[test]
fn acknowledgements_gather_while_one_is_unanswered() {
    let mut scene = Scene::new(SubType::Shared);
    for entry in 0..3 {
        scene.arrive(entry);
    }
    for ticket in scene.tickets() {
        scene.ack(ticket);
    }
    let first = scene.acks_sent();
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].message_id.len(), 1);
    assert_eq!(scene.told(), []);
    scene.confirm(&first[0]);
    assert_eq!(scene.told(), [Ok(())]);
    let second = scene.acks_sent();
    assert_eq!(second[0].message_id.len(), 2);
    assert_ne!(second[0].request_id, first[0].request_id);
}

#[test]
fn an_unanswered_acknowledgement_is_repeated_without_running_and_only_then() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.ack(ticket);
    scene.lose();
    assert_eq!(scene.told(), [Err(ErrorKind::SessionLost)]);
    scene.open();
    scene.arrive(1);
    assert_eq!(scene.tickets(), []);
    assert_eq!(scene.confirm_all(), [1]);
    scene.nothing_is_held();

    // Confirmed now: should it come again, somebody wants it to run again.
    scene.arrive(1);
    assert_eq!(scene.tickets().len(), 1);
}

#[test]
fn an_acknowledgement_without_an_answer_is_given_up_in_time() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.ack(ticket);
    let deadline = scene.machine.next_time().unwrap();
    scene.machine.on_time(deadline);
    assert_eq!(scene.told(), [Err(ErrorKind::TimedOut)]);
    scene.nothing_is_due();
}

#[test]
fn members_of_a_batch_are_settled_across_sessions() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive_batch(1, 3);
    let tickets = scene.tickets();
    scene.ack(tickets[0]);
    assert_eq!(scene.told(), [Ok(())]);
    assert_eq!(scene.confirm_all(), [0_u64; 0]);
    scene.lose();
    scene.open();
    scene.arrive_batch(1, 3);
    // The first is settled, the others are still being handled.
    assert_eq!(scene.tickets(), []);
    scene.ack(tickets[1]);
    scene.ack(tickets[2]);
    assert_eq!(scene.confirm_all(), [1]);
    scene.nothing_is_held();
}

#[test]
fn a_handler_that_finishes_between_two_sessions_is_acknowledged_in_the_next() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.lose();
    scene.ack(ticket);
    assert_eq!(scene.told(), [Err(ErrorKind::SessionLost)]);
    scene.open();
    scene.arrive(1);
    assert_eq!(scene.tickets(), []);
    assert_eq!(scene.confirm_all(), [1]);
}

#[test]
fn a_handler_that_finishes_in_the_next_session_acknowledges_there() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.lose();
    scene.open();
    scene.ack(ticket);
    assert_eq!(scene.confirm_all(), [1]);
}

#[test]
fn a_member_given_back_brings_the_entry_but_only_it_runs_again() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive_batch(1, 3);
    let tickets = scene.tickets();
    scene.ack(tickets[0]);
    scene.machine.nack(scene.now, tickets[1]);
    scene.arrive_batch(1, 3);
    let again = scene.one();
    assert_eq!(again.index, 1);
    scene.ack(again);
    scene.ack(tickets[2]);
    assert_eq!(scene.confirm_all(), [1]);
    scene.nothing_is_held();
}

#[test]
fn a_message_is_asked_for_again_after_the_delay_and_once() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.machine.nack(scene.now, ticket);
    scene.machine.nack(scene.now, ticket);
    let due = scene.now + NACK_DELAY;
    assert_eq!(scene.machine.next_time(), Some(due));
    scene.machine.on_time(due - Duration::from_nanos(1));
    assert_eq!(scene.redelivered(), []);
    scene.machine.on_time(due);
    let redelivered = scene.redelivered();
    assert_eq!(redelivered.len(), 1);
    assert_eq!(redelivered[0].message_ids.len(), 1);
    assert_eq!(redelivered[0].message_ids[0].entry_id, 1);
    scene.nothing_is_due();
}
