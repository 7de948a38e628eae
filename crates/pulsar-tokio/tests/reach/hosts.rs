//! Service URLs with several hosts, proxies and listeners.

use pulsar_tokio::{Client, ErrorKind, NewMessage};
use pulsar_wire::Command;
use pulsar_wire::proto::CommandLookupTopic;

use crate::scripted::{Scripted, found, nobody};
use crate::support::within;

fn lookup(command: &Command) -> Option<CommandLookupTopic> {
    match command {
        Command::LookupTopic(lookup) => Some((**lookup).clone()),
        _ => None,
    }
}

fn urls(addresses: &[&str]) -> String {
    format!("pulsar://{}", addresses.join(","))
}

async fn publish(client: &Client, topic: &str) -> Result<(), pulsar_tokio::Error> {
    let producer = within("an answer", client.producer(topic).open()).await?;
    within("a receipt", producer.send(NewMessage::new("hello"))).await?;
    Ok(())
}

#[tokio::test]
async fn lookups_go_round_the_hosts() {
    let (first, second) = (Scripted::plain().await, Scripted::plain().await);
    let client = Client::new(&urls(&[first.address(), second.address()])).unwrap();
    for number in 0..4 {
        publish(&client, &format!("topic-{number}")).await.unwrap();
    }
    // Each topic takes two questions, for its partitions and for its broker.
    let questions = |broker: &Scripted| {
        let asked = broker.heard(|command| {
            matches!(command, Command::LookupTopic(_) | Command::PartitionMetadata(_)).then_some(())
        });
        asked.len()
    };
    assert_eq!((questions(&first), questions(&second)), (4, 4));
}

#[tokio::test]
async fn a_host_where_nobody_listens_is_passed_over() {
    let (dead, live) = (nobody().await, Scripted::plain().await);
    for order in [[dead.as_str(), live.address()], [live.address(), dead.as_str()]] {
        let client = Client::new(&urls(&order)).unwrap();
        for number in 0..3 {
            publish(&client, &format!("topic-{number}")).await.unwrap();
        }
    }
}

#[tokio::test]
async fn opening_fails_only_when_every_host_fails_and_names_each() {
    let (first, second) = (nobody().await, nobody().await);
    let client = Client::new(&urls(&[&first, &second])).unwrap();
    let error = publish(&client, "orders").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let text = error.to_string();
    assert!(text.contains(&first) && text.contains(&second), "{text}");
}

#[tokio::test]
async fn a_producer_comes_back_by_another_host_when_its_own_is_gone() {
    let (first, second) = (Scripted::plain().await, Scripted::plain().await);
    let client = Client::new(&urls(&[first.address(), second.address()])).unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    drop(first);
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    drop(producer);
    assert!(!second.connects().is_empty());
}

#[tokio::test]
async fn a_broker_behind_proxies_is_reached_through_one_that_lives() {
    let script = |command: &Command| match command {
        Command::LookupTopic(lookup) => Some(vec![found(lookup, "pulsar://inside:6650", true)]),
        _ => None,
    };
    let (dead, proxy) = (nobody().await, Scripted::with_script(script).await);
    for order in [[dead.as_str(), proxy.address()], [proxy.address(), dead.as_str()]] {
        let client = Client::new(&urls(&order)).unwrap();
        publish(&client, "orders").await.unwrap();
    }
    let told: Vec<_> = proxy
        .connects()
        .into_iter()
        .filter_map(|connect| connect.proxy_to_broker_url)
        .collect();
    assert_eq!(told, ["inside:6650", "inside:6650"]);
}

#[tokio::test]
async fn lookups_ask_for_the_addresses_of_the_given_listener() {
    let broker = Scripted::plain().await;
    let client = Client::builder(broker.url())
        .listener_name("outside")
        .build()
        .unwrap();
    publish(&client, "orders").await.unwrap();
    let lookups = broker.heard(lookup);
    assert_eq!(lookups[0].advertised_listener_name.as_deref(), Some("outside"));
}

#[tokio::test]
async fn every_form_of_a_topic_name_is_looked_up_in_full() {
    let broker = Scripted::plain().await;
    let client = Client::new(broker.url()).unwrap();
    let names = [
        ("orders", "persistent://public/default/orders"),
        ("acme/lab/orders", "persistent://acme/lab/orders"),
        ("persistent://acme/lab/orders", "persistent://acme/lab/orders"),
        (
            "non-persistent://acme/lab/orders",
            "non-persistent://acme/lab/orders",
        ),
    ];
    for (given, _) in names {
        within("a producer", client.producer(given).open()).await.unwrap();
    }
    let asked: Vec<_> = broker
        .heard(lookup)
        .into_iter()
        .map(|lookup| lookup.topic)
        .collect();
    assert_eq!(asked, names.map(|(_, full)| full));
}
