//! Starts and ends in odd moments.

use pulsar_devbroker::DevBroker;
use pulsar_wire::Command;
use pulsar_wire::proto::*;
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

use crate::peer::{LONG, Peer, TOPIC};

fn runtime() -> Runtime {
    runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// A consumer with far more to come than is on its way.
async fn with_a_stream(broker: &DevBroker) -> Peer {
    let mut peer = Peer::connect(broker).await;
    peer.subscribe(1, SubType::Shared).await;
    peer.produce(1).await;
    for _ in 0..200 {
        peer.publish(1, &[7; 64 * 1024]).await;
        peer.receipt().await;
    }
    peer.flow(1, 1_000_000).await;
    peer.delivery().await;
    peer
}

#[tokio::test]
async fn a_shutdown_amid_deliveries_ends_soon() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = with_a_stream(&broker).await;
    timeout(LONG, broker.shutdown()).await.unwrap();
    peer.ended().await;
}

#[tokio::test]
async fn a_broker_that_is_dropped_amid_deliveries_closes_its_connections() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = with_a_stream(&broker).await;
    drop(broker);
    peer.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stops_crashes_and_starts_with_clients_attached_leave_nothing_behind() {
    let broker = DevBroker::builder().start().await.unwrap();
    for round in 0..20 {
        let mut peer = Peer::connect(&broker).await;
        peer.subscribe(1, SubType::Failover).await;
        peer.flow(1, 10).await;
        peer.produce(1).await;
        peer.publish(1, b"order").await;
        peer.receipt().await;
        if round % 2 == 0 {
            timeout(LONG, broker.stop()).await.unwrap();
        } else {
            timeout(LONG, broker.crash()).await.unwrap();
        }
        assert_eq!(broker.connections(), 0);
        let stats = broker.stats(TOPIC).unwrap();
        assert!(stats.producers.is_empty() && stats.subscriptions["billing"].consumers.is_empty());
        // A second stop finds nothing to do.
        timeout(LONG, broker.stop()).await.unwrap();
        broker.start_again().await.unwrap();
        peer.ended().await;
    }
    assert_eq!(broker.stats(TOPIC).unwrap().subscriptions["billing"].backlog, 20);
}

#[tokio::test]
async fn what_waits_for_a_time_comes_after_a_stop_too() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(1, SubType::Failover).await;
    broker.stop().await;
    broker.start_again().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(1, SubType::Failover).await;
    let is_active = async {
        loop {
            if let Command::ActiveConsumerChange(change) = peer.next().await
                && change.is_active()
            {
                return;
            }
        }
    };
    timeout(LONG, is_active).await.unwrap();
}

#[test]
fn a_broker_outlives_the_runtime_that_it_ran_on() {
    let first = runtime();
    let broker = first.block_on(DevBroker::builder().start()).unwrap();
    let peer = first.block_on(with_a_stream(&broker));
    drop(first);
    drop(peer);
    runtime().block_on(async {
        timeout(LONG, broker.stop()).await.unwrap();
        let error = timeout(LONG, broker.start_again()).await.unwrap().unwrap_err();
        assert!(!error.is_address_in_use(), "{error}");
        assert_eq!(broker.connections(), 0);
        timeout(LONG, broker.shutdown()).await.unwrap();
    });
}

#[test]
fn a_broker_is_dropped_by_a_task_of_a_runtime_that_ends() {
    let runtime = runtime();
    let broker = runtime.block_on(DevBroker::builder().start()).unwrap();
    let addr = broker.addr();
    runtime.spawn(async move {
        let _broker = broker;
        std::future::pending::<()>().await;
    });
    drop(runtime);
    assert!(std::net::TcpStream::connect(addr).is_err());
}

#[tokio::test]
async fn a_broker_starts_on_a_thread_from_within_a_runtime_and_ends_there() {
    let broker = DevBroker::builder().start_on_thread().unwrap();
    let mut peer = with_a_stream(&broker).await;
    timeout(LONG, broker.shutdown()).await.unwrap();
    peer.ended().await;
}

#[tokio::test]
async fn a_start_that_fails_on_a_thread_says_why() {
    let broker = DevBroker::builder().start().await.unwrap();
    let port = broker.addr().port();
    let error = DevBroker::builder().port(port).start_on_thread().unwrap_err();
    assert!(error.is_address_in_use());
}

#[tokio::test]
async fn a_port_can_be_taken_again_at_once() {
    let broker = DevBroker::builder().start().await.unwrap();
    let port = broker.addr().port();
    let _peer = with_a_stream(&broker).await;
    broker.shutdown().await;
    let again = DevBroker::builder().port(port).start().await.unwrap();
    Peer::connect(&again).await;
}

/// At an address of its own, so that nobody else takes the port meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg(target_os = "linux")]
async fn a_broker_has_left_its_port_when_it_has_stopped() {
    let broker = DevBroker::builder().listen([127, 0, 0, 77]);
    let broker = broker.start().await.unwrap();
    for _ in 0..2_000 {
        broker.stop().await;
        drop(std::net::TcpListener::bind(broker.addr()).unwrap());
        broker.start_again().await.unwrap();
    }
}

#[tokio::test]
async fn those_who_are_there_stay_while_new_ones_are_refused() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut known = Peer::connect(&broker).await;
    broker.refuse_connections();
    Peer::dial(&broker).await.ended().await;
    known.produce(1).await;
    broker.stop().await;
    broker.start_again().await.unwrap();
    Peer::dial(&broker).await.ended().await;
    broker.accept_connections();
    Peer::connect(&broker).await;
}

#[test]
fn a_name_that_is_no_namespace_is_refused_at_the_start() {
    let error = DevBroker::builder()
        .namespace("acme")
        .start_on_thread()
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.contains("acme") && source.contains("tenant/namespace"),
        "{source}"
    );
}
