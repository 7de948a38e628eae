//! Peers that do not read what they are sent.

use bytes::BytesMut;
use pulsar_devbroker::DevBroker;
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_frame};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::peer::{Peer, TOPIC};

const SIZE: usize = 64 * 1024;

/// 64 MiB: more than sockets hold, and than the broker would queue.
const MESSAGES: u64 = 1024;

#[tokio::test]
async fn deliveries_wait_in_the_topic_for_a_consumer_that_does_not_read() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut lazy = Peer::connect(&broker).await;
    lazy.subscribe(1, SubType::Exclusive).await;
    lazy.flow(1, 1_000_000).await;
    let mut producer = Peer::connect(&broker).await;
    producer.produce(1).await;
    for _ in 0..MESSAGES {
        producer.publish(1, &vec![7; SIZE]).await;
        producer.receipt().await;
    }

    let unacked = broker.stats(TOPIC).unwrap().subscriptions["billing"].unacked;
    assert!(unacked < MESSAGES / 2, "{unacked} are on their way");

    for entry in 0..MESSAGES {
        let (delivery, payload) = lazy.delivery().await;
        assert_eq!((delivery.message_id.entry_id, payload.len()), (entry, SIZE));
    }
}

#[tokio::test]
async fn others_get_what_a_consumer_does_not_read() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut lazy = Peer::connect(&broker).await;
    lazy.subscribe(1, SubType::Shared).await;
    lazy.flow(1, 1_000_000).await;
    let mut producer = Peer::connect(&broker).await;
    producer.produce(1).await;
    for _ in 0..MESSAGES {
        producer.publish(1, &vec![7; SIZE]).await;
        producer.receipt().await;
    }
    let with_lazy = broker.stats(TOPIC).unwrap().subscriptions["billing"].unacked;

    let mut eager = Peer::connect(&broker).await;
    eager.subscribe(1, SubType::Shared).await;
    eager.flow(1, 1_000_000).await;
    for _ in with_lazy..MESSAGES - 1 {
        eager.delivery().await;
    }
}

#[tokio::test]
async fn a_peer_that_asks_without_reading_the_answers_is_not_read_any_more() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    let mut questions = BytesMut::new();
    for request_id in 0..1_000 {
        let lookup = CommandLookupTopic {
            topic: TOPIC.into(),
            request_id,
            ..Default::default()
        };
        encode_frame(&lookup.into(), &mut questions);
    }
    let mut asked = 0;
    // Nothing else says that the broker does not read: once it is so, it stays so.
    while let Ok(written) = timeout(Duration::from_secs(2), peer.stream.write_all(&questions)).await {
        written.unwrap();
        asked += 1;
        assert!(asked < 1_000, "it reads on and on");
    }
    let mut other = Peer::connect(&broker).await;
    other.produce(1).await;

    for number in 0..asked * 1_000 {
        let Command::LookupTopicResponse(answer) = peer.next().await else {
            panic!("no answer");
        };
        assert_eq!(answer.request_id, number % 1_000);
    }
}
