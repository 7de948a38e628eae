//! Commands in their envelope: what is not known does no harm and is not lost.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError, unknown_request_id};

#[test]
fn an_unknown_command_survives_with_all_its_bytes() {
    // Type 70 with field 70, whose own field 1 is 42.
    let body = Bytes::from_static(&[0x08, 70, 0xb2, 0x04, 2, 0x08, 42]);
    let command = Command::decode(body.clone()).unwrap();
    assert_eq!(
        command,
        Command::Unknown {
            kind: 70,
            body: body.clone()
        }
    );
    assert_eq!(
        (command.kind(), command.name(), command.request_id()),
        (70, "UNKNOWN", Some(42))
    );
    assert_eq!(encode(&command), body);
}

#[test]
fn an_unknown_command_without_a_request_id_has_none() {
    assert_eq!(unknown_request_id(&[]), None);
    assert_eq!(unknown_request_id(&[0x08, 70]), None);
    assert_eq!(
        unknown_request_id(&[0x08, 70, 0xb2, 0x04, 3, 0x0a, 1, b'x']),
        None
    );
    assert_eq!(unknown_request_id(&[0x08, 70, 0xb2, 0x04, 99]), None);
}

#[test]
fn unknown_fields_are_passed_over() {
    // FLOW with a field 99 inside, and a field 90 of the envelope before the type.
    let body = [
        0xd2, 0x05, 1, 0, 0x08, 11, 0x5a, 7, 0x08, 9, 0x10, 5, 0x98, 0x06, 1,
    ];
    let command = Command::decode(Bytes::copy_from_slice(&body)).unwrap();
    assert_eq!(
        command,
        CommandFlow {
            consumer_id: 9,
            message_permits: 5
        }
        .into()
    );
}

#[test]
fn the_type_may_follow_the_command() {
    let command = Command::decode(Bytes::from_static(&[0x5a, 4, 0x08, 9, 0x10, 5, 0x08, 11])).unwrap();
    assert_eq!(
        command,
        CommandFlow {
            consumer_id: 9,
            message_permits: 5
        }
        .into()
    );
}

#[test]
fn an_unknown_enumeration_value_survives() {
    let command = Command::from(CommandSubscribe {
        sub_type: 77,
        ..Default::default()
    });
    let back = Command::decode(encode(&command)).unwrap();
    assert_eq!(back, command);
    let Command::Subscribe(subscribe) = back else {
        panic!("{back:?}")
    };
    assert_eq!(subscribe.sub_type, 77);
}

#[test]
fn an_unknown_error_code_survives() {
    let command = Command::from(CommandError {
        request_id: 1,
        error: 99,
        message: "new".into(),
    });
    let Command::Error(error) = Command::decode(encode(&command)).unwrap() else {
        panic!()
    };
    assert_eq!(ServerError::from_i32(error.error), ServerError::Unknown(99));
    assert_eq!(ServerError::from_i32(error.error).to_string(), "Unknown(99)");
}

#[test]
fn a_command_without_a_type_or_a_body_is_refused() {
    for body in [
        &[][..],
        &[0x5a, 0],
        &[0x08, 11],
        &[0x08],
        &[0x08, 11, 0x5a, 4, 0x08],
        &[0x0b],
    ] {
        assert!(Command::decode(Bytes::copy_from_slice(body)).is_err(), "{body:?}");
    }
}

#[test]
fn an_empty_command_needs_its_field_but_nothing_in_it() {
    assert_eq!(encode(&CommandPing {}.into()), &[0x08, 18, 0x92, 0x01, 0][..]);
}

#[test]
fn message_ids_nested_without_end_are_refused() {
    let mut id = Vec::new();
    for _ in 0..10_000 {
        let mut outer = vec![0x3a];
        prost::encode_length_delimiter(id.len(), &mut outer).unwrap();
        outer.extend_from_slice(&id);
        id = outer;
    }
    let mut nested = vec![0x12];
    prost::encode_length_delimiter(id.len(), &mut nested).unwrap();
    nested.extend_from_slice(&id);
    let mut body = vec![0x08, 9, 0x4a];
    prost::encode_length_delimiter(nested.len(), &mut body).unwrap();
    body.extend_from_slice(&nested);
    assert!(Command::decode(body.into()).is_err());
}

