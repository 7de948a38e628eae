//! Whatever peers send, the broker neither panics nor asks to be woken in the past.

mod support;

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use pulsar_devbroker::{PeerId, Position};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_headers_and_payload};
use support::{START_MS, TOPIC, World};

#[derive(Clone, Debug)]
enum Input {
    Connect,
    Disconnect(usize),
    Command(usize, Box<(Command, Option<Bytes>)>),
    Pass(u16),
    Unload,
    Terminate,
    Delete,
    Reset(u64),
    Forget,
    Crash,
    LimitUnacked(u64),
    LimitDelay(u64),
}

/// Small, or as large as can be.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..4_u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn topic() -> impl Strategy<Value = String> {
    let names = [
        TOPIC,
        TOPIC,
        "orders-partition-1",
        "invoices",
        "invoices-partition-2147483647",
        "non-persistent://public/default/orders",
        "persistent://public/default/or%2Fders\u{0}\n\u{1b}[2J",
        "persistent://public/cluster/default/orders",
        "persistent://public/default/-partition-0",
        "a/b/c",
        "",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

/// Of subscriptions, producers and consumers.
fn name() -> impl Strategy<Value = String> {
    let names = ["billing", "billing", "", "\u{0}\r\n", "a/b%2F..\u{202e}"];
    let long = Just("x".repeat(100_000));
    prop_oneof![20 => prop::sample::select(names.to_vec()).prop_map(str::to_owned), 1 => long]
}

fn pattern() -> impl Strategy<Value = String> {
    let patterns = [
        "public/default/or.*",
        "persistent://public/default/.*",
        "(((a*)*)*)*b",
        "(.{0,99}){0,99}",
        "(?=x)",
        "[",
        "",
    ];
    prop::sample::select(patterns.to_vec()).prop_map(str::to_owned)
}

fn schema() -> impl Strategy<Value = Schema> {
    (-2..25_i32, 0..3_usize).prop_map(|(kind, size)| Schema {
        name: String::new(),
        schema_data: Bytes::from(vec![7; size * 1_000]),
        r#type: kind,
        properties: Vec::new(),
    })
}

fn id() -> impl Strategy<Value = MessageIdData> {
    let ack_set = prop::collection::vec(prop_oneof![Just(0), Just(-1), any::<i64>()], 0..4);
    let index = || prop::option::of(any::<i32>());
    (number(), number(), ack_set, index(), index(), index()).prop_map(
        |(ledger_id, entry_id, ack_set, partition, batch_index, batch_size)| MessageIdData {
            ledger_id,
            entry_id,
            ack_set,
            partition,
            batch_index,
            batch_size,
            first_chunk_message_id: None,
        },
    )
}

fn ids() -> impl Strategy<Value = Vec<MessageIdData>> {
    prop::collection::vec(id(), 0..3)
}

fn metadata() -> impl Strategy<Value = MessageMetadata> {
    let number = || prop::option::of(prop_oneof![3 => 0..4, 1 => Just(i32::MAX), 1 => any::<i32>()]);
    let soon = START_MS as i64..START_MS as i64 + 100_000;
    let time = prop::option::of(prop_oneof![3 => soon, 1 => Just(i64::MAX), 1 => any::<i64>()]);
    let key = prop::option::of(prop::sample::select(vec!["", "a", "YQ==", "\u{0}"]));
    let numbers = (number(), time, number(), number());
    (numbers, key, any::<(u64, bool, bool)>()).prop_map(
        |((count, time, chunk, chunks), key, (publish_time, base64, is_ordering))| {
            let key = key.map(Bytes::from);
            MessageMetadata {
                num_messages_in_batch: count,
                deliver_at_time: time,
                chunk_id: chunk,
                num_chunks_from_msg: chunks,
                publish_time,
                partition_key_b64_encoded: Some(base64),
                ordering_key: key.clone().filter(|_| is_ordering),
                partition_key: key,
                ..Default::default()
            }
        },
    )
}

fn sharing() -> impl Strategy<Value = KeySharedMeta> {
    (0..2, any::<(i32, i32, bool)>()).prop_map(|(mode, (start, end, out_of_order))| KeySharedMeta {
        key_shared_mode: mode,
        hash_ranges: vec![IntRange { start, end }, IntRange { start: 0, end: 100 }],
        allow_out_of_order_delivery: Some(out_of_order),
    })
}

fn subscribing() -> impl Strategy<Value = Command> {
    let what = (topic(), name(), -1..5, number(), any::<bool>(), any::<i32>());
    let how = (
        prop::option::of(id()),
        prop::option::of(number()),
        prop::option::of(sharing()),
        prop::option::of(number()),
    );
    let rest = (
        prop::option::weighted(0.1, schema()),
        prop::option::of(name()),
        any::<[bool; 3]>(),
    );
    (what, how, rest).prop_map(|(what, how, rest)| {
        let (topic, subscription, sub_type, consumer_id, durable, priority) = what;
        let (start, since, sharing, epoch) = how;
        let (schema, consumer_name, [is_latest, create, odd]) = rest;
        Command::from(CommandSubscribe {
            topic,
            subscription,
            consumer_name,
            consumer_epoch: epoch,
            schema,
            initial_position: Some(i32::from(is_latest)),
            force_topic_creation: Some(create || !odd),
            read_compacted: Some(odd && is_latest && create),
            sub_type,
            consumer_id,
            durable: Some(durable),
            priority_level: Some(priority),
            start_message_id: start,
            start_message_rollback_duration_sec: since,
            key_shared_meta: sharing,
            ..Default::default()
        })
    })
}

fn producing() -> impl Strategy<Value = Command> {
    let names = (prop::option::of(name()), prop::option::weighted(0.2, name()));
    let rest = (names, prop::option::weighted(0.1, schema()));
    (topic(), number(), -1..5, prop::option::of(number()), rest).prop_map(
        |(topic, producer_id, mode, epoch, ((name, subscription), schema))| {
            Command::from(CommandProducer {
                topic,
                producer_id,
                producer_name: name,
                producer_access_mode: Some(mode),
                epoch,
                topic_epoch: epoch,
                initial_subscription_name: subscription,
                schema,
                ..Default::default()
            })
        },
    )
}

fn sending() -> impl Strategy<Value = (Command, Option<Bytes>)> {
    let rest = (
        prop::option::of(number()),
        prop::option::of(any::<i32>()),
        prop::option::weighted(0.05, number()),
        0..40_usize,
    );
    (number(), number(), metadata(), any::<bool>(), rest).prop_map(
        |(producer_id, sequence_id, metadata, is_chunk, (highest, count, txn, cut))| {
            let send = CommandSend {
                producer_id,
                sequence_id,
                is_chunk: Some(is_chunk),
                highest_sequence_id: highest,
                num_messages: count,
                txnid_most_bits: txn,
                ..Default::default()
            };
            let message = encode_headers_and_payload(&metadata, b"order");
            // Now and then only the beginning of it.
            let message = if cut < 30 {
                Some(message)
            } else {
                Some(message.slice(..cut - 30))
            };
            (send.into(), message.filter(|_| cut != 39))
        },
    )
}

fn about_a_consumer() -> impl Strategy<Value = Command> {
    (0..9, number(), ids(), number(), any::<bool>()).prop_map(|(kind, consumer_id, ids, number, flag)| {
        match kind {
            0 => CommandFlow {
                consumer_id,
                message_permits: number as u32,
            }
            .into(),
            1 => CommandAck {
                consumer_id,
                ack_type: i32::from(flag),
                message_id: ids,
                request_id: Some(number),
                txnid_least_bits: (number == 3).then_some(number),
                validation_error: (number == 2).then_some(-1),
                ..Default::default()
            }
            .into(),
            2 => CommandRedeliverUnacknowledgedMessages {
                consumer_id,
                message_ids: ids,
                consumer_epoch: Some(number),
            }
            .into(),
            3 => CommandCloseConsumer {
                consumer_id,
                ..Default::default()
            }
            .into(),
            4 => CommandCloseProducer {
                producer_id: consumer_id,
                ..Default::default()
            }
            .into(),
            5 => CommandUnsubscribe {
                consumer_id,
                request_id: 0,
                force: Some(flag),
            }
            .into(),
            6 => CommandSeek {
                consumer_id,
                message_id: ids.into_iter().next(),
                message_publish_time: flag.then_some(number),
                ..Default::default()
            }
            .into(),
            7 => CommandGetLastMessageId {
                consumer_id,
                request_id: 0,
            }
            .into(),
            _ => CommandConsumerStats {
                consumer_id,
                request_id: 0,
            }
            .into(),
        }
    })
}

/// Questions, and what a broker does not do or does not expect.
fn about_anything() -> impl Strategy<Value = Command> {
    let version = prop::option::of(prop::collection::vec(any::<u8>(), 0..9));
    let hash = prop::option::of(Just("00000000".to_owned()));
    (0..13, topic(), number(), (pattern(), hash), schema(), version).prop_map(
        |(kind, topic, number, (pattern, hash), schema, version)| match kind {
            0..3 => CommandGetTopicsOfNamespace {
                request_id: number,
                namespace: if number == 0 {
                    topic
                } else {
                    "public/default".into()
                },
                mode: Some(number as i32),
                topics_pattern: Some(pattern),
                topics_hash: hash,
            }
            .into(),
            3..5 => CommandGetSchema {
                request_id: number,
                topic,
                schema_version: version.map(Bytes::from),
            }
            .into(),
            5..7 => CommandGetOrCreateSchema {
                request_id: number,
                topic,
                schema,
            }
            .into(),
            7 => CommandWatchTopicList {
                request_id: number,
                namespace: topic,
                topics_pattern: pattern,
                ..Default::default()
            }
            .into(),
            8 => CommandNewTxn {
                request_id: number,
                ..Default::default()
            }
            .into(),
            9 => CommandAuthResponse::default().into(),
            10 => CommandPong {}.into(),
            11 => CommandPing {}.into(),
            _ => CommandSuccess {
                request_id: number,
                schema: Some(schema),
            }
            .into(),
        },
    )
}

fn look_up() -> impl Strategy<Value = Command> {
    (
        topic(),
        number(),
        any::<bool>(),
        prop::option::weighted(0.1, name()),
    )
        .prop_map(|(topic, request_id, flag, listener)| match request_id % 3 {
            0 => CommandPartitionedTopicMetadata {
                topic,
                request_id,
                metadata_auto_creation_enabled: Some(flag),
                ..Default::default()
            }
            .into(),
            _ => CommandLookupTopic {
                topic,
                request_id,
                authoritative: Some(flag),
                advertised_listener_name: listener,
                ..Default::default()
            }
            .into(),
        })
}

fn command() -> impl Strategy<Value = (Command, Option<Bytes>)> {
    let alone = |command: Command| (command, None);
    prop_oneof![
        2 => Just(CommandConnect::default().into()).prop_map(alone),
        4 => look_up().prop_map(alone),
        5 => producing().prop_map(alone),
        5 => subscribing().prop_map(alone),
        8 => sending(),
        20 => about_a_consumer().prop_map(alone),
        4 => about_anything().prop_map(alone),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        2 => Just(Input::Connect),
        1 => (0..4_usize).prop_map(Input::Disconnect),
        40 => (0..4_usize, command()).prop_map(|(peer, command)| Input::Command(peer, Box::new(command))),
        2 => any::<u16>().prop_map(Input::Pass),
        1 => Just(Input::Unload),
        1 => Just(Input::Terminate),
        1 => Just(Input::Delete),
        1 => number().prop_map(Input::Reset),
        1 => Just(Input::Forget),
        1 => Just(Input::Crash),
        1 => number().prop_map(Input::LimitUnacked),
        1 => number().prop_map(Input::LimitDelay),
    ]
}

fn apply(world: &mut World, peers: &mut Vec<PeerId>, input: Input) {
    let nth = |peers: &[PeerId], nth: usize| peers[peers.len().saturating_sub(nth + 1)];
    let now = world.now;
    match input {
        Input::Connect => peers.push(world.peer()),
        Input::Disconnect(peer) => world.disconnect(nth(peers, peer)),
        Input::Command(peer, command) => {
            let (command, message) = *command;
            world.broker.receive(now, nth(peers, peer), command, message);
        }
        Input::Pass(ms) => world.pass(Duration::from_millis(u64::from(ms))),
        Input::Unload => drop(world.broker.unload(now, TOPIC)),
        Input::Terminate => drop(world.broker.terminate(now, TOPIC)),
        Input::Delete => drop(world.broker.delete(now, TOPIC)),
        Input::Reset(entry) => {
            world
                .broker
                .reset_cursor(now, TOPIC, "billing", Position::Entry(entry));
        }
        Input::Forget => drop(world.broker.forget_recent_acks(now, TOPIC)),
        Input::Crash => world.broker.crash(now),
        Input::LimitUnacked(messages) => drop(world.broker.limit_unacked("public/default", messages)),
        Input::LimitDelay(ms) => {
            drop(
                world
                    .broker
                    .limit_delay("public/default", Duration::from_millis(ms)),
            );
        }
    }
    world.drain();
}

/// Figures add up, whatever happened.
fn look_at(world: &World) {
    for topic in world.broker.topics() {
        let stats = world.broker.stats(&topic).expect("a topic");
        for subscription in stats.subscriptions.values() {
            assert!(
                subscription
                    .consumers
                    .iter()
                    .all(|one| one.pending.len() as u64 <= stats.entries)
            );
        }
    }
    let summary = world.broker.summary();
    assert_eq!(summary.topics, world.broker.topics().len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_input_is_survived(
        inputs in prop::collection::vec(input(), 1..100),
        deduplication in any::<bool>(),
        batch_index_acks in any::<bool>(),
    ) {
        let mut world = World::with(|config| {
            config.deduplication = deduplication;
            config.batch_index_acks = batch_index_acks;
            config.retained_entries = 3;
        });
        let mut peers = vec![world.peer()];
        for input in inputs {
            apply(&mut world, &mut peers, input);
            prop_assert!(world.broker.next_time().is_none_or(|next| next > world.now));
            look_at(&world);
        }
    }
}
