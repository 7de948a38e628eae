//! Start, publish, consume, end.

use std::time::{Duration, Instant};

use pulsar_devbroker::DevBroker;
use pulsar_wire::Command;
use pulsar_wire::proto::*;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::peer::{LONG, Peer, TOPIC};

#[tokio::test]
async fn what_is_published_on_one_connection_arrives_on_another() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut consumer = Peer::connect(&broker).await;
    consumer.subscribe(1, SubType::Shared).await;
    consumer.flow(1, 10).await;
    let mut producer = Peer::connect(&broker).await;
    producer.produce(1).await;
    for payload in [vec![1; 10], vec![2; 2_000], vec![3; 300_000]] {
        producer.publish(1, &payload).await;
        let receipt = producer.receipt().await;
        let (delivery, arrived) = consumer.delivery().await;
        assert_eq!(arrived, payload);
        assert_eq!(delivery.message_id.entry_id, receipt.message_id.unwrap().entry_id);
    }
}

#[tokio::test]
async fn a_lookup_leads_to_where_the_broker_listens() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    let request_id = peer.request();
    let lookup = CommandLookupTopic {
        topic: TOPIC.into(),
        request_id,
        ..Default::default()
    };
    peer.send(lookup).await;
    let Command::LookupTopicResponse(answer) = peer.next().await else {
        panic!("no answer");
    };
    assert_eq!(answer.broker_service_url(), broker.url());
}

#[tokio::test]
async fn its_debug_text_holds_no_messages() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    peer.publish(1, b"secret").await;
    peer.receipt().await;
    assert!(!format!("{broker:?}").contains("secret"));
}

#[tokio::test]
async fn it_starts_in_a_tenth_of_a_second() {
    // The first time other things are set up too.
    let best = async {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            let broker = DevBroker::builder().start().await.unwrap();
            Peer::dial(&broker).await.hello().await;
            best = best.min(begun.elapsed());
        }
        best
    };
    let best = best.await;
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_says_so() {
    let first = DevBroker::builder().start().await.unwrap();
    let port = first.addr().port();
    let error = DevBroker::builder().port(port).start().await.unwrap_err();
    assert!(error.is_address_in_use());
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[tokio::test]
async fn a_shutdown_writes_what_is_ready_closes_connections_and_frees_the_port() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    peer.publish(1, b"order").await;
    peer.receipt().await;
    let addr = broker.addr();
    timeout(LONG, broker.shutdown()).await.unwrap();
    peer.ended().await;
    let again = DevBroker::builder().port(addr.port()).start().await.unwrap();
    assert!(again.stats(TOPIC).is_none(), "nothing is kept");
}

#[tokio::test]
async fn dropping_it_ends_it() {
    let broker = DevBroker::builder().start().await.unwrap();
    let addr = broker.addr();
    let mut peer = Peer::connect(&broker).await;
    drop(broker);
    peer.ended().await;
    let closed = async { while TcpStream::connect(addr).await.is_ok() {} };
    timeout(LONG, closed).await.unwrap();
}

#[test]
fn it_runs_without_a_runtime_of_the_caller() {
    let broker = DevBroker::builder().start_on_thread().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut peer = Peer::connect(&broker).await;
        peer.produce(1).await;
        peer.publish(1, b"order").await;
        peer.receipt().await;
    });
    assert_eq!(broker.counters().published_messages, 1);
    runtime.block_on(broker.shutdown());
}

#[test]
fn a_port_in_use_is_reported_from_the_thread_too() {
    let first = DevBroker::builder().start_on_thread().unwrap();
    let second = DevBroker::builder().port(first.addr().port());
    assert!(second.start_on_thread().unwrap_err().is_address_in_use());
}
