use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use pulsar_wire::proto::{
    CommandActiveConsumerChange, CommandLookupTopicResponse, CommandPing, CommandPong, CommandSend,
    MessageMetadata,
};
use pulsar_wire::{Command, ServerError, encode_frame, encode_send};

use super::{Direction, Proxy};
use crate::skip::eventually;

const PATIENCE: Duration = Duration::from_secs(15);
/// How long nothing may come where nothing should.
const QUIET: Duration = Duration::from_millis(100);

/// A proxy before a listener; the tests are the client as well as the broker.
struct Scene {
    proxy: Proxy,
    broker: TcpListener,
}

impl Scene {
    fn new() -> Self {
        let broker = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = broker.local_addr().expect("an address");
        Self {
            proxy: Proxy::to(&format!("pulsar://{address}")),
            broker,
        }
    }

    fn dial(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(self.proxy.url().trim_start_matches("pulsar://"))
    }

    /// The two ends of a connection through the proxy.
    fn connect(&self) -> (Peer, Peer) {
        let client = self.dial().expect("a connection");
        let (broker, _) = self.broker.accept().expect("a connection");
        (Peer(client), Peer(broker))
    }
}

struct Peer(TcpStream);

impl Peer {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("a write");
    }

    fn send(&mut self, command: impl Into<Command>) {
        self.write(&frame(&command.into()));
    }

    /// Exactly these bytes come.
    fn gets(&mut self, expected: &[u8]) {
        let mut bytes = vec![0; expected.len()];
        self.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        self.0.read_exact(&mut bytes).expect("a read");
        assert_eq!(bytes, expected);
    }

    fn receives(&mut self, expected: impl Into<Command>) {
        self.gets(&frame(&expected.into()));
    }

    /// Nothing comes, and the connection goes on.
    fn is_quiet(&mut self) {
        self.0.set_read_timeout(Some(QUIET)).expect("a timeout");
        let read = self.0.read(&mut [0]);
        let kind = read.expect_err("nothing comes").kind();
        assert!(
            matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut),
            "{kind}"
        );
    }

    /// The connection ends without another byte.
    fn ends(&mut self) {
        self.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        match self.0.read(&mut [0]) {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
}

fn frame(command: &Command) -> Vec<u8> {
    let mut out = BytesMut::new();
    encode_frame(command, &mut out);
    out.to_vec()
}

fn message(sequence_id: u64) -> Vec<u8> {
    let send = CommandSend {
        sequence_id,
        ..CommandSend::default()
    };
    encode_send(&send, &MessageMetadata::default(), b"payload").to_vec()
}

fn found(url: Option<&str>) -> CommandLookupTopicResponse {
    CommandLookupTopicResponse {
        broker_service_url: url.map(str::to_owned),
        request_id: 7,
        ..CommandLookupTopicResponse::default()
    }
}

#[test]
fn frames_pass_unchanged_both_ways_also_in_pieces() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    let sent = message(1);
    let (first, second) = sent.split_at(sent.len() / 2);
    client.write(first);
    client.write(second);
    broker.gets(&sent);
    broker.send(CommandPing {});
    client.receives(CommandPing {});
    assert_eq!(scene.proxy.accepted(), 1);
}

#[test]
fn a_cut_ends_both_ends_of_all_connections_and_none_that_comes_after_it() {
    let scene = Scene::new();
    let mut connections = [scene.connect(), scene.connect()];
    scene.proxy.cut();
    for (client, broker) in &mut connections {
        client.ends();
        broker.ends();
    }
    let (mut client, mut broker) = scene.connect();
    client.send(CommandPing {});
    broker.receives(CommandPing {});
}

#[test]
fn while_it_refuses_nobody_listens_and_connections_that_exist_go_on() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.refuse(true);
    eventually("nobody listens", || scene.dial().is_err());
    client.send(CommandPing {});
    broker.receives(CommandPing {});
    scene.proxy.refuse(false);
    eventually("somebody listens", || scene.dial().is_ok());
}

#[test]
fn hanging_up_waits_for_the_first_word() {
    let scene = Scene::new();
    scene.proxy.hang_up(true);
    let mut client = Peer(scene.dial().expect("a connection"));
    client.is_quiet();
    client.send(CommandPing {});
    client.ends();
}

