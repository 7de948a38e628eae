//! The loop: pipelined acknowledgements, failures that do not end it, held messages, and the stop.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use babelqueue::memory::{Call, MemoryTransport};
use babelqueue::{Consumer, Redelivery, TransportErrorKind, WriteErrorKind};
use support::*;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// A running consumer and the means to stop it.
struct Running {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

fn start(consumer: Consumer<MemoryTransport>) -> Running {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        consumer.run(async { stopped.await.unwrap() }).await;
    });
    Running { task, stop }
}

impl Running {
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// Lets everything happen that can happen without time passing.
async fn settle_down() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn messages_are_handled_until_the_stop() {
    let world = World::new();
    let running = start(world.builder().build(world.subscribe()).unwrap());
    for _ in 0..5 {
        world.put(body(CREATED), &[]);
        settle_down().await;
    }
    running.stop().await;
    world.put(body(CREATED), &[]);
    settle_down().await;
    assert_eq!(world.log().len(), 5);
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_start_handles_nothing() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    consumer.run(async {}).await;
    assert_eq!(world.log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_message_in_hand_is_finished_at_the_stop() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (handler_started, handler_go) = (Arc::clone(&started), Arc::clone(&go));
    let consumer = world
        .builder()
        .handler(CREATED, move |_, _| {
            let (started, go) = (Arc::clone(&handler_started), Arc::clone(&handler_go));
            async move {
                started.notify_one();
                go.notified().await;
                Ok(())
            }
        })
        .build(world.subscribe())
        .unwrap();
    let running = start(consumer);
    started.notified().await;
    running.stop.send(()).unwrap();
    settle_down().await;
    assert!(!running.task.is_finished());
    go.notify_one();
    running.task.await.unwrap();
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn the_next_handler_starts_while_acknowledgements_are_unconfirmed() {
    let world = World::new();
    world.broker.hold(Call::Ack);
    for _ in 0..5 {
        world.put(body(CREATED), &[]);
    }
    let running = start(
        world
            .builder()
            .max_unconfirmed_acks(3)
            .build(world.subscribe())
            .unwrap(),
    );
    settle_down().await;
    assert_eq!(world.log().len(), 3);
    world.broker.release(Call::Ack);
    settle_down().await;
    assert_eq!(world.log().len(), 5);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_stop_waits_for_unconfirmed_acknowledgements() {
    let world = World::new();
    world.broker.hold(Call::Ack);
    world.put(body(CREATED), &[]);
    let running = start(world.builder().build(world.subscribe()).unwrap());
    settle_down().await;
    running.stop.send(()).unwrap();
    settle_down().await;
    assert!(!running.task.is_finished());
    world.broker.release(Call::Ack);
    running.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failed_acknowledgement_is_reported_and_the_loop_goes_on() {
    let world = World::new();
    world.broker.fail(Call::Ack, TransportErrorKind::Disconnected);
    world.put(body(CREATED), &[]);
    let running = start(world.builder().build(world.subscribe()).unwrap());
    settle_down().await;
    world.put(body(CREATED), &[]);
    settle_down().await;
    assert_eq!(world.log(), ["handler 0", "on_error Ack 0 message", "handler 0"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_that_fails_at_the_stop_is_still_reported() {
    let world = World::new();
    world.broker.hold(Call::Ack);
    world.broker.fail(Call::Ack, TransportErrorKind::Disconnected);
    world.put(body(CREATED), &[]);
    let running = start(world.builder().build(world.subscribe()).unwrap());
    settle_down().await;
    running.stop.send(()).unwrap();
    settle_down().await;
    world.broker.release(Call::Ack);
    running.task.await.unwrap();
    assert_eq!(world.log()[1..], ["on_error Ack 0 message"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_receive_is_reported_and_tried_again_after_a_second() {
    let world = World::new();
    world.broker.fail(Call::Receive, TransportErrorKind::Disconnected);
    world.put(body(CREATED), &[]);
    let running = start(world.builder().build(world.subscribe()).unwrap());
    sleep(Duration::from_millis(999)).await;
    assert_eq!(world.log(), ["on_error Receive none none"]);
    sleep(Duration::from_millis(2)).await;
    assert_eq!(world.log()[1..], ["handler 0"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_pause_after_a_failed_receive_does_not_delay_the_stop() {
    let world = World::new();
    world.broker.fail(Call::Receive, TransportErrorKind::Disconnected);
    let running = start(world.builder().build(world.subscribe()).unwrap());
    settle_down().await;
    let before = Instant::now();
    running.stop().await;
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_gives_the_message_back_where_redelivery_is_counted() {
    let world = World::new();
    world.broker.fail_write(WriteErrorKind::Unavailable);
    world.put(body(CREATED), &[("bq-attempts", "2")]);
    let running = start(world.failing().build(world.subscribe()).unwrap());
    sleep(Duration::from_secs(2)).await;
    running.stop().await;
    assert_eq!(
        world
            .log()
            .iter()
            .filter(|line| line.starts_with("handler"))
            .count(),
        2
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
async fn where_a_nack_rewinds_a_failed_write_is_repeated_without_running_the_handler_again() {
    let world = World::new();
    for _ in 0..3 {
        world.broker.fail_write(WriteErrorKind::Unavailable);
    }
    world.put(body(CREATED), &[("bq-attempts", "2")]);
    let consumer = world
        .failing()
        .build(world.subscribe().redelivery(Redelivery::Rewind))
        .unwrap();
    let running = start(consumer);
    // 100, 200 and 400 ms.
    sleep(Duration::from_millis(699)).await;
    assert_eq!(
        world.left(),
        Left {
            unsettled: 1,
            ..NOTHING_LEFT
        }
    );
    sleep(Duration::from_millis(2)).await;
    assert_eq!(
        world.left(),
        Left {
            dead: 1,
            ..NOTHING_LEFT
        }
    );
    let write = "on_error Write 2 message";
    assert_eq!(
        world.log(),
        [
            "handler 2",
            "on_error HandlerFailed 2 message",
            write,
            write,
            write
        ]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_held_message_is_left_unsettled_at_the_stop() {
    let world = World::new();
    for _ in 0..100 {
        world.broker.fail_write(WriteErrorKind::Unavailable);
    }
    world.put(body(CREATED), &[]);
    let consumer = world
        .failing()
        .build(world.subscribe().redelivery(Redelivery::Rewind))
        .unwrap();
    let running = start(consumer);
    sleep(Duration::from_secs(10)).await;
    running.stop().await;
    assert_eq!(
        world.left(),
        Left {
            unsettled: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn an_always_failing_message_does_not_block_those_behind_it() {
    let world = World::new();
    world.put(body(PAID), &[]);
    for _ in 0..100 {
        world.put(body(CREATED), &[]);
    }
    let running = start(
        world
            .builder()
            .max_attempts(1_000)
            .build(world.subscribe())
            .unwrap(),
    );
    settle_down().await;
    running.stop().await;
    let log = world.log();
    let failed_before_the_last = log[..log.iter().rposition(|line| line == "handler 0").unwrap()]
        .iter()
        .filter(|line| line.starts_with("on_error"))
        .count();
    assert_eq!(failed_before_the_last, 1);
}

#[tokio::test(start_paused = true)]
async fn poll_returns_zero_when_nothing_comes_within_the_receive_timeout() {
    let world = World::new();
    let consumer = world
        .builder()
        .receive_timeout(Duration::from_secs(3))
        .build(world.subscribe())
        .unwrap();
    let before = Instant::now();
    assert_eq!(consumer.poll().await.unwrap(), 0);
    assert_eq!(before.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn poll_returns_only_after_the_acknowledgement_is_confirmed() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.broker.hold(Call::Ack);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    let poll = tokio::spawn(async move { consumer.poll().await });
    sleep(Duration::from_secs(60)).await;
    assert!(!poll.is_finished());
    world.broker.release(Call::Ack);
    assert_eq!(poll.await.unwrap().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn poll_returns_a_failed_receive_without_calling_the_hook() {
    let world = World::new();
    world.broker.fail(Call::Receive, TransportErrorKind::Closed);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    assert!(!consumer.poll().await.unwrap_err().is_transient());
    assert_eq!(world.log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_message_is_not_handled_before_its_time() {
    let world = World::new();
    let publisher = babelqueue::Publisher::new(world.broker.sink(TOPIC));
    publisher
        .publish(CREATED, &serde_json::json!({}))
        .delay(Duration::from_secs(5))
        .await
        .unwrap();
    let consumer = world.builder().build(world.subscribe()).unwrap();
    assert_eq!(consumer.poll().await.unwrap(), 0);
    sleep(Duration::from_secs(4)).await;
    assert_eq!(consumer.poll().await.unwrap(), 1);
}

#[tokio::test]
async fn closing_returns_the_error_of_the_transport_and_can_be_repeated() {
    let world = World::new();
    world.broker.fail(Call::Close, TransportErrorKind::Disconnected);
    let consumer = world.builder().build(world.subscribe()).unwrap();
    assert!(consumer.close().await.is_err());
    assert!(consumer.close().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn closing_a_consumer_ends_its_loop_after_the_message_in_hand() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.put(body(PAID), &[]);
    let go = Arc::new(Notify::new());
    let handler_go = Arc::clone(&go);
    let consumer = world.builder().handler(CREATED, move |_, _| {
        let go = Arc::clone(&handler_go);
        async move {
            go.notified().await;
            Ok(())
        }
    });
    let consumer = Arc::new(consumer.build(world.subscribe()).unwrap());
    let running = tokio::spawn({
        let consumer = Arc::clone(&consumer);
        async move { consumer.run(std::future::pending()).await }
    });
    settle_down().await;
    consumer.close().await.unwrap();
    settle_down().await;
    assert!(!running.is_finished());
    go.notify_one();
    running.await.unwrap();
    assert_eq!(world.log(), [""; 0]);
    consumer.run(std::future::pending()).await;
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_is_dropped_while_it_waits_loses_no_message() {
    let world = World::new();
    let consumer = world.builder().build(world.subscribe()).unwrap();
    let poll = timeout(Duration::from_millis(10), consumer.poll());
    assert!(poll.await.is_err());
    world.put(body(CREATED), &[]);
    assert_eq!(consumer.poll().await.unwrap(), 1);
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_is_dropped_leaves_the_message_in_hand_unsettled() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    world.put(body(PAID), &[]);
    let consumer = world
        .builder()
        .handler(PAID, |_, _| std::future::pending())
        .build(world.subscribe())
        .unwrap();
    let run = timeout(Duration::from_secs(1), consumer.run(std::future::pending()));
    assert!(run.await.is_err());
    assert_eq!(
        world.left(),
        Left {
            unsettled: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test(start_paused = true)]
async fn the_stop_waits_for_a_write_in_progress() {
    let world = World::new();
    world.broker.hold(Call::Write);
    world.put(body(CREATED), &[]);
    let running = start(world.failing().build(world.subscribe()).unwrap());
    settle_down().await;
    running.stop.send(()).unwrap();
    settle_down().await;
    assert!(!running.task.is_finished());
    world.broker.release(Call::Write);
    running.task.await.unwrap();
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
}