#[test]
fn credentials_are_not_shown() {
    let secret = "hunter2";
    let connect = CommandConnect {
        auth_data: Some(secret.into()),
        original_auth_data: Some(secret.into()),
        ..Default::default()
    };
    let response = AuthData {
        auth_data: Some(secret.into()),
        ..Default::default()
    };
    let lookup = CommandLookupTopic {
        original_auth_data: Some(secret.into()),
        ..Default::default()
    };
    let partitions = CommandPartitionedTopicMetadata {
        original_auth_data: Some(secret.into()),
        ..Default::default()
    };
    let shown = format!("{connect:?} {response:?} {lookup:?} {partitions:?}");
    assert!(!shown.contains(secret), "{shown}");
    assert_eq!(shown.matches("Some(<7 bytes>)").count(), 5, "{shown}");
}

#[test]
fn a_command_is_small_enough_to_be_passed_around() {
    assert!(size_of::<Command>() <= 160, "{}", size_of::<Command>());
}

fn encode(command: &Command) -> Bytes {
    let mut out = BytesMut::new();
    command.encode(&mut out);
    assert_eq!(out.len(), command.encoded_len());
    out.freeze()
}

fn any_id() -> impl Strategy<Value = MessageIdData> {
    (
        any::<u64>(),
        any::<u64>(),
        any::<Option<i32>>(),
        prop::collection::vec(any::<i64>(), 0..4),
    )
        .prop_map(|(ledger_id, entry_id, partition, ack_set)| MessageIdData {
            ledger_id,
            entry_id,
            partition,
            ack_set,
            ..Default::default()
        })
}

fn any_command() -> impl Strategy<Value = Command> {
    let ids = || prop::collection::vec(any_id(), 0..4);
    prop_oneof![
        (any::<u64>(), any::<u32>()).prop_map(|(consumer_id, message_permits)| CommandFlow {
            consumer_id,
            message_permits
        }
        .into()),
        (any::<u64>(), ids(), any::<Option<u64>>()).prop_map(|(consumer_id, message_id, request_id)| {
            CommandAck {
                consumer_id,
                message_id,
                request_id,
                ..Default::default()
            }
            .into()
        }),
        (any::<u64>(), any_id(), any::<Option<u32>>()).prop_map(
            |(consumer_id, message_id, redelivery_count)| {
                CommandMessage {
                    consumer_id,
                    message_id,
                    redelivery_count,
                    ..Default::default()
                }
                .into()
            }
        ),
        (any::<u64>(), any::<i32>(), ".*").prop_map(|(request_id, error, message)| CommandError {
            request_id,
            error,
            message
        }
        .into()),
        (".*", ".*", any::<i32>(), any::<u64>()).prop_map(|(topic, subscription, sub_type, request_id)| {
            CommandSubscribe {
                topic,
                subscription,
                sub_type,
                request_id,
                ..Default::default()
            }
            .into()
        }),
    ]
}

proptest! {
    #[test]
    fn a_command_comes_back_as_it_was(command in any_command()) {
        prop_assert_eq!(Command::decode(encode(&command)).unwrap(), command);
    }

    #[test]
    fn a_command_cut_short_never_panics(command in any_command(), cut in any::<prop::sample::Index>()) {
        let body = encode(&command);
        let _ = Command::decode(body.slice(..cut.index(body.len())));
    }

    #[test]
    fn any_bytes_are_a_command_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60), kind in 0_u8..80) {
        let _ = unknown_request_id(&bytes);
        let _ = Command::decode([&[0x08, kind][..], &bytes].concat().into());
        let _ = Command::decode(bytes.into());
    }
}
