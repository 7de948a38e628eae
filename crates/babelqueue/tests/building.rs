//! What no consumer can be built with (`pulsar-binding.md` section 3).

#![allow(clippy::unwrap_used)]

mod support;

use babelqueue::{BuildErrorKind, Consumer, Redelivery};
use support::*;

#[test]
fn attempts_must_be_at_least_one() {
    let error = Consumer::builder()
        .max_attempts(0)
        .build(World::new().subscribe())
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::InvalidMaxAttempts(0));
}

#[test]
fn attempts_must_fit_the_property() {
    let error = Consumer::builder()
        .max_attempts(1 << 31)
        .build(World::new().subscribe())
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::InvalidMaxAttempts(1 << 31));
    assert!(
        Consumer::builder()
            .max_attempts((1 << 31) - 1)
            .build(World::new().subscribe())
            .is_ok()
    );
}

#[test]
fn an_uncounted_redelivery_needs_a_retry_producer_even_for_one_attempt() {
    let transport = World::new()
        .subscribe()
        .redelivery(Redelivery::Rewind)
        .without_retry();
    let error = Consumer::builder().max_attempts(1).build(transport).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::RetryProducerRequired);
}

#[test]
fn a_counted_redelivery_needs_no_retry_producer() {
    assert!(
        Consumer::builder()
            .build(World::new().subscribe().without_retry())
            .is_ok()
    );
}

#[test]
fn a_consumer_without_handlers_is_allowed() {
    assert!(Consumer::builder().build(World::new().subscribe()).is_ok());
}

#[test]
fn a_blank_urn_cannot_be_registered() {
    let builder = Consumer::builder().handler(" \t\u{b}", |_, _| async { Ok(()) });
    let error = builder.build(World::new().subscribe()).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::BlankUrn);
}

#[test]
fn all_problems_are_reported_at_once_and_in_order() {
    let transport = World::new()
        .subscribe()
        .redelivery(Redelivery::Rewind)
        .without_retry();
    let builder = Consumer::builder()
        .max_attempts(0)
        .handler("", |_, _| async { Ok(()) });
    let error = builder.build(transport).unwrap_err();
    assert_eq!(
        error.problems(),
        [
            BuildErrorKind::InvalidMaxAttempts(0),
            BuildErrorKind::RetryProducerRequired,
            BuildErrorKind::BlankUrn
        ]
    );
}
