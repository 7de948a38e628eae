//! Bytes that are no frames, and strangers in numbers.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use pulsar_devbroker::DevBroker;
use pulsar_wire::Command;
use pulsar_wire::proto::*;
use tokio::net::TcpStream;

use crate::peer::Peer;

/// A peer that was there before, and that nothing happens to.
async fn with_bystander(bytes: &[u8]) {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut bystander = Peer::connect(&broker).await;
    bystander.produce(1).await;

    let mut stranger = Peer::dial(&broker).await;
    stranger.bytes(bytes).await;
    stranger.ended().await;

    let mut known = Peer::connect(&broker).await;
    known.bytes(bytes).await;
    known.ended().await;

    bystander.publish(1, b"order").await;
    bystander.receipt().await;
}

#[tokio::test]
async fn http_ends_its_own_connection_only() {
    with_bystander(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
}

#[tokio::test]
async fn tls_ends_its_own_connection_only() {
    with_bystander(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await;
}

#[tokio::test]
async fn a_length_of_four_gigabytes_ends_its_own_connection_only() {
    with_bystander(&[0xff; 8]).await;
}

#[tokio::test]
async fn a_frame_without_a_command_ends_its_own_connection_only() {
    with_bystander(&[0, 0, 0, 4, 0, 0, 0, 0]).await;
}

#[tokio::test]
async fn half_a_frame_is_waited_for_as_long_as_the_peer_is_heard_of() {
    let broker = DevBroker::builder()
        .keep_alive(Duration::from_millis(100))
        .start()
        .await
        .unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    let frame = peer.message(1, &vec![7; 100_000]);
    let (half, _) = frame.split_at(frame.len() / 2);
    peer.bytes(half).await;
    peer.ended().await;
    Peer::connect(&broker).await;
}

/// GET_TOPICS_OF_NAMESPACE and what comes after have their request id in field 1.
fn unknown_command(request_id: Option<u64>) -> BytesMut {
    let nested: &[u8] = &[0x08, 9];
    let nested = if request_id == Some(9) { nested } else { &[] };
    let mut command = BytesMut::new();
    // Type 90 and field 90.
    command.put_slice(&[0x08, 90, 0xd2, 0x05, nested.len() as u8]);
    command.put_slice(nested);
    let mut frame = BytesMut::new();
    frame.put_u32(command.len() as u32 + 4);
    frame.put_u32(command.len() as u32);
    frame.put_slice(&command);
    frame
}

#[tokio::test]
async fn an_unknown_command_with_a_request_id_is_refused_and_the_connection_stays() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.bytes(&unknown_command(Some(9))).await;
    let Command::Error(error) = peer.next().await else {
        panic!("no error");
    };
    assert_eq!(error.request_id, 9);
    peer.send(CommandPing {}).await;
    assert!(matches!(peer.next().await, Command::Pong(_)));
}

#[tokio::test]
async fn an_unknown_command_without_a_request_id_ends_the_connection() {
    with_bystander(&unknown_command(None)).await;
}

#[tokio::test]
async fn ten_thousand_silent_connections_are_closed_and_others_are_unharmed() {
    let broker = DevBroker::builder()
        .handshake_timeout(Duration::from_secs(5))
        .start()
        .await
        .unwrap();
    let mut bystander = Peer::connect(&broker).await;
    bystander.produce(1).await;

    // Both ends are in this process.
    let count = (open_files() / 2).saturating_sub(500).min(10_000);
    let before = resident_bytes();
    let mut silent = Vec::new();
    for _ in 0..count {
        silent.push(TcpStream::connect(broker.addr()).await.unwrap());
    }
    bystander.publish(1, b"order").await;
    bystander.receipt().await;
    // Others in this process take some too; a buffer for each would be a hundred times that.
    let taken = resident_bytes().saturating_sub(before);
    assert!(taken < 32 * 1024 * count, "{taken} bytes for {count} connections");
    for stream in silent {
        stream.readable().await.unwrap();
        assert_eq!(stream.try_read(&mut [0]).unwrap(), 0);
    }
    bystander.publish(1, b"order").await;
    bystander.receipt().await;
}

/// How much memory the process has; 0 where that cannot be found out.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.and_then(|number| number.parse().ok()).unwrap_or(0) * 1024
}

/// How many files the process may have open.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    soft.and_then(|limit| limit.parse().ok()).unwrap_or(256)
}
