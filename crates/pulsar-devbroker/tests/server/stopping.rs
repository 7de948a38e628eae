//! Stop, crash, start again.

use pulsar_devbroker::DevBroker;
use pulsar_wire::proto::*;
use tokio::net::TcpStream;

use crate::peer::{Peer, TOPIC};

/// A broker with two messages, the first of them acknowledged.
async fn one_of_two_acknowledged() -> (DevBroker, Peer) {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(1, SubType::Shared).await;
    peer.produce(1).await;
    for payload in [b"one", b"two"] {
        peer.publish(1, payload).await;
        peer.receipt().await;
    }
    peer.flow(1, 1).await;
    let (delivery, _) = peer.delivery().await;
    peer.ack(1, delivery.message_id).await;
    (broker, peer)
}

async fn backlog_after(broker: &DevBroker) -> u64 {
    broker.start_again().await.unwrap();
    let mut peer = Peer::connect(broker).await;
    peer.subscribe(1, SubType::Shared).await;
    broker.stats(TOPIC).unwrap().subscriptions["billing"].backlog
}

#[tokio::test]
async fn a_stopped_broker_closes_connections_and_its_port() {
    let (broker, mut peer) = one_of_two_acknowledged().await;
    broker.stop().await;
    peer.ended().await;
    assert!(TcpStream::connect(broker.addr()).await.is_err());
}

#[tokio::test]
async fn after_a_stop_everything_is_there() {
    let (broker, _peer) = one_of_two_acknowledged().await;
    broker.stop().await;
    assert_eq!(backlog_after(&broker).await, 1);
}

#[tokio::test]
async fn after_a_crash_recent_acknowledgements_are_forgotten() {
    let (broker, _peer) = one_of_two_acknowledged().await;
    broker.crash().await;
    assert_eq!(backlog_after(&broker).await, 2);
}

#[tokio::test]
async fn a_stop_stores_what_a_later_crash_then_keeps() {
    let (broker, _peer) = one_of_two_acknowledged().await;
    broker.stop().await;
    broker.start_again().await.unwrap();
    broker.crash().await;
    assert_eq!(backlog_after(&broker).await, 1);
}

#[tokio::test]
async fn a_running_broker_is_not_started_again() {
    let broker = DevBroker::builder().start().await.unwrap();
    let error = broker.start_again().await.unwrap_err();
    assert!(error.is_address_in_use());
}

#[test]
fn a_broker_with_a_thread_of_its_own_stops_and_starts_too() {
    let broker = DevBroker::builder().start_on_thread().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(async {
        broker.stop().await;
        broker.start_again().await.unwrap();
        Peer::connect(&broker).await;
    });
}
