//! The development broker beside Apache Pulsar, frame by frame.
//!
//! One program of scenarios talks to a broker in raw frames and notes what it sees: `groups` tells stories on few
//! connections, `scenarios` tries each thing by itself, on all types of subscriptions. What Apache Pulsar 4.0.7
//! answered lies in `pulsar-4.0.7.json`; the development broker is compared with that, field by field, apart
//! from what `differences.json` names with a reason. With `PULSAR_URL` set, that broker is compared with the
//! record too, which tells when the record is out of date; `make record` writes it anew.

mod groups;
mod peer;
mod record;
mod scenarios;
mod seen;
mod server;

use std::env;
use std::sync::Arc;

use pulsar_devbroker::DevBroker;
use pulsar_testing::Broker;

use crate::peer::Peer;
use crate::record::{Differences, Record};
use crate::server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_development_broker_answers_as_pulsar_did() {
    let broker = || {
        let broker = DevBroker::builder().start_on_thread();
        Server::Dev(Arc::new(broker.expect("a broker")))
    };
    let problems = problems(&Differences::read(), broker).await;
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_is_what_pulsar_answers() {
    let Some(broker) = Broker::real() else {
        return;
    };
    let version = Peer::server_version(broker.url()).await;
    if version != Record::BROKER {
        eprintln!("skipped: the record is of {}, not of {version}", Record::BROKER);
        return;
    }
    if env::var_os("BABELQUEUE_RECORD").is_some() {
        groups::observe(Server::Real(broker)).await.write();
        return;
    }
    let broker = || Server::Real(Broker::real().expect("it was there"));
    let problems = problems(&Differences::none(), broker).await;
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What a broker does not answer as recorded. Some observations are that nothing comes, and on a busy machine it
/// may come too late: what is not as recorded is looked at a second time.
async fn problems(differences: &Differences, broker: impl Fn() -> Server) -> Vec<String> {
    let recorded = Record::read();
    let mut problems = differences.compare(&recorded, &groups::observe(broker()).await);
    if !problems.is_empty() {
        let again = differences.compare(&recorded, &groups::observe(broker()).await);
        problems.retain(|problem| again.contains(problem));
    }
    println!("{} observations", recorded.len());
    problems
}

#[test]
fn the_record_is_large_and_the_differences_are_few() {
    assert!(Record::read().len() >= 200);
    assert!(Differences::read().len() <= 15);
}

/// What is lost, comes twice or out of order, and what is counted, is not up for acceptance.
#[test]
fn no_difference_is_accepted_where_messages_are_at_stake() {
    let at_stake = [
        "acks",
        "batch_ack",
        "delay",
        "flow",
        "key_shared",
        "permits",
        "redelivery",
    ];
    let record = Record::read();
    for group in at_stake {
        assert!(record.has_group(group), "{group}");
        assert!(!Differences::read().any_in(group), "{group}");
    }
}
