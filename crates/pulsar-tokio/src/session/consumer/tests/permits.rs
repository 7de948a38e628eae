use super::*;

#[test]
fn a_settled_message_returns_its_permit_once() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    scene.arrive(2);
    let tickets = scene.tickets();
    assert_eq!(scene.held(), 2);
    for _ in 0..3 {
        scene.ack(tickets[0]);
        scene.machine.nack(scene.now, tickets[0]);
        scene.confirm_all();
    }
    assert_eq!(scene.held(), 1);
}

#[test]
fn an_entry_that_comes_twice_returns_the_second_permit() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.arrive(1);
    assert_eq!(scene.tickets(), []);
    assert_eq!(scene.held(), 1);
    scene.ack(ticket);
    scene.arrive(1);
    scene.nothing_is_held();
}

#[test]
fn members_that_are_gone_cost_nothing_and_complete_the_entry() {
    let mut scene = Scene::new(SubType::Shared);
    // Of four members the second and the fourth are open.
    scene.arrive_batch_as(1, 4, |command, _| command.ack_set = vec![0b1010]);
    assert_eq!(scene.held(), 2);
    let tickets = scene.tickets();
    assert_eq!(
        tickets.iter().map(|ticket| ticket.index).collect::<Vec<_>>(),
        [1, 3]
    );
    for ticket in tickets {
        scene.ack(ticket);
    }
    assert_eq!(scene.confirm_all(), [1]);
    scene.nothing_is_held();
}

#[test]
fn an_undecodable_batch_is_one_delivery_that_returns_the_permits_of_all() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive_as(1, |_, metadata| {
        metadata.num_messages_in_batch = Some(10);
        metadata.compression = Some(9);
    });
    assert_eq!(scene.held(), 10);
    let received = scene.receive();
    assert!(matches!(&received[..], [(_, Payload::Undecodable { .. })]));
    assert_eq!(scene.held(), 1);
    scene.ack(received[0].0);
    assert_eq!(scene.confirm_all(), [1]);
    scene.nothing_is_held();
}

#[test]
fn claims_of_any_size_break_no_account() {
    let mut scene = Scene::new(SubType::Shared);
    for (entry, count) in [i32::MAX, i32::MAX, i32::MIN, 0, 1 << 21].into_iter().enumerate() {
        scene.arrive_as(entry as u64, |_, metadata| {
            metadata.num_messages_in_batch = Some(count);
        });
    }
    for ticket in scene.tickets() {
        scene.ack(ticket);
    }
    scene.confirm_all();
    for _ in 0..3 {
        scene.machine.flush(scene.now);
    }
    scene.nothing_is_held();
}

#[test]
fn a_chunk_that_belongs_nowhere_returns_its_permit_and_is_left_alone() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive_as(1, |_, metadata| chunk(metadata));
    assert_eq!(scene.tickets(), []);
    assert_eq!(scene.confirm_all(), [0_u64; 0]);
    scene.nothing_is_held();
}

#[test]
fn a_delivery_of_an_older_epoch_returns_its_permit() {
    let mut scene = Scene::new(SubType::Exclusive);
    scene.arrive(1);
    let ticket = scene.one();
    scene.machine.rewind(scene.now, ticket);
    scene.arrive_as(2, |command, _| command.consumer_epoch = Some(0));
    assert_eq!(scene.tickets(), []);
    scene.nothing_is_held();
}

#[test]
fn a_consumer_that_is_no_longer_active_returns_what_has_not_started() {
    let mut scene = Scene::new(SubType::Failover);
    scene.machine.active_change(true);
    for entry in 0..5 {
        scene.arrive(entry);
    }
    let mut first = scene.machine.next_arrived().unwrap();
    assert_eq!(scene.machine.hand_out(&mut first, 0), HandOut::Yes);
    let running = ticket(&first, 0, false);
    scene.machine.cut_over(&mut first);
    scene.machine.active_change(false);
    assert!(!scene.machine.snapshot().active);
    assert_eq!(scene.held(), 1);
    assert_eq!(scene.tickets(), []);
    scene.ack(running);
    assert_eq!(scene.confirm_all(), [0]);
    scene.nothing_is_held();
}

#[test]
fn permits_never_survive_their_session() {
    let mut scene = Scene::new(SubType::Shared);
    scene.arrive(1);
    let ticket = scene.one();
    scene.lose();
    scene.open();
    assert_eq!(scene.machine.snapshot().permits, i64::from(WINDOW));
    scene.ack(ticket);
    assert_eq!(scene.machine.snapshot().permits, i64::from(WINDOW));
    assert_eq!(scene.held(), 0);
}
