//! Settings and questions as large as can be.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pulsar_devbroker::{CommandKind, DevBroker};
use pulsar_wire::proto::*;
use pulsar_wire::{Command, encode_frame};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::peer::{LONG, Peer, TOPIC};

#[tokio::test]
async fn a_broker_can_wait_for_ever() {
    let broker = DevBroker::builder()
        .keep_alive(Duration::MAX)
        .handshake_timeout(Duration::MAX)
        .failover_delay(Duration::MAX)
        .max_message_size(usize::MAX)
        .start()
        .await
        .unwrap();
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(1, SubType::Failover).await;
    let late = broker.next(CommandKind::Producer).delay(Duration::MAX);
    let producer = CommandProducer {
        topic: TOPIC.into(),
        ..Default::default()
    };
    peer.send(producer).await;
    timeout(LONG, late.happened()).await.unwrap();
    let mut other = Peer::connect(&broker).await;
    other.produce(1).await;
}

#[tokio::test]
async fn the_clock_can_be_moved_to_its_end_and_stays_there() {
    let broker = DevBroker::builder().start().await.unwrap();
    for _ in 0..2 {
        broker.advance_clock(Duration::MAX);
    }
    let mut peer = Peer::connect(&broker).await;
    peer.produce(1).await;
    peer.publish(1, b"order").await;
    peer.receipt().await;
}

/// Files a schema of the size under the topic.
async fn with_schema(broker: &DevBroker, size: usize) {
    let schema = Schema {
        name: "order".into(),
        schema_data: Bytes::from(vec![7; size]),
        r#type: SchemaType::Json as i32,
        properties: Vec::new(),
    };
    broker.set_schema(TOPIC, &schema).unwrap();
}

fn schema_questions(count: u64) -> BytesMut {
    let mut questions = BytesMut::new();
    for request_id in 0..count {
        let question = CommandGetSchema {
            request_id,
            topic: "orders".into(),
            schema_version: None,
        };
        encode_frame(&question.into(), &mut questions);
    }
    questions
}

#[tokio::test]
async fn a_peer_that_has_gone_silent_with_much_unread_is_closed() {
    let broker = DevBroker::builder()
        .keep_alive(Duration::from_millis(200))
        .start()
        .await
        .unwrap();
    with_schema(&broker, 1 << 20).await;
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(1, SubType::Exclusive).await;
    peer.bytes(&schema_questions(64)).await;
    let gone = async {
        while broker.connections() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, gone).await.expect("the connection is kept");
    let mut next = Peer::connect(&broker).await;
    next.subscribe(1, SubType::Exclusive).await;
}

#[tokio::test]
async fn answers_that_are_much_larger_than_their_questions_all_come() {
    let broker = DevBroker::builder().start().await.unwrap();
    with_schema(&broker, 100_000).await;
    let mut peer = Peer::connect(&broker).await;
    peer.bytes(&schema_questions(500)).await;
    for number in 0..500 {
        let Command::GetSchemaResponse(answer) = peer.next().await else {
            panic!("no answer");
        };
        assert_eq!(answer.request_id, number);
    }
    peer.produce(1).await;
}

#[tokio::test]
async fn a_name_that_is_refused_is_told_in_short() {
    let broker = DevBroker::builder().start().await.unwrap();
    let mut peer = Peer::connect(&broker).await;
    let lookup = CommandLookupTopic {
        topic: format!("ftp://{}", "\n\u{1b}[2J".repeat(100_000)),
        ..Default::default()
    };
    peer.send(lookup).await;
    let Command::LookupTopicResponse(answer) = peer.next().await else {
        panic!("no answer");
    };
    assert!(answer.message().len() < 1_000, "{} bytes", answer.message().len());
    assert!(
        !answer.message().contains(char::is_control),
        "{}",
        answer.message()
    );
    peer.stream.shutdown().await.unwrap();
}
