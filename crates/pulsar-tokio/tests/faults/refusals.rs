//! Everything that a broker may say against a producer or one of its sends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pulsar_testing::{Broker, OverQuota, broker, eventually, real_broker_or_skip};
use pulsar_tokio::{Error, ErrorKind, Health, NewMessage, Producer, Receipt, ServerError, SubscriptionType};
use pulsar_wire::Command;
use pulsar_wire::proto::{CommandSendError, ProducerAccessMode};

use crate::scene::*;
use crate::support::*;

/// Every code of the protocol and one that it does not have.
fn all_codes() -> impl Iterator<Item = ServerError> {
    let known = (0..).map(ServerError::from_i32);
    known
        .take_while(|code| !matches!(code, ServerError::Unknown(_)))
        .chain([ServerError::Unknown(999)])
}

fn fails_alone(code: ServerError) -> bool {
    matches!(
        code,
        ServerError::NotAllowedError | ServerError::IncompatibleSchema
    )
}

fn is_terminal(code: ServerError) -> bool {
    matches!(
        code,
        ServerError::TopicTerminatedError | ServerError::ProducerFenced
    )
}

/// The broker refuses what it has stored.
fn refuse_sends(scene: &Scene, code: ServerError) {
    scene.proxy.alter("SEND_RECEIPT", move |command| match command {
        Command::SendReceipt(receipt) => Command::SendError(CommandSendError {
            producer_id: receipt.producer_id,
            sequence_id: receipt.sequence_id,
            error: code.code(),
            message: "by the test".to_owned(),
        }),
        other => other,
    });
}

async fn enqueue(producer: &Producer, text: &'static str) -> Receipt {
    within("room", producer.enqueue(NewMessage::new(text)))
        .await
        .unwrap()
}

async fn refused(receipt: Receipt) -> Error {
    within("an end", receipt).await.unwrap_err()
}

fn says(producer: &Producer, code: ServerError) -> bool {
    producer
        .last_error()
        .is_some_and(|error| error.kind() == ErrorKind::Refused(code))
}

#[tokio::test(flavor = "multi_thread")]
async fn some_refusals_of_a_send_fail_that_send_alone() {
    let scene = Scene::new(broker!(), "alone");
    let producer = scene.patient_producer().await;
    let accepted = scene.proxy.accepted();
    for code in all_codes().filter(|code| fails_alone(*code)) {
        refuse_sends(&scene, code);
        let error = refused(enqueue(&producer, "refused").await).await;
        assert_eq!(error.kind(), ErrorKind::Refused(code));
        assert!(!error.is_terminal() && !error.is_ambiguous() && !error.is_transient());
        assert_eq!(producer.health(), Health::Open);
        scene.proxy.pass("SEND_RECEIPT");
        within("a receipt", enqueue(&producer, "next").await)
            .await
            .unwrap();
    }
    assert_eq!(scene.proxy.accepted(), accepted);
}

