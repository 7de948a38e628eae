//! Which topics there are: listed, made by use or by hand, divided, deleted.

mod support;

use pulsar_devbroker::Position;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};
use support::{TOPIC, World, producer, server_error, subscribe};

const NAMESPACE: &str = "public/default";

fn ask(
    world: &mut World,
    change: impl FnOnce(&mut CommandGetTopicsOfNamespace),
) -> CommandGetTopicsOfNamespaceResponse {
    let peer = world.peer();
    let mut question = CommandGetTopicsOfNamespace {
        request_id: 7,
        namespace: NAMESPACE.into(),
        ..Default::default()
    };
    change(&mut question);
    world.send(peer, question);
    let Command::GetTopicsOfNamespaceResponse(answer) = world.answer() else {
        panic!("a list")
    };
    assert_eq!(answer.request_id, 7);
    answer
}

/// Two topics that are persistent, and one that is not.
fn shop() -> World {
    let mut world = World::new();
    for topic in ["orders", "invoices", "non-persistent://public/default/clicks"] {
        world.broker.create_topic(topic).expect("a new topic");
    }
    world
}

#[test]
fn topics_are_listed_by_mode() {
    let mut world = shop();
    let mut list = |mode: TopicsMode| ask(&mut world, |question| question.mode = Some(mode as i32)).topics;
    let persistent = [
        "persistent://public/default/invoices",
        "persistent://public/default/orders",
    ];
    assert_eq!(list(TopicsMode::Persistent), persistent);
    assert_eq!(
        list(TopicsMode::NonPersistent),
        ["non-persistent://public/default/clicks"]
    );
    assert_eq!(list(TopicsMode::All).len(), 3);
}

#[test]
fn a_list_that_did_not_change_is_not_sent_again() {
    let mut world = shop();
    let first = ask(&mut world, |_| {});
    assert_eq!((first.filtered, first.changed), (Some(false), Some(true)));
    let hash = first.topics_hash.unwrap();
    assert_eq!(hash.len(), 8);
    let again = ask(&mut world, |question| question.topics_hash = Some(hash.clone()));
    assert_eq!((again.topics.len(), again.changed), (0, Some(false)));
    assert_eq!(again.topics_hash, Some(hash));
}

#[test]
fn a_short_pattern_is_applied() {
    let mut world = shop();
    let answer = ask(&mut world, |question| {
        question.topics_pattern = Some("persistent://public/default/ord.*".into());
    });
    assert_eq!(answer.topics, [TOPIC]);
    assert_eq!(answer.filtered, Some(true));
}

#[test]
fn a_long_pattern_is_left_to_the_client() {
    let mut world = shop();
    let pattern = format!("public/default/{}", "x".repeat(40));
    let answer = ask(&mut world, |question| question.topics_pattern = Some(pattern));
    assert_eq!((answer.topics.len(), answer.filtered), (2, Some(false)));
}

#[test]
fn a_pattern_that_cannot_be_read_is_left_to_the_client() {
    let mut world = shop();
    let answer = ask(&mut world, |question| question.topics_pattern = Some("(".into()));
    assert_eq!((answer.topics.len(), answer.filtered), (2, Some(false)));
}

#[test]
fn an_unknown_namespace_has_no_topics_and_nonsense_closes_the_connection() {
    let mut world = shop();
    let answer = ask(&mut world, |question| {
        question.namespace = "public/nowhere".into()
    });
    assert_eq!(answer.topics, [] as [&str; 0]);
    assert_eq!(answer.topics_hash.as_deref(), Some("00000000"));
    let peer = world.peer();
    let nonsense = CommandGetTopicsOfNamespace {
        namespace: "nonsense".into(),
        ..Default::default()
    };
    world.send(peer, nonsense);
    assert_eq!(world.closed[0].0, peer);
}

#[test]
fn partitions_are_listed_one_by_one() {
    let mut world = World::new();
    world.broker.create_partitioned("orders", 2);
    let answer = ask(&mut world, |question| {
        question.topics_pattern = Some(".*/orders".into())
    });
    let partitions = [
        "persistent://public/default/orders-partition-0",
        "persistent://public/default/orders-partition-1",
    ];
    assert_eq!(answer.topics, partitions);
}

#[test]
fn a_partitioned_topic_grows_with_its_subscriptions() {
    let mut world = World::new();
    world.broker.create_partitioned_topic(TOPIC, 2).unwrap();
    world
        .broker
        .create_subscription(TOPIC, "billing", Position::Earliest)
        .unwrap();
    world.broker.grow_partitions(TOPIC, 3).unwrap();
    assert_eq!(world.broker.partition_count(TOPIC), Some(3));
    let grown = world.broker.stats(&format!("{TOPIC}-partition-2")).unwrap();
    assert!(grown.subscriptions.contains_key("billing"));
}

