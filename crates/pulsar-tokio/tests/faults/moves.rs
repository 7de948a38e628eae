//! Topics that move to a broker which the old one names.

use pulsar_testing::{Proxy, broker, eventually};
use pulsar_tokio::{NewMessage, SubscriptionType};
use pulsar_wire::Command;

use crate::scene::*;
use crate::support::*;

/// The same broker at another address; what is closed is told to go there.
fn move_to_another_address(scene: &Scene) -> Proxy {
    let other = Proxy::before(&scene.broker);
    for name in ["CLOSE_PRODUCER", "CLOSE_CONSUMER"] {
        let url = other.url().to_owned();
        scene.proxy.alter(name, move |command| {
            let url = Some(url.clone());
            match command {
                Command::CloseProducer(mut close) => {
                    close.assigned_broker_service_url = url;
                    Command::CloseProducer(close)
                }
                Command::CloseConsumer(mut close) => {
                    close.assigned_broker_service_url = url;
                    Command::CloseConsumer(close)
                }
                other => other,
            }
        });
    }
    other
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assigned_broker_is_gone_to_first() {
    let scene = Scene::new(broker!(), "assigned");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    let other = move_to_another_address(&scene);

    scene.broker.admin().unload(&scene.topic);
    scene.resumes(&producer, &consumer).await;

    // Lookups lead back to the first address, so nothing else leads here.
    assert_eq!(other.accepted(), 2, "one connection for each");
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_an_assigned_broker_is_not_the_topic_is_looked_up() {
    let scene = Scene::new(broker!(), "assigned-away");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    let other = move_to_another_address(&scene);
    other.refuse(true);
    eventually("nobody listens", || {
        std::net::TcpStream::connect(other.url().trim_start_matches("pulsar://")).is_err()
    });

    scene.broker.admin().unload(&scene.topic);
    within("a receipt", producer.send(NewMessage::new("moved")))
        .await
        .unwrap();
    scene.resumes(&producer, &consumer).await;
    scene.is_settled(&consumer).await;
}
