//! The administration, of whichever broker.

use std::process::Command;

use pulsar_testing::{Admin, Broker, Position, Schema, broker, eventually, python_or_skip};

/// Publishes with Pulsar's Python client and gives what it printed: the receipts' ledger and entry.
fn publish(broker: &Broker, python: &std::path::Path, topic: &str, bodies: &[&str]) -> Vec<(u64, u64)> {
    const PROGRAM: &str = "
import sys, pulsar
client = pulsar.Client(sys.argv[1], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
producer = client.create_producer(sys.argv[2], batching_enabled=False)
for body in sys.argv[3:]:
    receipt = producer.send(body.encode())
    print(receipt.ledger_id(), receipt.entry_id())
client.close()
";
    let output = Command::new(python)
        .args(["-c", PROGRAM, broker.url(), topic])
        .args(bodies)
        .output()
        .expect("the interpreter runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let receipt = |line: &str| {
        let (ledger, entry) = line.split_once(' ').expect("two numbers");
        (
            ledger.parse().expect("a ledger"),
            entry.parse().expect("an entry"),
        )
    };
    printed.lines().map(receipt).collect()
}

#[test]
fn a_topic_is_there_from_its_creation_to_its_deletion() {
    let broker = broker!();
    let topic = broker.topic("life");
    assert!(!broker.admin().exists(&topic));

    broker.admin().create_topic(&topic);
    assert!(broker.admin().exists(&topic));
    assert_eq!(broker.admin().partitions(&topic), 0);

    broker.admin().delete(&topic, false);
    assert!(!broker.admin().exists(&topic));
}

#[test]
fn a_partitioned_topic_grows_and_is_deleted_whole() {
    let broker = broker!();
    let topic = broker.topic("grows");
    broker.admin().create_partitioned(&topic, 2);

    broker.admin().grow_partitions(&topic, 3);
    assert_eq!(broker.admin().partitions(&topic), 3);

    broker.admin().delete(&topic, true);
    assert_eq!(broker.admin().partitions(&topic), 0);
}

#[test]
fn a_topic_name_may_hold_what_a_path_may_not() {
    let broker = broker!();
    let topic = broker.topic("odd name, 50% ä+?");
    broker.admin().create_topic(&topic);
    broker
        .admin()
        .create_subscription(&topic, "odd/name %", Position::Earliest);

    assert_eq!(broker.admin().backlog(&topic, "odd/name %"), 0);
    broker.admin().delete(&topic, true);
}

#[test]
fn a_fresh_subscription_has_no_kind_and_no_consumer() {
    let broker = broker!();
    let topic = broker.topic("fresh");
    broker.admin().create_topic(&topic);
    broker.admin().create_subscription(&topic, "s", Position::Latest);

    let stats = broker.admin().stats(&topic);
    assert_eq!(stats.subscription("s").kind, "None");
    assert!(stats.subscription("s").consumers.is_empty());
    assert!(stats.producers.is_empty());
}

#[test]
fn a_backlog_is_counted_from_where_the_subscription_starts() {
    let broker = broker!();
    let python = python_or_skip!();
    let topic = broker.topic("starts");
    broker.admin().create_topic(&topic);
    broker
        .admin()
        .create_subscription(&topic, "keeper", Position::Earliest);
    let receipts = publish(&broker, &python, &topic, &["one", "two", "three"]);
    let (ledger, entry) = receipts[1];

    broker
        .admin()
        .create_subscription(&topic, "all", Position::Earliest);
    broker
        .admin()
        .create_subscription(&topic, "none", Position::Latest);
    broker
        .admin()
        .create_subscription(&topic, "some", Position::At { ledger, entry });

    let backlog = |subscription| broker.admin().backlog(&topic, subscription);
    assert_eq!(["all", "none"].map(backlog), [3, 0]);
    assert_eq!(backlog("some"), 2);
}

#[test]
fn a_cursor_is_put_back_and_forth() {
    let broker = broker!();
    let python = python_or_skip!();
    let namespace = broker.namespace("cursor");
    broker.admin().keep_acknowledged(&namespace);
    let topic = broker.topic_in(&namespace, "cursor");
    broker.admin().create_topic(&topic);
    broker
        .admin()
        .create_subscription(&topic, "s", Position::Earliest);
    publish(&broker, &python, &topic, &["one", "two"]);

    broker.admin().reset_cursor(&topic, "s", Position::Latest);
    assert_eq!(broker.admin().backlog(&topic, "s"), 0);

    broker.admin().reset_cursor(&topic, "s", Position::Earliest);
    assert_eq!(broker.admin().backlog(&topic, "s"), 2);
    broker.admin().delete_namespace(&namespace);
}

#[test]
fn the_backlog_of_a_partitioned_topic_is_the_sum() {
    let broker = broker!();
    let python = python_or_skip!();
    let topic = broker.topic("sum");
    broker.admin().create_partitioned(&topic, 3);
    broker
        .admin()
        .create_subscription(&topic, "s", Position::Earliest);
    publish(&broker, &python, &topic, &["1", "2", "3", "4", "5"]);

    assert_eq!(broker.admin().backlog(&topic, "s"), 5);
    assert_eq!(broker.admin().stats(&topic).msg_in_counter, 5);
}

#[test]
fn a_backlog_survives_an_unload() {
    let broker = broker!();
    let python = python_or_skip!();
    let topic = broker.topic("unload");
    broker.admin().create_topic(&topic);
    broker
        .admin()
        .create_subscription(&topic, "s", Position::Earliest);
    publish(&broker, &python, &topic, &["one"]);

    broker.admin().unload(&topic);
    eventually("the topic is loaded again", || {
        broker.admin().backlog(&topic, "s") == 1
    });
}

#[test]
fn the_clients_of_a_topic_are_listed() {
    let broker = broker!();
    let python = python_or_skip!();
    let topic = broker.topic("clients");
    let program = "
import sys, pulsar
client = pulsar.Client(sys.argv[1], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
producer = client.create_producer(sys.argv[2], producer_name='p-1')
consumer = client.subscribe(sys.argv[2], 's', pulsar.ConsumerType.Shared, consumer_name='c-1', receiver_queue_size=10)
sys.stdin.read()
client.close()
";
    let mut peer = Command::new(python)
        .args(["-c", program, broker.url(), &topic])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("the interpreter runs");

    eventually("the consumer has asked for messages", || {
        broker.admin().exists(&topic)
            && broker
                .admin()
                .stats(&topic)
                .subscriptions
                .get("s")
                .is_some_and(|s| s.consumers.first().is_some_and(|consumer| consumer.permits == 10))
    });
    let stats = broker.admin().stats(&topic);
    assert_eq!(stats.producers[0].name, "p-1");
    assert_eq!(stats.subscription("s").kind, "Shared");
    assert_eq!(stats.subscription("s").consumers[0].name, "c-1");

    drop(peer.stdin.take());
    assert!(peer.wait().expect("the peer ends").success());
}

#[test]
fn a_terminated_topic_takes_nothing_more() {
    let broker = broker!();
    let python = python_or_skip!();
    let topic = broker.topic("terminated");
    broker.admin().create_topic(&topic);
    broker.admin().terminate(&topic);

    let publish = || publish(&broker, &python, &topic, &["late"]);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(publish)).is_err());
}

