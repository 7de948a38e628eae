//! Many connections at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use pulsar_devbroker::DevBroker;
use pulsar_wire::proto::*;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::peer::{LONG, Peer, TOPIC};

const PUBLISHERS: u32 = 4;
const EACH: u32 = 1_000;

/// Consumes and acknowledges until the broker ends.
async fn consumer(mut peer: Peer, arrived: mpsc::UnboundedSender<Vec<u8>>) {
    loop {
        peer.flow(1, 3).await;
        for _ in 0..3 {
            let (delivery, payload) = peer.delivery().await;
            let ack = CommandAck {
                consumer_id: 1,
                message_id: vec![delivery.message_id],
                ..Default::default()
            };
            peer.send(ack).await;
            if arrived.send(payload.to_vec()).is_err() {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_of_many_publishers_arrives_at_one_of_many_consumers() {
    let broker = Arc::new(DevBroker::builder().start().await.unwrap());
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    for _ in 0..4 {
        let mut peer = Peer::connect(&broker).await;
        peer.subscribe(1, SubType::Shared).await;
        tokio::spawn(consumer(peer, arrived.clone()));
    }
    for publisher in 0..PUBLISHERS {
        let broker = broker.clone();
        tokio::spawn(async move {
            let mut peer = Peer::connect(&broker).await;
            peer.produce(1).await;
            for number in 0..EACH {
                peer.publish(1, format!("{publisher}-{number}").as_bytes()).await;
                // Now and then many are under way.
                if number % 7 == 0 {
                    while peer.receipt().await.sequence_id < u64::from(number) {}
                }
            }
            while peer.receipt().await.sequence_id < u64::from(EACH - 1) {}
        });
    }
    let mut seen = BTreeSet::new();
    for _ in 0..PUBLISHERS * EACH {
        let payload = timeout(LONG, arrivals.recv()).await.expect("all arrive");
        assert!(seen.insert(payload.unwrap()), "one came twice");
    }
    let settled = async {
        while broker.stats(TOPIC).unwrap().subscriptions["billing"].backlog > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, settled).await.unwrap();
}
