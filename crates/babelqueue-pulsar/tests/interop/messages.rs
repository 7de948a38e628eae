//! Messages there and back.

use std::collections::{BTreeMap, BTreeSet};

use babelqueue_pulsar::{Consumer, Data, SubscriptionType};
use pulsar_testing::broker;
use serde_json::Value;

use super::values::data;
use crate::support::{
    Diary, ORDER, SUB, Scene, WITNESS, closed_within_patience, order, peer_or_skip, poll, until, within,
};

const MESSAGES: usize = 1_000;

#[tokio::test]
async fn a_thousand_messages_of_python_arrive_with_equal_data() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "from-python");
    let diary = Diary::default();
    let (notes, queue) = (diary.clone(), scene.queue().to_owned());
    let builder = diary
        .hooks(Consumer::builder())
        .handler(ORDER, move |envelope, _| {
            assert_eq!(envelope.meta().lang(), "python");
            assert_eq!(envelope.meta().queue(), queue);
            assert_eq!(envelope.attempts(), 0);
            notes.note(format!("{} {}", envelope.meta().id(), envelope.data_json()));
            std::future::ready(Ok(()))
        });
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;
    let lines: String = (0..MESSAGES).map(|n| data(n) + "\n").collect();

    let arguments = [scene.broker.url(), &scene.topic, ORDER];
    let publishing = peer.run("publish.py", &arguments, &lines);
    let handled = until("all are handled", || diary.lines().len() >= MESSAGES);
    let (ids, ()) = tokio::join!(publishing, consumer.run(handled));

    let expected: BTreeSet<_> = ids
        .iter()
        .enumerate()
        .map(|(n, id)| format!("{} {}", id.trim_matches('"'), data(n)))
        .collect();
    let seen: BTreeSet<_> = diary.lines().into_iter().collect();
    assert_eq!(seen.len(), MESSAGES);
    assert!(
        seen == expected,
        "{:?}",
        seen.symmetric_difference(&expected).next()
    );
    assert_eq!(scene.backlog(), 0);
}

#[tokio::test]
async fn a_thousand_messages_of_rust_arrive_in_python_with_equal_data() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "to-python");
    let publisher = scene.publisher().await;
    let mut receipts = Vec::new();
    for n in 0..MESSAGES {
        let data = Data::from_json(data(n)).expect("JSON");
        receipts.push(publisher.publish_data(ORDER, data).enqueue());
    }
    let mut expected = BTreeMap::new();
    for (n, receipt) in receipts.into_iter().enumerate() {
        let id = within("a receipt", receipt).await.expect("a message");
        expected.insert(id.to_string(), data(n));
    }

    let count = MESSAGES.to_string();
    let arguments = [scene.broker.url(), &scene.topic, ORDER, &count, "succeed"];
    let lines = peer.run("consume.py", &arguments, "").await;

    for line in &lines {
        let envelope: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(envelope["attempts"], 0);
        assert_eq!(envelope["meta"]["queue"], scene.queue());
        let id = envelope["meta"]["id"].as_str().expect("an id");
        let sent = expected
            .remove(id)
            .unwrap_or_else(|| panic!("{id} came twice or from nowhere"));
        assert!(line.starts_with(&format!(r#"{{"data":{sent},"meta":"#)), "{line}");
    }
    assert!(expected.is_empty(), "{} never came", expected.len());
    assert_eq!(scene.backlog(), 0);
}

#[tokio::test]
async fn attempts_made_in_rust_are_counted_in_python() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "rust-then-python");
    let diary = Diary::default();
    let builder = Consumer::builder().handler(ORDER, diary.fails());
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;
    let data = Data::from_json(r#"{"n":12345678901234567890123}"#).expect("JSON");
    let request = scene.publisher().await;
    let request = request.publish_data(ORDER, data).trace_id("t-7");
    request.await.expect("a message");
    poll(&consumer).await;
    poll(&consumer).await;
    closed_within_patience(&consumer).await;

    let arguments = [scene.broker.url(), &scene.topic, ORDER, "1", "succeed"];
    let lines = peer.run("consume.py", &arguments, "").await;

    let envelope: Value = serde_json::from_str(&lines[0]).expect("JSON");
    assert_eq!(
        (&envelope["attempts"], &envelope["trace_id"]),
        (&2.into(), &"t-7".into())
    );
    assert!(
        lines[0].starts_with(r#"{"data":{"n":12345678901234567890123},"#),
        "{}",
        lines[0]
    );
    assert_eq!(scene.backlog(), 0);
}

#[tokio::test]
async fn attempts_made_in_python_are_counted_in_rust() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "python-then-rust");
    scene.send(order()).await;
    let arguments = [scene.broker.url(), &scene.topic, ORDER, "2", "fail"];
    let lines = peer.run("consume.py", &arguments, "").await;
    assert_eq!(lines.len(), 2);
    let diary = Diary::default();
    let builder = Consumer::builder().handler(ORDER, diary.succeeds());
    let consumer = scene.consumer(SubscriptionType::Shared, builder).await;

    poll(&consumer).await;

    assert_eq!(diary.lines(), [format!("run {ORDER} 2")]);
    assert_eq!(scene.backlog(), 0);
}

#[tokio::test]
async fn the_bare_python_client_sees_body_properties_and_key() {
    let peer = peer_or_skip!();
    let scene = Scene::new(broker!(), "bare");
    let publisher = scene.publisher().await;
    let data = Data::from_json(data(3)).expect("JSON");
    let request = publisher
        .publish_data(ORDER, data)
        .trace_id("t-7")
        .key("customer-12");
    let id = request
        .header("traceparent", "00-ab")
        .await
        .expect("a message")
        .to_string();

    let arguments = [scene.broker.url(), &scene.topic, WITNESS, "1"];
    let lines = peer.run("read.py", &arguments, "").await;

    let message: Value = serde_json::from_str(&lines[0]).expect("JSON");
    let expected = serde_json::json!({
        "bq-job": ORDER,
        "bq-trace-id": "t-7",
        "bq-message-id": id,
        "bq-schema-version": "1",
        "bq-source-lang": "rust",
        "bq-attempts": "0",
        "traceparent": "00-ab",
    });
    assert_eq!(message["properties"], expected);
    assert_eq!(message["key"], "customer-12");
    assert_eq!(message["poison"], Value::Null);
    assert_eq!(message["decoded"]["meta"]["lang"], "rust");
    assert!(!scene.admin().stats(&scene.topic).subscriptions.contains_key(SUB));
}
