//! What operators do to topics while somebody works on them.

use std::collections::BTreeSet;
use std::time::Duration;

use pulsar_testing::{Position, broker, eventually};
use pulsar_tokio::{ErrorKind, Health, NewMessage, ServerError, SubscriptionType};

use crate::scene::*;
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_run_twice_while_the_topic_is_unloaded_every_second() {
    let unloads = if soak() { 60 } else { 5 };
    let scene = Scene::new(broker!(), "unloaded");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let publishing = async {
        let mut number = 0;
        while stopped.try_recv().is_err() {
            let message = NewMessage::new(number.to_string());
            within("a receipt", producer.send(message)).await.unwrap();
            number += 1;
        }
        within("a receipt", producer.send(NewMessage::new("last")))
            .await
            .unwrap();
        number + 1
    };
    let unloading = async {
        let mut second = tokio::time::interval(Duration::from_secs(1));
        for _ in 0..unloads {
            second.tick().await;
            tokio::task::block_in_place(|| scene.broker.admin().unload(&scene.topic));
        }
        stop.send(()).unwrap();
    };
    let mut tally = Tally::default();
    let consuming = async {
        while !tally.has("last") {
            tally.one(&consumer).await;
        }
    };
    let (sent, (), ()) = tokio::join!(publishing, unloading, consuming);
    while tally.different() < sent {
        tally.one(&consumer).await;
    }
    let (_, lost) = tally.ends().await;
    let duplicates = tally.duplicates();
    println!("{unloads} unloads, {sent} sent: {duplicates} duplicates, {lost} acknowledgements lost");
    // One send is in flight at a time, and a repeated transmission is another message.
    assert!(duplicates <= unloads);
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_topic_is_waited_for_and_the_wait_has_a_reason() {
    let broker = broker!();
    let namespace = broker.namespace("deleted");
    broker.admin().set_topic_creation(&namespace, false);
    let topic = broker.topic_in(&namespace, "deleted");
    broker.admin().create_topic(&topic);
    let scene = Scene::on(broker, topic);
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    scene.broker.admin().delete(&scene.topic, true);
    eventually("both say why they are away", || {
        let errors = [producer.last_error(), consumer.stats()[0].last_error.clone()];
        let missing = ErrorKind::Refused(ServerError::TopicNotFound);
        let is_it = |error: pulsar_tokio::Error| error.kind() == missing;
        errors.into_iter().all(|error| error.is_some_and(is_it))
    });
    assert_eq!(consumer.stats()[0].health, Health::Reconnecting);
    scene.broker.admin().create_topic(&scene.topic);
    scene.resumes(&producer, &consumer).await;
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_a_termination_meets_is_either_stored_or_not_called_so() {
    let scene = Scene::new(broker!(), "terminated");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    scene.proxy.slow(Duration::from_millis(1));
    let mut receipts = Vec::new();
    for number in 0..500 {
        receipts.push(
            producer
                .enqueue(NewMessage::new(number.to_string()))
                .await
                .unwrap(),
        );
    }
    // In the middle: some are stored, and most are not yet.
    let rest = receipts.split_off(20);
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    tokio::task::block_in_place(|| {
        scene.broker.admin().terminate(&scene.topic);
        // Where writes were pending, a broker may leave the topic fenced ("temporarily
        // unavailable") until it is loaded anew.
        scene.broker.admin().unload(&scene.topic);
    });
    let mut stored: BTreeSet<_> = numbers(0..20).into_iter().collect();
    let mut failed = BTreeSet::new();
    for (number, receipt) in (20..).zip(rest) {
        match within("an end", receipt).await {
            Ok(_) => _ = stored.insert(number.to_string()),
            Err(error) if error.is_ambiguous() => {}
            Err(error) => {
                assert!(error.is_terminal(), "{error}");
                failed.insert(number.to_string());
            }
        }
    }
    scene.proxy.slow(Duration::ZERO);
    let there = scene.broker.admin().backlog(&scene.topic, SUB);
    let texts: BTreeSet<String> = drain(&consumer, usize::try_from(there).unwrap())
        .await
        .into_iter()
        .collect();
    println!("{} stored, {} failed, {there} there", stored.len(), failed.len());
    assert!(stored.is_subset(&texts), "none with a receipt is lost");
    assert!(failed.is_disjoint(&texts), "none that failed is stored");
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_run_again_after_an_operator_reset_the_cursor() {
    const COUNT: usize = 300;
    let broker = broker!();
    let namespace = broker.namespace("reset");
    broker.admin().keep_acknowledged(&namespace);
    for kind in ALL_TYPES {
        let topic = broker.topic_in(&namespace, "reset");
        let client = client(&broker);
        let consumer = consumer(&client, &topic, kind).await;
        publish(&producer(&client, &topic).await, COUNT).await;
        drain(&consumer, COUNT).await;
        tokio::task::block_in_place(|| {
            broker.admin().reset_cursor(&topic, SUB, Position::Earliest);
        });
        let mut texts = drain(&consumer, COUNT).await;
        texts.sort_unstable_by_key(|text| text.parse::<u32>().unwrap());
        assert_eq!(texts, numbers(0..COUNT), "{kind}");
        eventually("everything is acknowledged", || {
            broker.admin().backlog(&topic, SUB) == 0
        });
        accounts_agree(&consumer).await;
    }
}
