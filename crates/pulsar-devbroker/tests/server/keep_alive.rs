//! Quiet peers.

use std::time::Duration;

use pulsar_devbroker::DevBroker;
use pulsar_wire::Command;
use pulsar_wire::proto::*;

use crate::peer::Peer;

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_ping_is_answered_before_connect_too() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::dial(&broker).await;
    peer.send(CommandPing {}).await;
    assert!(matches!(peer.next().await, Command::Pong(_)));
}

#[tokio::test]
async fn a_quiet_peer_is_asked_and_stays_when_it_answers() {
    let broker = DevBroker::builder().keep_alive(SHORT).start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    for _ in 0..3 {
        assert!(matches!(peer.next().await, Command::Ping(_)));
        peer.send(CommandPong {}).await;
    }
}

#[tokio::test]
async fn a_peer_that_does_not_answer_is_closed_with_its_consumers() {
    let broker = DevBroker::builder().keep_alive(SHORT).start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.ended().await;
}

#[tokio::test]
async fn a_peer_without_connect_is_closed() {
    let broker = DevBroker::builder()
        .handshake_timeout(SHORT)
        .start()
        .await
        .unwrap();
    let mut peer = Peer::dial(&broker).await;
    peer.send(CommandPing {}).await;
    peer.ended().await;
}
