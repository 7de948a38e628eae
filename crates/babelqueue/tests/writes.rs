//! Records that cannot be written: too large ones, and the order of write and acknowledgement.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use babelqueue::memory::Call;
use babelqueue::{Redelivery, WriteErrorKind};
use support::*;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_before_the_record_is_confirmed() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.hold(Call::Write);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    let poll = tokio::spawn(async move { consumer.poll().await });
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            unsettled: 1,
            ..NOTHING_LEFT
        }
    );
    world.broker.release(Call::Write);
    assert_eq!(poll.await.unwrap().unwrap(), 1);
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_that_is_too_large_is_written_raw() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-attempts", "2")]);
    world.broker.fail_write(WriteErrorKind::TooLarge);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = world.only(DEAD);
    assert_eq!(text(&record).as_bytes(), body(CREATED));
    assert_eq!(property(&record, "bq-dead-letter-reason"), Some("failed"));
    assert_eq!(
        world.log()[1..],
        ["on_error HandlerFailed 2 message", "on_error Write 2 message"]
    );
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_poison_record_that_is_too_large_is_written_raw() {
    let world = World::new();
    world.put("not json", &[]);
    world.broker.fail_write(WriteErrorKind::TooLarge);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = world.only(DEAD);
    assert_eq!(text(&record), "not json");
    assert_eq!(property(&record, "bq-dead-letter-reason"), Some("poison"));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_too_large_is_written_without_what_was_filled_in() {
    let world = World::new();
    world.put(body(CREATED), &[("traceparent", "00-ab")]);
    world.broker.fail_write(WriteErrorKind::TooLarge);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let record = world.only(TOPIC);
    assert_eq!(property(&record, "bq-job"), None);
    assert_eq!(property(&record, "bq-attempts"), Some("1"));
    assert_eq!(property(&record, "traceparent"), Some("00-ab"));
}

/// What a consumer holds stays with it, and comes to the next one.
async fn held(redelivery: Redelivery) {
    let world = World::new();
    world.put(body(CREATED), &[("bq-attempts", "2")]);
    for _ in 0..100 {
        world.broker.fail_write(WriteErrorKind::TooLarge);
    }
    let transport = || world.subscribe().redelivery(redelivery);
    let handled = world.clone();
    let builder = world.failing().handler(PAID, move |_, _| {
        handled.note("paid");
        std::future::ready(Ok(()))
    });
    let consumer = builder.build(transport()).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = tokio::spawn(async move {
        consumer.run(async { stopped.await.unwrap() }).await;
        consumer.close().await
    });
    sleep(Duration::from_secs(60)).await;
    world.put(body(PAID), &[]);
    sleep(Duration::from_millis(1)).await;

    let once = [
        "handler 2",
        "on_error HandlerFailed 2 message",
        "on_error Write 2 message",
        "on_error Write 2 message",
    ];
    assert_eq!(world.log()[..4], once);
    assert_eq!(world.log()[4..], ["paid"]);
    let unsettled = Left {
        unsettled: 1,
        ..NOTHING_LEFT
    };
    assert_eq!(world.left(), unsettled);

    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
    let next = world.failing().build(transport()).unwrap();
    assert_eq!(next.poll().await.unwrap(), 1);
    assert_eq!(world.log()[5..], once);
    assert_eq!(world.left(), unsettled);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_record_fits_in_no_form_is_held_while_others_go_on() {
    held(Redelivery::Counted).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_record_fits_in_no_form_is_held_where_a_nack_rewinds() {
    held(Redelivery::Rewind).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_write_the_next_receive_waits_a_second() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.fail_write(WriteErrorKind::Unavailable);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    consumer.poll().await.unwrap();
    let before = Instant::now();
    consumer.poll().await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_dead_letter_topic_comes_back_leaves_exactly_one_record() {
    let world = World::new();
    world.put(body(CREATED), &[("bq-attempts", "2")]);
    world.broker.fail_write(WriteErrorKind::Unavailable);
    world.broker.fail_write(WriteErrorKind::Indeterminate);
    let consumer = world.failing().build(world.subscribe()).unwrap();
    while consumer.poll().await.unwrap() == 1 {}
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
}
