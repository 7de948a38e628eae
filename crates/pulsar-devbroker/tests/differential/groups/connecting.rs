//! Handshake, keep-alive, and what is no protocol.

use bytes::{BufMut, BytesMut};
use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{ASKED, Peer, hello, lookup, producer};

pub(super) async fn observe(lab: &Lab) {
    let mut peer = Peer::dial(&lab.url).await;
    notes!(lab, "handshake",
        "ping_before_connect" => peer.ask(CommandPing {}).await,
        "connect" => peer.ask(hello()).await,
        "ping" => peer.ask(CommandPing {}).await,
        "second_connect" => peer.ask(hello()).await,
    );

    for (name, version) in [
        ("version_0", 0),
        ("version_6", 6),
        ("version_19", 19),
        ("version_99", 99),
    ] {
        let mut peer = Peer::dial(&lab.url).await;
        let old = CommandConnect {
            protocol_version: Some(version),
            ..hello()
        };
        let welcome = peer.ask(old).await;
        lab.record
            .note(&format!("handshake/{name}/protocol"), welcome["protocol"].clone());
        lab.record
            .note(&format!("handshake/{name}/is"), welcome["is"].clone());
    }

    let mut peer = Peer::dial(&lab.url).await;
    let with_credentials = CommandConnect {
        auth_method_name: Some("token".into()),
        auth_data: Some("secret".into()),
        ..hello()
    };
    notes!(lab, "handshake/credentials", "is" => peer.ask(with_credentials).await["is"].clone());
    let mut peer = Peer::dial(&lab.url).await;
    let to_another = CommandConnect {
        proxy_to_broker_url: Some("pulsar://elsewhere:6650".into()),
        ..hello()
    };
    notes!(lab, "handshake/proxied", "is" => peer.ask(to_another).await["is"].clone());

    let topic = lab.topic("early");
    let mut peer = Peer::dial(&lab.url).await;
    notes!(lab, "handshake", "lookup_before_connect" => peer.ask(lookup(&topic)).await);
    let mut peer = Peer::dial(&lab.url).await;
    notes!(lab, "handshake", "producer_before_connect" => peer.ask(producer(&topic, 1)).await);

    hostile(lab).await;
    unsupported(lab).await;
}

async fn hostile(lab: &Lab) {
    let mut huge = BytesMut::new();
    huge.put_u32(u32::MAX);
    let mut large = BytesMut::new();
    large.put_u32(5 * 1024 * 1024 + 20 * 1024);
    large.put_u32(8);
    let mut inside_out = BytesMut::new();
    inside_out.put_u32(8);
    inside_out.put_u32(100);
    inside_out.put_u32(0);
    let mut no_command = BytesMut::new();
    no_command.put_u32(4);
    no_command.put_u32(0);
    let frames: [(&str, &[u8]); 5] = [
        ("http", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ("length_of_4_gib", &huge),
        ("frame_over_the_limit", &large),
        ("command_longer_than_frame", &inside_out),
        ("empty_command", &no_command),
    ];
    for (name, bytes) in frames {
        let mut peer = Peer::connect(&lab.url).await;
        peer.bytes(bytes).await;
        lab.record.note(&format!("hostile/{name}"), peer.soon().await);
    }
    let mut peer = Peer::connect(&lab.url).await;
    peer.bytes(&[0, 0, 0, 100, 0, 0]).await;
    notes!(lab, "hostile", "half_a_frame" => peer.soon().await);
}

async fn unsupported(lab: &Lab) {
    let mut peer = Peer::connect(&lab.url).await;
    let coordinator = CommandTcClientConnectRequest {
        request_id: ASKED,
        tc_id: 0,
    };
    let transaction = CommandNewTxn {
        request_id: ASKED,
        ..Default::default()
    };
    notes!(lab, "transactions",
        "coordinator" => peer.ask(coordinator).await,
        "new" => peer.ask(transaction).await,
    );
}