#[test]
fn a_namespace_takes_policies_and_goes_with_its_topics() {
    let broker = broker!();
    let admin: &dyn Admin = broker.admin();
    let namespace = broker.namespace("policies");
    admin.set_deduplication(&namespace, true);
    admin.limit_publishing(&namespace, Some(10));
    admin.limit_publishing(&namespace, None);
    admin.set_topic_creation(&namespace, false);
    admin.enforce_schema(&namespace, true);
    let plain = broker.topic_in(&namespace, "plain");
    let partitioned = broker.topic_in(&namespace, "partitioned");
    admin.create_topic(&plain);
    admin.create_partitioned(&partitioned, 2);
    admin.set_schema(
        &plain,
        Schema {
            kind: "STRING",
            definition: "",
        },
    );

    admin.delete_namespace(&namespace);
    assert!(!admin.exists(&plain));
}

#[test]
fn producers_without_a_schema_are_refused_where_one_is_enforced() {
    let broker = broker!();
    let python = python_or_skip!();
    let namespace = broker.namespace("schema");
    broker.admin().enforce_schema(&namespace, true);
    let topic = broker.topic_in(&namespace, "schema");
    broker.admin().create_topic(&topic);
    let definition = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}"#;
    broker.admin().set_schema(
        &topic,
        Schema {
            kind: "AVRO",
            definition,
        },
    );

    let publish = || publish(&broker, &python, &topic, &["plain"]);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(publish)).is_err());
    broker.admin().delete_namespace(&namespace);
}

#[test]
#[should_panic(expected = "persistent://public/default/nowhere-1 not found")]
fn a_refusal_is_told_with_the_brokers_reason() {
    let _ = broker!().admin().stats("persistent://public/default/nowhere-1");
}

#[test]
fn a_real_broker_tells_its_version() {
    let broker = pulsar_testing::real_broker_or_skip!("the version of a Pulsar");
    let version = broker.admin().version();
    let number = version.strip_prefix("Pulsar ").expect("what it is");
    assert!(
        number.starts_with(|first: char| first.is_ascii_digit()),
        "{version}"
    );
}
