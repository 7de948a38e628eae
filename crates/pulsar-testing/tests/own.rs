//! A broker of the test's own: what it keeps and what it leaves behind.

use std::net::TcpStream;
use std::time::Duration;

use pulsar_testing::{Broker, Position, Profile, eventually, own_broker};

fn listens(broker_url: &str) -> bool {
    let address = broker_url.strip_prefix("pulsar://").expect("a broker's URL");
    TcpStream::connect(address).is_ok()
}

fn given_a_topic_with_a_subscription(broker: &Broker) -> String {
    let topic = broker.topic("kept");
    broker.admin().create_topic(&topic);
    broker
        .admin()
        .create_subscription(&topic, "s", Position::Earliest);
    topic
}

#[test]
fn a_killed_broker_comes_back_in_the_same_place_with_its_data() {
    let broker = own_broker!("killed", Profile::default());
    let topic = given_a_topic_with_a_subscription(&broker);

    broker.kill();
    assert!(!listens(broker.url()));

    broker.start();
    assert_eq!(broker.admin().backlog(&topic, "s"), 0);
}

#[test]
fn a_restarted_broker_has_its_data() {
    let profile = Profile::batch_index().keep_alive(Duration::from_secs(5));
    let broker = own_broker!("restarted", profile);
    let topic = given_a_topic_with_a_subscription(&broker);

    broker.restart();
    assert_eq!(broker.admin().backlog(&topic, "s"), 0);
}

#[test]
fn a_dropped_broker_listens_no_more() {
    let broker = own_broker!("dropped", Profile::default());
    let url = broker.url().to_owned();
    drop(broker);
    eventually("nobody listens", || !listens(&url));
}

#[test]
#[should_panic(expected = "cannot kill the shared broker")]
fn the_shared_broker_is_not_killed() {
    let Some(broker) = Broker::real() else {
        panic!("cannot kill the shared broker (skipped: there is none)");
    };
    broker.kill();
}
