//! How much memory a peer can make the broker take by asking. Alone in its process, whose memory it looks at.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "server/peer.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod peer;

use bytes::{Bytes, BytesMut};
use peer::{Peer, TOPIC};
use pulsar_devbroker::DevBroker;
use pulsar_wire::encode_frame;
use pulsar_wire::proto::*;

/// The most memory that the process had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.expect("VmHWM").parse().expect("a number")
}

/// 2,000 answers of 256 KiB each that nobody reads would be half a gigabyte.
#[tokio::test]
async fn large_answers_to_a_peer_that_does_not_read_do_not_pile_up() {
    let broker = DevBroker::builder().start_on_thread().expect("a start");
    let schema = Schema {
        name: "order".into(),
        schema_data: Bytes::from(vec![7; 256 << 10]),
        r#type: SchemaType::Json as i32,
        properties: Vec::new(),
    };
    broker.set_schema(TOPIC, &schema).expect("a schema");
    let mut peer = Peer::connect(&broker).await;
    // So that the broker reads a lot at once.
    let mut questions = BytesMut::new();
    for _ in 0..100_000 {
        encode_frame(&CommandPing {}.into(), &mut questions);
    }
    for request_id in 0..2_000 {
        let question = CommandGetSchema {
            request_id,
            topic: "orders".into(),
            schema_version: None,
        };
        encode_frame(&question.into(), &mut questions);
    }
    let before = peak();
    // The broker may stop reading; what it has read it has handled by its next answer to another.
    let send = tokio::time::timeout(std::time::Duration::from_secs(5), peer.bytes(&questions));
    let _ = send.await;
    let mut other = Peer::connect(&broker).await;
    other.produce(1).await;
    let grown = peak() - before;
    assert!(grown < 150 << 10, "{grown} KiB");
}
