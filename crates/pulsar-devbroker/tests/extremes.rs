//! What a peer, or a setting, can ask for at most: it takes no long time and overflows nowhere.

mod support;

use std::time::{Duration, Instant};

use pulsar_devbroker::{ControlErrorKind, PeerId};
use pulsar_wire::Command;
use pulsar_wire::proto::*;
use support::{TOPIC, World, batch_of, producer, server_error, subscribe, with_key};

/// Far more than what is linear takes, and far less than what is not.
const LONG: Duration = Duration::from_secs(60);

fn assert_soon(what: impl FnOnce()) {
    let start = Instant::now();
    what();
    let took = start.elapsed();
    assert!(took < LONG, "it took {took:?}");
}

/// Every other of the numbers from `first` on.
fn sticky(first: i32, count: i32) -> KeySharedMeta {
    let ranges = (0..count).map(|index| first + 2 * index);
    KeySharedMeta {
        key_shared_mode: KeySharedMode::Sticky as i32,
        hash_ranges: ranges
            .map(|slot| IntRange {
                start: slot,
                end: slot,
            })
            .collect(),
        ..Default::default()
    }
}

fn join_sticky(world: &mut World, meta: KeySharedMeta) -> PeerId {
    let peer = world.peer();
    let request_id = world.request();
    let subscribe = CommandSubscribe {
        key_shared_meta: Some(meta),
        ..subscribe(request_id, SubType::KeyShared)
    };
    world.send(peer, subscribe);
    peer
}

#[test]
fn many_ranges_of_two_consumers_are_compared_soon() {
    let mut world = World::new();
    assert_soon(|| {
        join_sticky(&mut world, sticky(0, 200_000));
        join_sticky(&mut world, sticky(1, 200_000));
    });
    assert_eq!(world.billing().consumers.len(), 2);
}

#[test]
fn one_range_in_the_midst_of_many_others_is_a_conflict() {
    let mut world = World::new();
    join_sticky(&mut world, sticky(0, 1_000));
    for (range, joins) in [
        ((999, 999), true),
        ((1_000, 1_000), false),
        ((1_001, 1_002), false),
    ] {
        let (start, end) = range;
        join_sticky(
            &mut world,
            KeySharedMeta {
                hash_ranges: vec![IntRange { start, end }],
                ..sticky(0, 0)
            },
        );
        let refused = server_error(&world.answer()).is_some();
        assert_eq!(refused, !joins, "{start}..={end}");
    }
}

#[test]
fn a_message_finds_the_one_of_many_ranges_that_its_key_lies_in() {
    let mut world = World::new();
    let consumers = [sticky(0, 32_768), sticky(1, 32_768)].map(|meta| join_sticky(&mut world, meta));
    for peer in consumers {
        let flow = CommandFlow {
            consumer_id: 1,
            message_permits: 1_000,
        };
        world.send(peer, flow);
    }
    let publisher = world.publisher();
    world.open_producer(publisher, 1);
    assert_soon(|| {
        for number in 0..500 {
            world.publish(publisher, with_key(&number.to_string()));
        }
    });
    assert_eq!(world.deliveries().len(), 500);
}

#[test]
fn thousands_of_consumers_of_one_connection_come_and_go_soon() {
    for kind in [SubType::Shared, SubType::KeyShared, SubType::Failover] {
        let mut world = World::new();
        let peer = world.peer();
        assert_soon(|| {
            for id in 0..2_000 {
                world.subscribe(peer, id, kind);
            }
            world.disconnect(peer);
        });
        assert!(world.billing().consumers.is_empty(), "{kind:?}");
    }
}

#[test]
fn thousands_of_producers_that_wait_for_their_turn_come_and_go_soon() {
    let mut world = World::new();
    let peer = world.peer();
    assert_soon(|| {
        for producer_id in 0..20_000 {
            let request_id = world.request();
            let wait = CommandProducer {
                producer_id,
                producer_access_mode: Some(ProducerAccessMode::WaitForExclusive as i32),
                ..producer(request_id)
            };
            world.send(peer, wait);
        }
        world.disconnect(peer);
    });
    assert!(world.broker.stats(TOPIC).unwrap().producers.is_empty());
}

fn topics(world: &mut World, peer: PeerId, pattern: &str) -> CommandGetTopicsOfNamespaceResponse {
    world.sent.clear();
    let question = CommandGetTopicsOfNamespace {
        namespace: "public/default".into(),
        topics_pattern: Some(pattern.to_owned()),
        ..Default::default()
    };
    world.send(peer, question);
    match world.answer() {
        Command::GetTopicsOfNamespaceResponse(answer) => answer,
        other => panic!("topics were expected, not {other:?}"),
    }
}

#[test]
fn a_pattern_that_would_take_long_is_left_to_the_client() {
    let mut world = World::new();
    let peer = world.peer();
    for number in 0..20 {
        let name = format!("persistent://public/default/{}{number}", "a".repeat(4_000));
        let topic = CommandProducer {
            topic: name,
            producer_id: number,
            ..Default::default()
        };
        world.send(peer, topic);
    }
    assert_soon(|| {
        for pattern in [
            "(((((a{0,99}){0,99}){0,9}.*){0,9}){0,9})z",
            "(a?){1000}z",
            "(.*.*.*.*.*.*)*z",
        ] {
            let answer = topics(&mut world, peer, pattern);
            assert!(answer.filtered() == answer.topics.is_empty(), "{pattern}");
        }
    });
}

#[test]
fn a_pattern_in_another_dialect_is_left_to_the_client() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    for pattern in [
        "public/default/(?!invoices).*",
        "public/default/(?<=x)orders",
        "[",
        "*",
    ] {
        let answer = topics(&mut world, peer, pattern);
        assert_eq!((answer.filtered(), answer.topics.len()), (false, 1), "{pattern}");
    }
}

#[test]
fn a_takeover_that_never_comes_is_waited_for() {
    let mut world = World::with(|config| config.failover_delay = Duration::MAX);
    let peer = world.peer();
    let consumer = world.subscribe(peer, 1, SubType::Failover);
    world.flow(consumer, 1);
    world.open_producer(peer, 1);
    world.publish_many(peer, 1);
    world.pass(Duration::from_secs(100 * 365 * 24 * 3600));
    assert!(world.entries().is_empty());
}

#[test]
fn a_topic_of_four_billion_partitions_is_refused() {
    let mut world = World::new();
    for partitions in [100_001, u32::MAX] {
        let error = world
            .broker
            .create_partitioned_topic("orders", partitions)
            .unwrap_err();
        assert_eq!(error.kind(), ControlErrorKind::Invalid);
        assert!(!world.broker.create_partitioned("orders", partitions));
    }
    world.broker.create_partitioned_topic("orders", 2).unwrap();
    let error = world.broker.grow_partitions("orders", u32::MAX).unwrap_err();
    assert_eq!(error.kind(), ControlErrorKind::Invalid);
    assert!(error.to_string().contains("100000"), "{error}");
}

#[test]
fn bits_behind_the_last_member_of_a_batch_are_no_members() {
    let mut world = World::with(|config| config.batch_index_acks = true);
    let peer = world.peer();
    let consumer = world.subscribe(peer, 1, SubType::Shared);
    world.flow(consumer, 10);
    world.open_producer(peer, 1);
    world.publish(peer, batch_of(2));
    let mut id = world.deliveries().remove(0).id;
    id.ack_set = vec![0b100, -1, -1];
    world.ack(consumer, &id);
    assert_eq!(world.billing().backlog, 0);
}