#[test]
fn what_is_held_comes_in_order_when_it_is_released_and_the_other_way_is_open() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.hold(Direction::ToBroker);
    client.write(&message(1));
    client.write(&message(2));
    broker.is_quiet();
    broker.send(CommandPing {});
    client.receives(CommandPing {});
    scene.proxy.release(Direction::ToBroker);
    broker.gets(&message(1));
    broker.gets(&message(2));
}

#[test]
fn held_both_ways_nothing_comes_through() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.hold(Direction::Both);
    client.send(CommandPing {});
    broker.send(CommandPong {});
    client.is_quiet();
    broker.is_quiet();
    scene.proxy.release(Direction::ToClient);
    client.receives(CommandPong {});
    broker.is_quiet();
}

#[test]
fn a_slow_way_delays_each_frame() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.slow(Duration::from_millis(50));
    let start = Instant::now();
    client.send(CommandPing {});
    client.send(CommandPing {});
    broker.receives(CommandPing {});
    broker.receives(CommandPing {});
    assert!(start.elapsed() >= Duration::from_millis(100));
}

#[test]
fn withheld_frames_are_counted_overtaken_and_passed_later() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.withhold("SEND");
    client.write(&message(1));
    client.write(&message(2));
    client.send(CommandPing {});
    broker.receives(CommandPing {});
    broker.is_quiet();
    assert_eq!(scene.proxy.kept_back("SEND"), 2);
    assert_eq!(scene.proxy.kept_back("PING"), 0);
    scene.proxy.pass("SEND");
    broker.gets(&message(1));
    broker.gets(&message(2));
}

#[test]
fn a_cut_loses_what_is_withheld() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.withhold("SEND");
    client.write(&message(1));
    eventually("it is withheld", || scene.proxy.kept_back("SEND") == 1);
    scene.proxy.cut();
    broker.ends();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.pass("SEND");
    client.write(&message(2));
    broker.gets(&message(2));
}

#[test]
fn lost_frames_never_come() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.lose("SEND");
    client.write(&message(1));
    eventually("it is lost", || scene.proxy.kept_back("SEND") == 1);
    scene.proxy.pass("SEND");
    client.write(&message(2));
    broker.gets(&message(2));
}

#[test]
fn a_damaged_frame_differs_in_its_last_bit() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.damage("SEND");
    client.write(&message(1));
    let mut damaged = message(1);
    *damaged.last_mut().expect("bytes") ^= 1;
    broker.gets(&damaged);
}

#[test]
fn another_command_is_put_before_the_same_message() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    scene.proxy.alter("SEND", |command| match command {
        Command::Send(mut send) => {
            send.sequence_id = u64::MAX;
            Command::Send(send)
        }
        other => other,
    });
    client.write(&message(1));
    broker.gets(&message(u64::MAX));
    scene.proxy.alter("PING", |_| {
        CommandActiveConsumerChange {
            consumer_id: 1,
            is_active: Some(true),
        }
        .into()
    });
    broker.send(CommandPing {});
    client.receives(CommandActiveConsumerChange {
        consumer_id: 1,
        is_active: Some(true),
    });
}

#[test]
fn lookups_lead_back_to_the_proxy_or_fail_as_long_as_they_are_to() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    let answer = || found(Some("pulsar://elsewhere:6650"));
    broker.send(answer());
    client.receives(found(Some(scene.proxy.url())));

    scene.proxy.fail_lookups(Some(ServerError::ServiceNotReady));
    broker.send(answer());
    let mut failed = found(None);
    failed.response = Some(pulsar_wire::proto::LookupType::Failed as i32);
    failed.error = Some(ServerError::ServiceNotReady.code());
    client.receives(failed);

    scene.proxy.fail_lookups(None);
    broker.send(answer());
    client.receives(found(Some(scene.proxy.url())));
}

#[test]
fn with_the_proxy_all_its_connections_end() {
    let scene = Scene::new();
    let (mut client, mut broker) = scene.connect();
    drop(scene.proxy);
    client.ends();
    broker.ends();
}
