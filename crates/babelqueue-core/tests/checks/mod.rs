//! What must hold for any bytes at all. Used by the property tests, by the corpus replay and by
//! the fuzz targets.

#![allow(clippy::unwrap_used, unreachable_pub, dead_code)]

use babelqueue_core::dead_letter::{DeadLetter, Reason, Restored, poison_record, restore};
use babelqueue_core::{
    Body, DecodeErrorKind, Delivery, Envelope, Plan, Policy, Properties, Settlement, plan, refuse,
};
use bytes::Bytes;
use serde::de::IgnoredAny;

/// Decoding tells JSON from everything else, and what it returns can be written and read again.
pub fn decode(body: &[u8]) {
    let body = Bytes::copy_from_slice(body);
    match Envelope::decode(&body) {
        Ok(envelope) => writes_and_reads_the_same(&envelope),
        Err(error) => {
            let utf8 = std::str::from_utf8(&body).is_ok();
            let json = utf8 && serde_json::from_slice::<IgnoredAny>(&body).is_ok();
            assert_eq!(error.kind() == DecodeErrorKind::NotUtf8, !utf8);
            assert_eq!(error.kind() == DecodeErrorKind::NotJson, utf8 && !json);
        }
    }
    settles_once(body);
}

fn writes_and_reads_the_same(envelope: &Envelope) {
    let written = envelope.encode().unwrap();
    let again = Envelope::decode(&written).unwrap();
    assert_eq!(again.warnings().count(), 0);
    assert_eq!(again.job(), envelope.job());
    assert_eq!(again.trace_id(), envelope.trace_id());
    assert_eq!(again.data_json(), envelope.data_json());
    assert_eq!(again.attempts(), envelope.attempts());
    assert_eq!(again.meta().id(), envelope.meta().id());
    assert_eq!(again.dead_letter(), envelope.dead_letter());
    assert_eq!(again.accepts(), envelope.accepts());
    assert_eq!(again.encode().unwrap(), written);
}

/// Every body gets exactly one verdict, and a poison one is put aside at once.
fn settles_once(body: Bytes) {
    let accepted = Envelope::decode(&body).is_ok_and(|envelope| envelope.accepts().is_ok());
    let delivery = Delivery {
        body: Body::Bytes(body),
        properties: Properties::new(),
        redelivery_count: 2,
        queue: "lab".into(),
    };
    let policy = Policy {
        dead_letter: true,
        ..Policy::default()
    };
    match plan(&delivery, &policy, |_| true) {
        Plan::Dispatch(work) => assert!(accepted && work.attempts() >= 2),
        Plan::Refuse(refusal) => {
            assert!(!accepted);
            assert!(matches!(
                refuse(&delivery, &refusal, &policy, 1),
                Settlement::Publish(_)
            ));
        }
    }
}

/// A poison record is one JSON object, says why, and gives the body back.
pub fn poison(body: &[u8]) {
    let block = DeadLetter::new(Reason::Poison, "lab\u{1}", 1, 5).caused_by("\"why\"", None);
    let record = poison_record(body, &block);
    assert!(record.starts_with(b"{") && record.ends_with(b"\"lang\":\"rust\"}}"));
    serde_json::from_slice::<IgnoredAny>(&record).unwrap();
    match restore(&record).unwrap() {
        Restored::Object(object) => {
            let trimmed = body.trim_ascii();
            let empty = trimmed
                .strip_prefix(b"{")
                .and_then(|rest| rest.strip_suffix(b"}"));
            if empty.is_some_and(|inside| inside.trim_ascii().is_empty()) {
                assert_eq!(object, "{}");
            } else {
                assert_eq!(object, trimmed);
            }
        }
        Restored::Wrapped(wrapped) => {
            // A body that is itself `{"raw":…}` was spliced and cannot be told from a wrapped one.
            let start = body.trim_ascii().strip_suffix(b"}");
            let spliced = start.is_some_and(|start| start.starts_with(b"{") && record.starts_with(start));
            assert!(wrapped == body || spliced);
        }
    }
}
