//! Hooks and handlers that fail (`pulsar-binding.md` section 7).

#![allow(clippy::unwrap_used)]

mod support;

use babelqueue::{Consumer, Failure};
use support::*;

async fn dead_letter_of(
    world: &World,
    consumer: Consumer<babelqueue::memory::MemoryTransport>,
) -> serde_json::Value {
    consumer.poll().await.unwrap();
    json(&world.only(DEAD))["dead_letter"].clone()
}

#[tokio::test]
async fn a_panicking_error_hook_changes_nothing() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let consumer = world
        .failing()
        .on_error(|_, _, _| panic!("hook"))
        .build(world.subscribe())
        .unwrap();
    assert_eq!(consumer.poll().await.unwrap(), 1);
    assert_eq!(
        world.left(),
        Left {
            work: 1,
            ..NOTHING_LEFT
        }
    );
}

#[tokio::test]
async fn a_panicking_mismatch_hook_is_swallowed() {
    let world = World::new();
    world.put(body(PAID), &[("bq-job", CREATED)]);
    let consumer = world
        .builder()
        .on_routing_mismatch(|_, _, _, _| panic!("hook"))
        .build(world.subscribe())
        .unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["handler 0"]);
    assert_eq!(world.left(), NOTHING_LEFT);
}

#[tokio::test]
async fn a_failing_hook_for_unknown_urns_is_a_failing_handler() {
    let world = World::new();
    world.put(body(PAID), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .on_unknown_urn(|_, _| async { Err(Failure::new("hook down")) });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(
        (&block["reason"], &block["error"]),
        (&"failed".into(), &"hook down".into())
    );
    assert_eq!(world.log(), ["on_error HandlerFailed 0 message"]);
}

#[tokio::test]
async fn a_panicking_hook_for_unknown_urns_is_a_failing_handler() {
    let world = World::new();
    world.put(body(PAID), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .on_unknown_urn(|_, _| async { panic!("hook down") });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(
        (&block["reason"], &block["error"]),
        (&"failed".into(), &"hook down".into())
    );
}

#[tokio::test]
async fn a_panic_text_becomes_the_cause() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .handler(CREATED, |_, _| async { panic!("no rate for {}", "EUR") });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(
        (&block["error"], &block["exception"]),
        (&"no rate for EUR".into(), &serde_json::Value::Null)
    );
}

#[tokio::test]
async fn a_panic_without_a_text_is_a_failure_too() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .handler(CREATED, |_, _| async { std::panic::panic_any(7_u8) });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "panic without a text");
}

#[tokio::test]
async fn a_handler_that_panics_before_its_first_await_is_a_failing_handler() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world.builder().max_attempts(1).handler(CREATED, |_, _| {
        if true {
            panic!("called");
        }
        async { Ok(()) }
    });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "called");
}

#[tokio::test]
async fn an_error_of_a_handler_is_named_with_its_type() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world.builder().max_attempts(1).handler(CREATED, |_, _| async {
        "x".parse::<u8>()?;
        Ok(())
    });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "invalid digit found in string");
    assert_eq!(block["exception"], "core::num::error::ParseIntError");
}

#[tokio::test]
async fn the_last_handler_of_a_urn_wins() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let second = world.clone();
    let consumer = world
        .builder()
        .handler(" urn:babel:orders:created\u{b}", move |_, _| {
            second.note("second");
            async { Ok(()) }
        })
        .build(world.subscribe())
        .unwrap();
    consumer.poll().await.unwrap();
    assert_eq!(world.log(), ["second"]);
}

/// Panics when it is dropped.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// A handler's future that ends at once and panics when it is dropped.
struct Trapped {
    _grenade: Grenade,
    answer: Option<Result<(), Failure>>,
}

impl Future for Trapped {
    type Output = Result<(), Failure>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::task::Poll::Ready(self.answer.take().unwrap())
    }
}

fn trapped(answer: Result<(), Failure>) -> Trapped {
    Trapped {
        _grenade: Grenade,
        answer: Some(answer),
    }
}

#[tokio::test]
async fn a_handler_whose_future_panics_when_it_is_dropped_is_a_failing_handler() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .handler(CREATED, |_, _| trapped(Ok(())));
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "dropped");
}

#[tokio::test]
async fn the_error_of_a_handler_counts_before_the_panic_of_its_drop() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .handler(CREATED, |_, _| trapped(Err(Failure::new("no rate"))));
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "no rate");
}

#[tokio::test]
async fn a_panic_whose_payload_panics_when_it_is_dropped_is_one_failure() {
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder = world
        .builder()
        .max_attempts(1)
        .handler(CREATED, |_, _| async { std::panic::panic_any(Grenade) })
        .on_error(|_, _, _| std::panic::panic_any(Grenade));
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "panic without a text");
}

#[tokio::test]
async fn a_data_type_that_panics_when_it_is_read_makes_a_failing_handler() {
    #[derive(Debug)]
    struct Broken;
    impl<'de> serde::Deserialize<'de> for Broken {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("cannot read");
        }
    }
    let world = World::new();
    world.put(body(CREATED), &[]);
    let builder =
        world
            .builder()
            .max_attempts(1)
            .handler(CREATED, |envelope: babelqueue::Envelope, _| async move {
                envelope.data::<Broken>()?;
                Ok(())
            });
    let block = dead_letter_of(&world, builder.build(world.subscribe()).unwrap()).await;
    assert_eq!(block["error"], "cannot read");
}
