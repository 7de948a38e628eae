use super::*;

#[test]
fn a_rewind_begins_an_epoch_that_later_sessions_know() {
    let mut scene = Scene::new(SubType::Exclusive);
    for entry in 1..4 {
        scene.arrive(entry);
    }
    let first = scene.machine.next_arrived().unwrap();
    let mut first = first;
    scene.machine.hand_out(&mut first, 0);
    scene.machine.cut_over(&mut first);
    scene.machine.rewind(scene.now, ticket(&first, 0, false));
    let redelivered = scene.redelivered();
    assert_eq!(redelivered[0].consumer_epoch, Some(1));
    assert!(redelivered[0].message_ids.is_empty());
    assert_eq!(scene.tickets(), []);
    for entry in 1..4 {
        scene.arrive(entry);
    }
    assert_eq!(scene.tickets().len(), 3);
    scene.lose();
    assert_eq!(scene.open().consumer_epoch, Some(1));
}

#[test]
fn a_rewind_waits_for_the_acknowledgements_that_are_on_their_way() {
    let mut scene = Scene::new(SubType::Exclusive);
    scene.arrive(1);
    scene.arrive(2);
    let tickets = scene.tickets();
    scene.ack(tickets[0]);
    scene.machine.rewind(scene.now, tickets[1]);
    let acks = scene.acks_sent();
    assert_eq!(scene.redelivered(), []);
    scene.confirm(&acks[0]);
    assert_eq!(scene.redelivered().len(), 1);
}

#[test]
fn a_gap_behind_a_rewind_is_closed_by_another_one() {
    let mut scene = Scene::new(SubType::Exclusive);
    scene.arrive(1);
    let ticket = scene.one();
    scene.machine.rewind(scene.now, ticket);
    scene.redelivered();
    // The broker was reading 2 when it was asked, and goes on behind it.
    scene.arrive_as(2, |command, _| command.consumer_epoch = Some(0));
    scene.arrive(1);
    assert_eq!(scene.tickets().len(), 1);
    scene.arrive(3);
    assert_eq!(scene.tickets(), []);
    assert_eq!(scene.redelivered()[0].consumer_epoch, Some(2));
    scene.arrive(2);
    scene.arrive(3);
    assert_eq!(scene.tickets().len(), 2);
    assert_eq!(scene.redelivered(), []);
}

#[test]
fn what_stays_away_after_a_rewind_is_asked_for_again() {
    let mut scene = Scene::new(SubType::Exclusive);
    scene.arrive(1);
    let ticket = scene.one();
    scene.machine.rewind(scene.now, ticket);
    scene.redelivered();
    scene.arrive_as(2, |command, _| command.consumer_epoch = Some(0));
    let due = scene.machine.next_time().unwrap();
    scene.machine.on_time(due);
    assert_eq!(scene.redelivered().len(), 1);
    scene.nothing_is_due();
}

#[test]
fn an_echo_of_a_rewind_does_not_run_twice() {
    let mut scene = Scene::new(SubType::Exclusive);
    scene.arrive(1);
    let ticket = scene.one();
    scene.machine.rewind(scene.now, ticket);
    scene.arrive(1);
    let ticket = scene.one();
    scene.ack(ticket);
    assert_eq!(scene.confirm_all(), [1]);
    scene.arrive(1);
    assert_eq!(scene.tickets(), []);
    scene.nothing_is_held();

    // In a new session it is no echo.
    scene.lose();
    scene.open();
    scene.arrive(1);
    assert_eq!(scene.tickets().len(), 1);
}
