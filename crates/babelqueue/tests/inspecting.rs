//! What an inspection tells of a delivery.

#![allow(clippy::unwrap_used)]

mod support;

use babelqueue::inspect::{Action, Behaviour, Finish, InspectOptions, Inspection, Reason, Verdict, inspect};
use babelqueue::{Body, Clock, Delivery, Destination, Properties};
use support::*;

fn delivery(body: impl Into<bytes::Bytes>, properties: Properties) -> Delivery {
    Delivery {
        body: Body::Bytes(body.into()),
        properties,
        redelivery_count: 0,
        queue: "orders".into(),
    }
}

fn options(change: impl FnOnce(&mut InspectOptions)) -> InspectOptions {
    let mut options = InspectOptions::default();
    options.handlers = vec![CREATED.into()];
    options.clock = Clock::Fixed(1_790_000_009_000);
    change(&mut options);
    options
}

async fn inspected(properties: &[(&str, &str)], options: InspectOptions) -> Inspection {
    inspect(delivery(body(CREATED), properties_of(properties)), &options)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_handled_message_is_acknowledged_without_a_hook() {
    let inspection = inspected(&[], options(|_| {})).await;
    assert_eq!(
        (inspection.verdict, inspection.action),
        (Verdict::Handle, Action::Ack)
    );
    assert_eq!(
        (
            inspection.route.as_deref(),
            inspection.attempts,
            inspection.counted
        ),
        (Some(CREATED), Some(0), Some(1))
    );
    assert!(inspection.hooks.is_empty() && !inspection.dropped());
}

#[tokio::test]
async fn a_failing_handler_is_retried_and_its_cause_told() {
    let inspection = inspected(&[], options(|options| options.handler = Behaviour::Fail)).await;
    assert_eq!(
        (inspection.verdict, inspection.reason),
        (Verdict::Retry, Some(Reason::Failed))
    );
    assert_eq!(
        (inspection.hooks, inspection.on_error_envelope),
        (vec!["on_error"], Some(true))
    );
    assert_eq!(inspection.published.unwrap().target, Destination::WorkTopic);
    assert_eq!(inspection.cause.as_deref(), Some("handler failed"));
}

#[tokio::test]
async fn a_failure_without_a_retry_producer_is_given_back() {
    let options = options(|options| (options.handler, options.retry) = (Behaviour::Panic, false));
    let inspection = inspected(&[], options).await;
    assert_eq!(
        (inspection.verdict, inspection.finish),
        (Verdict::Nack, Finish::Nack)
    );
}

#[tokio::test]
async fn a_gated_message_has_no_route_and_no_count() {
    let inspection = inspected(&[("bq-schema-version", "2")], options(|_| {})).await;
    assert_eq!(
        (inspection.verdict, inspection.action),
        (Verdict::Gated, Action::DeadLetter)
    );
    assert_eq!(
        (inspection.route, inspection.attempts, inspection.counted),
        (None, None, None)
    );
    assert_eq!(inspection.on_error_envelope, Some(false));
}

#[tokio::test]
async fn a_gated_message_without_a_dead_letter_producer_is_dropped() {
    let inspection = inspected(
        &[("bq-schema-version", "2")],
        options(|options| options.dead_letter = false),
    )
    .await;
    assert_eq!(inspection.verdict, Verdict::Gated);
    assert!(inspection.dropped());
}

#[tokio::test]
async fn hooks_are_told_in_the_order_of_their_calls() {
    let options = options(|options| {
        options.on_unknown_urn = Some(Behaviour::Ok);
        options.on_routing_mismatch = Behaviour::Fail;
    });
    let inspection = inspected(&[("bq-job", PAID)], options).await;
    assert_eq!(inspection.verdict, Verdict::UnknownHook);
    assert_eq!(inspection.hooks, ["on_routing_mismatch", "on_unknown_urn"]);
    assert_eq!(inspection.mismatch, Some((PAID.into(), CREATED.into())));
}

#[tokio::test]
async fn options_that_build_no_consumer_are_an_error() {
    let options = options(|options| options.max_attempts = 0);
    assert!(
        inspect(delivery("{}", Properties::new()), &options)
            .await
            .is_err()
    );
}