#[tokio::test(flavor = "multi_thread")]
async fn some_refusals_of_a_send_end_the_producer() {
    let scene = Scene::new(broker!(), "terminal");
    for code in all_codes().filter(|code| is_terminal(*code)) {
        let producer = scene.patient_producer().await;
        refuse_sends(&scene, code);
        let receipts = [enqueue(&producer, "one").await, enqueue(&producer, "two").await];
        for receipt in receipts {
            let error = refused(receipt).await;
            assert_eq!(error.kind(), ErrorKind::Refused(code));
            assert!(error.is_terminal());
        }
        scene.proxy.pass("SEND_RECEIPT");
        let late = within("an answer", producer.send(NewMessage::new("late"))).await;
        assert!(late.unwrap_err().is_terminal());
        assert_eq!(producer.health(), Health::Ended);
        assert!(says(&producer, code));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_other_refusals_of_a_send_have_it_sent_again() {
    let scene = Scene::new(broker!(), "again");
    let producer = scene.patient_producer().await;
    // What is stored is not called damaged by any broker; see the next test.
    let others = all_codes()
        .filter(|code| !fails_alone(*code) && !is_terminal(*code) && *code != ServerError::ChecksumError);
    let mut codes = 0;
    for code in others {
        refuse_sends(&scene, code);
        let before = scene.proxy.kept_back("SEND_RECEIPT");
        let receipt = enqueue(&producer, code.name()).await;
        eventually("the producer says why it is away", || says(&producer, code));
        eventually("it is sent again", || {
            scene.proxy.kept_back("SEND_RECEIPT") >= before + 2
        });
        scene.proxy.pass("SEND_RECEIPT");
        within("a receipt", receipt).await.unwrap();
        codes += 1;
    }
    assert!(codes > 15, "{codes}");
    assert_eq!((producer.pending(), producer.health()), (0, Health::Open));
    assert!(producer.last_error().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_damaged_on_its_way_is_sent_again_and_stored_once() {
    let scene = Scene::new(broker!(), "damaged");
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Exclusive).await;
    let producer = scene.patient_producer().await;
    scene.proxy.damage("SEND");
    let receipt = enqueue(&producer, "damaged").await;
    eventually("the producer says why it is away", || {
        says(&producer, ServerError::ChecksumError)
    });
    scene.proxy.pass("SEND");
    within("a receipt", receipt).await.unwrap();
    assert_eq!(drain(&consumer, 1).await, ["damaged"]);
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_over_the_limit_fails_that_message_alone() {
    let broker = broker!();
    let namespace = broker.namespace("delay-limit");
    broker.admin().limit_delay(&namespace, Duration::from_secs(60));
    let topic = broker.topic_in(&namespace, "delay-limit");
    let scene = Scene::on(broker, topic);
    let producer = scene.patient_producer().await;
    let accepted = scene.proxy.accepted();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let due = i64::try_from(now.as_millis()).unwrap() + 3_600_000;
    let before = enqueue(&producer, "before").await;
    let late = NewMessage::new("late").deliver_at_ms(due);
    let late = within("room", producer.enqueue(late)).await.unwrap();
    let after = enqueue(&producer, "after").await;
    within("a receipt", before).await.unwrap();
    within("a receipt", after).await.unwrap();
    let error = refused(late).await;
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::NotAllowedError));
    assert!(!error.is_terminal());
    assert_eq!(scene.proxy.accepted(), accepted);
}

/// A producer on a topic whose backlog is over its quota, as it comes back to it.
async fn over_quota(scene: &Scene, code: ServerError) -> Producer {
    let producer = scene.patient_producer().await;
    for _ in 0..10 {
        let message = NewMessage::new(vec![b'x'; 200]);
        within("a receipt", producer.send(message)).await.unwrap();
    }
    scene.proxy.cut();
    eventually("the producer says why it is away", || says(&producer, code));
    let another = within("an answer", scene.client.producer(&scene.topic).open()).await;
    assert_eq!(another.unwrap_err().kind(), ErrorKind::Refused(code));
    producer
}

fn with_quota(broker: Broker, over: OverQuota) -> Scene {
    let namespace = broker.namespace("quota");
    broker.admin().limit_backlog(&namespace, 1_000, over);
    // A broker that deduplicates keeps a cursor of its own, which holds the backlog for minutes.
    broker.admin().set_deduplication(&namespace, false);
    let topic = broker.topic_in(&namespace, "quota");
    Scene::on(broker, topic)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_holds_producers_has_a_send_wait_until_there_is_room() {
    let scene = with_quota(
        real_broker_or_skip!("the development broker has no quotas of backlogs"),
        OverQuota::Hold,
    );
    let consumer = consumer(&scene.outside(), &scene.topic, SubscriptionType::Shared).await;
    let producer = over_quota(&scene, ServerError::ProducerBlockedQuotaExceededError).await;
    let receipt = enqueue(&producer, "held").await;
    drain(&consumer, 10).await;
    within("a receipt", receipt).await.unwrap();
    drain(&consumer, 1).await;
    scene.is_settled(&consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_fails_producers_fails_a_send_and_none_after_there_is_room() {
    let scene = with_quota(
        real_broker_or_skip!("the development broker has no quotas of backlogs"),
        OverQuota::Fail,
    );
    let consumer = consumer(&scene.outside(), &scene.topic, SubscriptionType::Shared).await;
    let code = ServerError::ProducerBlockedQuotaExceededException;
    let producer = over_quota(&scene, code).await;
    let error = refused(enqueue(&producer, "refused").await).await;
    assert_eq!(error.kind(), ErrorKind::Refused(code));
    assert!(error.is_transient() && !error.is_terminal() && !error.is_ambiguous());
    assert_eq!(producer.health(), Health::Reconnecting);
    drain(&consumer, 10).await;
    scene.resumes(&producer, &consumer).await;
    scene.is_settled(&consumer).await;
}

/// The broker fences off only producers that want to be the only one, which ours never do.
fn open_exclusively(command: Command) -> Command {
    match command {
        Command::Producer(mut producer) => {
            producer.producer_access_mode = Some(ProducerAccessMode::Exclusive as i32);
            Command::Producer(producer)
        }
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_is_fenced_off_at_first_is_not_opened() {
    let scene = Scene::new(broker!(), "fenced-first");
    let _rival = producer(&scene.outside(), &scene.topic).await;
    scene.proxy.alter("PRODUCER", open_exclusively);
    let opened = within("an answer", scene.client.producer(&scene.topic).open()).await;
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::ProducerFenced));
    assert!(error.is_terminal());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_is_fenced_off_as_it_comes_back_ends_with_everything_pending() {
    let scene = Scene::new(broker!(), "fenced-back");
    let producer = scene.patient_producer().await;
    let rival = crate::support::producer(&scene.outside(), &scene.topic).await;
    scene.proxy.withhold("SEND_RECEIPT");
    let sent = enqueue(&producer, "sent").await;
    eventually("it is stored", || scene.proxy.kept_back("SEND_RECEIPT") == 1);
    scene.proxy.alter("PRODUCER", open_exclusively);
    scene.proxy.refuse(true);
    scene.proxy.cut();
    eventually("the producer is away", || {
        producer.health() == Health::Reconnecting
    });
    let unsent = enqueue(&producer, "unsent").await;
    scene.proxy.refuse(false);

    for (receipt, is_ambiguous) in [(sent, true), (unsent, false)] {
        let error = refused(receipt).await;
        assert_eq!(error.kind(), ErrorKind::Refused(ServerError::ProducerFenced));
        assert_eq!((error.is_terminal(), error.is_ambiguous()), (true, is_ambiguous));
    }
    let late = within("an answer", producer.send(NewMessage::new("late"))).await;
    assert!(late.unwrap_err().is_terminal());
    assert_eq!((producer.pending(), producer.health()), (0, Health::Ended));
    within("a receipt", rival.send(NewMessage::new("rival")))
        .await
        .unwrap();
}
