//! Who watches the topics of a namespace is told when they appear and vanish.

mod support;

use pulsar_devbroker::PeerId;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{TOPIC, World, producer, server_error};

const WATCHER: u64 = 7;

fn watch(pattern: &str) -> CommandWatchTopicList {
    CommandWatchTopicList {
        request_id: 4,
        watcher_id: WATCHER,
        namespace: "public/default".into(),
        topics_pattern: pattern.into(),
        topics_hash: None,
    }
}

fn success(world: &mut World) -> CommandWatchTopicListSuccess {
    match world.answer() {
        Command::WatchTopicListSuccess(success) => success,
        other => panic!("a watch instead of {other:?}"),
    }
}

/// A connection that watches these.
fn watcher(world: &mut World, pattern: &str) -> PeerId {
    let peer = world.peer();
    world.send(peer, watch(pattern));
    success(world);
    peer
}

/// What was said of topics since the last time: new ones and deleted ones, sorted.
fn news(world: &mut World) -> (Vec<String>, Vec<String>) {
    // Whatever an administrator did is sent with the next input.
    let now = world.now;
    world.broker.on_time(now);
    world.drain();
    let mut news = (Vec::new(), Vec::new());
    for (_, command, _) in std::mem::take(&mut world.sent) {
        if let Command::WatchTopicUpdate(update) = command {
            assert_eq!(update.watcher_id, WATCHER);
            assert_eq!(update.topics_hash.len(), 8);
            news.0.extend(update.new_topics);
            news.1.extend(update.deleted_topics);
        }
    }
    news.0.sort();
    news.1.sort();
    news
}

fn nothing() -> (Vec<String>, Vec<String>) {
    (Vec::new(), Vec::new())
}

#[test]
fn a_watch_begins_with_the_topics_that_are_there() {
    let mut world = World::new();
    for topic in [
        "orders",
        "invoices",
        "non-persistent://public/default/orders-live",
    ] {
        world.broker.create_topic(topic).expect("a new topic");
    }
    let peer = world.peer();
    world.send(peer, watch("persistent://public/default/ord.*"));
    let begun = success(&mut world);
    assert_eq!((begun.request_id, begun.watcher_id), (4, WATCHER));
    assert_eq!(begun.topic, [TOPIC]);

    let again = CommandWatchTopicList {
        topics_hash: Some(begun.topics_hash),
        ..watch("persistent://public/default/ord.*")
    };
    world.send(peer, again);
    assert_eq!(success(&mut world).topic, Vec::<String>::new());
}

#[test]
fn topics_that_appear_and_vanish_are_told_once_each() {
    let mut world = World::new();
    watcher(&mut world, "public/default/ord.*");

    let publisher = world.peer();
    world.send(publisher, producer(1));
    assert_eq!(news(&mut world), (vec![TOPIC.to_owned()], vec![]));
    world.send(publisher, producer(2));
    assert_eq!(news(&mut world), nothing());

    let now = world.now;
    assert!(world.broker.delete(now, "orders"));
    assert_eq!(news(&mut world), (vec![], vec![TOPIC.to_owned()]));
}

#[test]
fn partitions_are_told_each_by_its_name() {
    let mut world = World::new();
    watcher(&mut world, "public/default/ord.*");
    let names = |numbers: std::ops::Range<u32>| numbers.map(|number| format!("{TOPIC}-partition-{number}"));

    world.broker.create_partitioned_topic("orders", 2).unwrap();
    assert_eq!(news(&mut world), (names(0..2).collect(), vec![]));
    world.broker.grow_partitions("orders", 3).unwrap();
    assert_eq!(news(&mut world), (names(2..3).collect(), vec![]));
}

#[test]
fn what_is_not_watched_is_not_told() {
    let mut world = World::new();
    watcher(&mut world, "public/default/orders");
    world.broker.create_namespace("acme/shop").unwrap();
    for topic in [
        "invoices",
        "old-orders",
        "acme/shop/orders",
        "non-persistent://public/default/orders",
    ] {
        world.broker.create_topic(topic).expect("a new topic");
        assert_eq!(news(&mut world), nothing(), "{topic}");
    }
}

#[test]
fn a_watch_that_was_closed_tells_nothing() {
    let mut world = World::new();
    let peer = watcher(&mut world, "public/default/.*");
    let close = CommandWatchTopicListClose {
        request_id: 5,
        watcher_id: WATCHER,
    };
    world.send(peer, close);
    assert!(matches!(world.answer(), Command::Success(success) if success.request_id == 5));
    // Nobody minds a second one, nor what happens after the connection is gone.
    world.send(peer, close);
    assert!(matches!(world.answer(), Command::Success(_)));
    world.broker.create_topic("orders").unwrap();
    assert_eq!(news(&mut world), nothing());
}

#[test]
fn a_pattern_that_is_too_long_or_none_is_refused() {
    let mut world = World::new();
    let peer = world.peer();
    world.send(peer, watch(&format!("public/default/{}", "x".repeat(36))));
    assert_eq!(server_error(&world.answer()), Some(ServerError::NotAllowedError));
    world.send(peer, watch("public/default/("));
    assert_eq!(server_error(&world.answer()), Some(ServerError::InvalidTopicName));
}
