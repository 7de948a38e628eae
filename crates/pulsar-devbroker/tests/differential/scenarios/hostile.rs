//! Bytes that are no frames, frames that hold no command, and commands that are not for a broker.

use bytes::{BufMut, BytesMut};
use pulsar_wire::Command;
use pulsar_wire::proto::*;

use super::scenario::{Scenario, scenarios};

scenarios![
    no_frames,
    no_commands,
    fields_missing,
    answers_from_a_client,
    bystander
];

/// To a broker that does not know the peer, and to one that does.
async fn both(scenario: &Scenario, name: &str, bytes: &[u8]) {
    let mut stranger = scenario.dial().await;
    stranger.bytes(bytes).await;
    scenario.observe(&format!("{name}.stranger"), stranger.next().await);
    let mut known = scenario.connect().await;
    known.bytes(bytes).await;
    scenario.observe(&format!("{name}.known"), known.next().await);
}

async fn no_frames(scenario: &Scenario) {
    both(scenario, "http", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    both(scenario, "tls", &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await;
    both(scenario, "four_gigabytes", &[0xff; 8]).await;
    both(
        scenario,
        "length_of_two_gigabytes",
        &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1],
    )
    .await;
}

async fn no_commands(scenario: &Scenario) {
    both(scenario, "empty_command", &[0, 0, 0, 4, 0, 0, 0, 0]).await;
    both(scenario, "no_type", &[0, 0, 0, 6, 0, 0, 0, 2, 0x10, 0x01]).await;
    both(
        scenario,
        "garbage",
        &[0, 0, 0, 8, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff],
    )
    .await;
    both(
        scenario,
        "command_longer_than_frame",
        &[0, 0, 0, 8, 0, 0, 1, 0, 1, 2, 3, 4],
    )
    .await;
    // FLOW without FLOW's part.
    both(scenario, "part_missing", &[0, 0, 0, 6, 0, 0, 0, 2, 0x08, 11]).await;
}

/// FLOW without its fields, which the protocol requires.
async fn fields_missing(scenario: &Scenario) {
    both(scenario, "flow", &[0, 0, 0, 8, 0, 0, 0, 4, 0x08, 11, 0x5a, 0]).await;
}

async fn answers_from_a_client(scenario: &Scenario) {
    let id = MessageIdData {
        ledger_id: 1,
        entry_id: 1,
        ..Default::default()
    };
    let commands: [(&str, Command); 7] = [
        (
            "success",
            CommandSuccess {
                request_id: 1,
                schema: None,
            }
            .into(),
        ),
        (
            "error",
            CommandError {
                request_id: 1,
                error: 1,
                message: "no".into(),
            }
            .into(),
        ),
        (
            "connected",
            CommandConnected {
                server_version: "mine".into(),
                ..Default::default()
            }
            .into(),
        ),
        (
            "receipt",
            CommandSendReceipt {
                producer_id: 1,
                sequence_id: 1,
                ..Default::default()
            }
            .into(),
        ),
        (
            "message",
            CommandMessage {
                consumer_id: 1,
                message_id: id,
                ..Default::default()
            }
            .into(),
        ),
        (
            "active_change",
            CommandActiveConsumerChange {
                consumer_id: 1,
                is_active: Some(true),
            }
            .into(),
        ),
        ("reached_end", CommandReachedEndOfTopic { consumer_id: 1 }.into()),
    ];
    for (name, command) in commands {
        let mut peer = scenario.connect().await;
        peer.tell(command).await;
        scenario.observe(name, peer.soon().await);
    }
}

/// Whoever was there before is not harmed.
async fn bystander(scenario: &Scenario) {
    let mut publisher = scenario.publisher(&scenario.topic()).await;
    publisher.publish("before").await;
    let mut stranger = scenario.connect().await;
    let mut half = BytesMut::new();
    half.put_u32(1000);
    half.put_bytes(0, 10);
    stranger.bytes(&half).await;
    publisher.publish("during").await;
    drop(stranger);
    publisher.publish("after").await;
    scenario.observe("ping", publisher.peer.ping().await);
}
