use super::*;

#[test]
fn every_session_has_a_fresh_consumer_id() {
    let mut scene = Scene::new(SubType::Shared);
    let old = scene.machine.id();
    scene.lose();
    let subscribe = scene.open();
    assert_ne!(subscribe.consumer_id, old);
    // What was on its way to the old id is nobody's.
    scene.arrive_as(1, |command, _| command.consumer_id = old);
    assert_eq!(scene.tickets(), []);
    assert_eq!(scene.machine.snapshot().permits, i64::from(WINDOW));
}

#[test]
fn what_is_queued_when_the_session_ends_is_dropped_and_runs_when_it_comes_again() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    scene.lose();
    assert_eq!(scene.tickets(), []);
    scene.open();
    scene.arrive(1);
    assert_eq!(scene.tickets().len(), 1);
}

#[test]
fn a_consumer_that_closes_hands_out_nothing_more_but_confirms() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.arrive(2);
    scene.machine.close();
    scene.arrive(3);
    assert_eq!(scene.tickets(), []);
    scene.ack(ticket);
    assert!(!scene.machine.is_drained());
    assert_eq!(scene.confirm_all(), [1]);
    assert!(scene.machine.is_drained());
    scene.machine.end();
    scene.ack(ticket);
    assert_eq!(scene.told(), [Ok(()), Err(ErrorKind::Closed)]);
}
