//! Publishing.

use bytes::Bytes;
use pulsar_wire::proto::SubType;

use super::{Lab, notes};
use crate::peer::{Peer, batch, text};

pub(super) async fn observe(lab: &Lab) {
    let (mut peer, topic) = lab.scene("sending").await;
    peer.produces(&topic, 1).await;
    peer.consumes(&topic, 1, SubType::Exclusive).await;
    let repeated = peer.letter(1, &text(&["b"]));
    notes!(lab, "send",
        "first" => peer.publish(1, text(&["a"])).await,
        "sequence_once" => { peer.bytes(&repeated).await; peer.next().await },
        "sequence_twice" => { peer.bytes(&repeated).await; peer.next().await },
        "batch_of_3" => peer.publish(1, batch(&["c", "d", "e"])).await,
        "batch_of_1" => peer.publish(1, batch(&["f"])).await,
        "empty_payload" => peer.publish(1, text(&[""])).await,
    );
    let whole = peer.letter(1, &text(&["damaged"]));
    let mut damaged = whole.to_vec();
    *damaged.last_mut().expect("a payload") ^= 1;
    notes!(lab, "send",
        "wrong_checksum" => { peer.bytes(&damaged).await; peer.next().await },
        "after_wrong_checksum" => peer.publish(1, text(&["g"])).await,
    );
    let plain = without_checksum(&peer.letter(1, &text(&["unchecked"])));
    notes!(lab, "send", "no_checksum" => { peer.bytes(&plain).await; peer.next().await });
    peer.flow(1, 100).await;
    notes!(lab, "send", "delivered" => peer.all().await);
    notes!(lab, "send", "unknown_producer" => peer.publish(99, text(&["a"])).await);

    too_large(lab).await;
}

/// The same frame without magic number and checksum.
fn without_checksum(frame: &Bytes) -> Vec<u8> {
    let command = u32::from_be_bytes(frame[4..8].try_into().expect("four")) as usize;
    let message = 8 + command;
    assert_eq!(&frame[message..message + 2], [0x0e, 0x01]);
    let total = u32::try_from(frame.len() - 4 - 6).expect("a small frame");
    [
        &total.to_be_bytes()[..],
        &frame[4..message],
        &frame[message + 6..],
    ]
    .concat()
}

async fn too_large(lab: &Lab) {
    const LIMIT: usize = 5 * 1024 * 1024;
    let largest = "x".repeat(LIMIT - 200);
    let (mut peer, topic) = lab.scene("large").await;
    peer.produces(&topic, 1).await;
    notes!(lab, "too_large", "just_within" => peer.publish(1, text(&[&largest])).await);
    let over = "x".repeat(LIMIT + 1024);
    notes!(lab, "too_large", "within_the_slack" => peer.publish(1, text(&[&over])).await);
    let mut peer = Peer::near(&lab.url, &topic).await;
    peer.produces(&topic, 1).await;
    let far = "x".repeat(LIMIT + 32 * 1024);
    notes!(lab, "too_large", "beyond_the_slack" => peer.publish(1, text(&[&far])).await);
}