#[test]
fn a_partition_beyond_the_last_is_refused() {
    let mut world = World::new();
    world.broker.create_partitioned(TOPIC, 2);
    let peer = world.peer();
    let beyond = CommandProducer {
        topic: format!("{TOPIC}-partition-2"),
        ..producer(1)
    };
    world.send(peer, beyond);
    assert_eq!(server_error(&world.answer()), Some(ServerError::TopicNotFound));
}

#[test]
fn a_partitioned_topic_is_counted_and_deleted_as_a_whole() {
    let mut world = World::new();
    world.broker.create_partitioned(TOPIC, 2);
    let peer = world.peer();
    for (id, partition) in [(1, 0), (2, 1)] {
        let partition = CommandSubscribe {
            topic: format!("{TOPIC}-partition-{partition}"),
            consumer_id: id,
            ..subscribe(id, SubType::Shared)
        };
        world.send(peer, partition);
    }
    let stats = world.broker.stats(TOPIC).unwrap();
    assert_eq!(stats.subscriptions["billing"].consumers.len(), 2);
    assert!(
        world.broker.delete_unused(world.now, TOPIC).is_err(),
        "it has clients"
    );
    assert!(world.broker.delete(world.now, TOPIC));
    assert_eq!(world.broker.partition_count(TOPIC), None);
    assert_eq!(world.broker.topics(), [] as [&str; 0]);
}

#[test]
fn a_consumer_may_insist_on_a_topic_that_exists() {
    let mut world = World::new();
    let peer = world.peer();
    let insisting = |request_id| CommandSubscribe {
        force_topic_creation: Some(false),
        ..subscribe(request_id, SubType::Shared)
    };
    world.send(peer, insisting(1));
    assert_eq!(server_error(&world.answer()), Some(ServerError::TopicNotFound));
    world.broker.create_topic(TOPIC).unwrap();
    world.send(peer, insisting(2));
    assert!(matches!(world.answer(), Command::Success(_)));
}

#[test]
fn where_use_makes_no_topics_only_those_made_by_hand_are_found() {
    let mut world = World::new();
    let peer = world.peer();
    world.broker.set_topic_creation(NAMESPACE, false).unwrap();
    world.send(peer, producer(1));
    assert_eq!(server_error(&world.answer()), Some(ServerError::TopicNotFound));
    world.send(peer, subscribe(2, SubType::Shared));
    assert_eq!(server_error(&world.answer()), Some(ServerError::TopicNotFound));
    let question = CommandPartitionedTopicMetadata {
        topic: TOPIC.into(),
        request_id: 3,
        ..Default::default()
    };
    world.send(peer, question);
    let Command::PartitionMetadataResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.error, Some(ServerError::TopicNotFound.code()));
    world.look_up(peer);
    let Command::LookupTopicResponse(answer) = world.answer() else {
        panic!("an answer")
    };
    assert_eq!(answer.error, Some(ServerError::TopicNotFound.code()));
    world.broker.create_topic(TOPIC).unwrap();
    world.send(peer, producer(4));
    assert!(matches!(world.answer(), Command::ProducerSuccess(_)));
}

#[test]
fn a_namespace_goes_with_its_topics() {
    let mut world = World::new();
    world.broker.create_namespace("public/shop").unwrap();
    world.broker.create_topic("public/shop/orders").unwrap();
    world
        .broker
        .create_partitioned_topic("public/shop/parts", 2)
        .unwrap();
    world.broker.delete_namespace(world.now, "public/shop").unwrap();
    assert_eq!(world.broker.topics(), [] as [&str; 0]);
    assert!(world.broker.create_topic("public/shop/orders").is_err());
}

#[test]
fn a_subscription_made_by_hand_starts_where_it_is_told() {
    let mut world = World::new();
    let peer = world.peer();
    world.open_producer(peer, 1);
    world.publish_many(peer, 3);
    let id = world.broker.entries(TOPIC)[1].id.clone();
    let at = Position::At {
        ledger: id.ledger_id,
        entry: id.entry_id,
    };
    for (name, position) in [
        ("all", Position::Earliest),
        ("none", Position::Latest),
        ("some", at),
    ] {
        world.broker.create_subscription(TOPIC, name, position).unwrap();
    }
    let stats = world.broker.stats(TOPIC).unwrap();
    let backlogs = ["all", "none", "some"].map(|name| stats.subscriptions[name].backlog);
    assert_eq!(backlogs, [3, 0, 2]);
    assert_eq!(stats.subscriptions["all"].kind_name(), "None");
}
