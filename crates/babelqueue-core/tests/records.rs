//! Whole deliveries and the exact records they become.

#![allow(clippy::unwrap_used)]

use babelqueue_core::{
    Basis, Body, Cause, Delivery, Destination, Outgoing, Plan, Policy, Properties, Record, Refusal,
    Settlement, Target, Verdict, Why, Work, conclude, oversized, plan, properties, refuse,
};
use bytes::Bytes;

const NOW: i64 = 1_790_000_009_000;

const SAMPLE: &str = concat!(
    r#"{"urn":"urn:babel:lab:sample.taken","trace_id":"t-1","data":{"n":1},"meta":{"id":"m-1","queue":"samples","#,
    r#""lang":"go","schema_version":1,"created_at":1790000000000,"ts":3},"attempts":0}"#
);

const INCOMING: [(&str, &str); 4] = [
    ("bq-job", "urn:babel:lab:sample.moved"),
    ("bq-attempts", "1"),
    ("bq-delay", "500"),
    ("traceparent", "00-ab"),
];

fn delivery(body: &str, pairs: &[(&str, &str)]) -> Delivery {
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    Delivery {
        body: Body::Bytes(bytes(body)),
        properties: Properties::from_pairs(
            pairs
                .iter()
                .map(|(key, value)| (bytes(key), bytes(value)))
                .collect(),
        ),
        redelivery_count: 0,
        queue: "samples".into(),
    }
}

fn policy() -> Policy {
    Policy {
        max_attempts: 3,
        dead_letter: true,
        retry: true,
        unknown_urn_hook: false,
    }
}

fn work(delivery: &Delivery) -> Work {
    match plan(delivery, &policy(), |urn| urn == "urn:babel:lab:sample.moved") {
        Plan::Dispatch(work) => work,
        Plan::Refuse(refusal) => panic!("refused: {refusal:?}"),
    }
}

fn refusal(delivery: &Delivery) -> Refusal {
    match plan(delivery, &policy(), |_| true) {
        Plan::Refuse(refusal) => refusal,
        Plan::Dispatch(_) => panic!("dispatched"),
    }
}

fn failed() -> Verdict {
    Verdict::Failed(Cause {
        error: "probe offline".to_owned(),
        exception: None,
    })
}

fn published(settlement: Settlement) -> Outgoing {
    match settlement {
        Settlement::Publish(outgoing) => outgoing,
        other => panic!("not published: {other:?}"),
    }
}

fn assert_pairs(outgoing: &Outgoing, expected: &[(&str, &str)]) {
    let expected: Vec<(&[u8], &[u8])> = expected
        .iter()
        .map(|(key, value)| (key.as_bytes(), value.as_bytes()))
        .collect();
    assert_eq!(outgoing.properties.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_property_routes_and_the_handler_sees_the_body() {
    let delivery = delivery(SAMPLE, &INCOMING);
    let work = work(&delivery);
    assert_eq!(work.route(), "urn:babel:lab:sample.moved");
    assert_eq!(
        work.mismatch(),
        Some(("urn:babel:lab:sample.moved", "urn:babel:lab:sample.taken"))
    );
    assert_eq!(work.target(), Target::Handler);
    assert_eq!((work.attempts(), work.counted()), (1, 2));
    assert_eq!(work.envelope().urn(), "urn:babel:lab:sample.taken");
    assert_eq!(
        work.envelope()
            .warnings()
            .map(|warning| warning.pointer())
            .collect::<Vec<_>>(),
        ["/meta/ts"]
    );
}

#[test]
fn a_failure_below_the_cap_becomes_the_retry_record() {
    let delivery = delivery(SAMPLE, &INCOMING);
    let outgoing = published(conclude(&delivery, &work(&delivery), &failed(), &policy(), NOW));
    assert_eq!(
        (outgoing.target, outgoing.record),
        (Destination::WorkTopic, Record::Retry)
    );
    let expected = concat!(
        r#"{"job":"urn:babel:lab:sample.taken","trace_id":"t-1","data":{"n":1},"meta":{"id":"m-1","#,
        r#""queue":"samples","lang":"go","schema_version":1,"created_at":1790000000000},"attempts":2}"#
    );
    assert_eq!(outgoing.body, expected);
    let pairs = [
        ("bq-job", "urn:babel:lab:sample.moved"),
        ("bq-attempts", "2"),
        ("bq-delay", "500"),
        ("traceparent", "00-ab"),
        ("bq-trace-id", "t-1"),
        ("bq-message-id", "m-1"),
        ("bq-schema-version", "1"),
        ("bq-source-lang", "go"),
    ];
    assert_pairs(&outgoing, &pairs);
}

#[test]
fn a_failure_at_the_cap_becomes_the_dead_letter_record() {
    let first = delivery(SAMPLE, &INCOMING);
    let retry = published(conclude(&first, &work(&first), &failed(), &policy(), NOW));
    let second = Delivery {
        body: Body::Bytes(retry.body),
        properties: retry.properties,
        ..first
    };
    let outgoing = published(conclude(&second, &work(&second), &failed(), &policy(), NOW));
    assert_eq!(
        (outgoing.target, outgoing.record),
        (Destination::DeadLetter, Record::DeadLetter)
    );
    let expected = concat!(
        r#"{"job":"urn:babel:lab:sample.taken","trace_id":"t-1","data":{"n":1},"meta":{"id":"m-1","#,
        r#""queue":"samples","lang":"go","schema_version":1,"created_at":1790000000000},"attempts":3,"#,
        r#""dead_letter":{"reason":"failed","error":"probe offline","exception":null,"#,
        r#""failed_at":1790000009000,"original_queue":"samples","attempts":3,"lang":"rust"}}"#
    );
    assert_eq!(outgoing.body, expected);
    assert_eq!(
        outgoing.properties.get(properties::ATTEMPTS),
        Some(b"3".as_slice())
    );
    assert_eq!(outgoing.properties.len(), 8);
}

#[test]
fn a_gated_delivery_is_kept_byte_for_byte_without_being_read() {
    let mut pairs = INCOMING.to_vec();
    pairs.push(("bq-schema-version", "2"));
    for body in [SAMPLE, "not json"] {
        let delivery = delivery(body, &pairs);
        let outgoing = published(refuse(&delivery, &refusal(&delivery), &policy(), NOW));
        assert_eq!(
            (outgoing.target, outgoing.record),
            (Destination::DeadLetter, Record::Raw)
        );
        assert_eq!(outgoing.body, body);
        assert_pairs(&outgoing, &pairs);
    }
}

const POISON: [(&str, &str); 2] = [("bq-job", "urn:babel:lab:sample.moved"), ("bq-attempts", "1")];

#[test]
fn a_poison_delivery_becomes_a_record_with_its_properties_untouched() {
    let delivery = delivery(r#"{"trace_id":"t-1"}"#, &POISON);
    let outgoing = published(refuse(&delivery, &refusal(&delivery), &policy(), NOW));
    assert_eq!(
        (outgoing.target, outgoing.record),
        (Destination::DeadLetter, Record::Poison)
    );
    let expected = concat!(
        r#"{"trace_id":"t-1","dead_letter":{"reason":"poison","#,
        r#""error":"Undecodable BabelQueue body: no valid job or urn identity","exception":"BabelQueueError","#,
        r#""failed_at":1790000009000,"original_queue":"samples","attempts":2,"lang":"rust"}}"#
    );
    assert_eq!(outgoing.body, expected);
    assert_pairs(&outgoing, &POISON);
}

#[test]
fn poison_without_a_dead_letter_topic_is_counted_in_its_property_until_it_is_dropped() {
    let policy = Policy {
        dead_letter: false,
        ..policy()
    };
    let mut delivery = delivery(r#"{"trace_id":"t-1"}"#, &POISON);
    let outgoing = published(refuse(&delivery, &refusal(&delivery), &policy, NOW));
    assert_eq!(
        (outgoing.target, outgoing.record),
        (Destination::WorkTopic, Record::PoisonRetry)
    );
    assert_eq!(outgoing.body, r#"{"trace_id":"t-1"}"#);
    assert_pairs(
        &outgoing,
        &[("bq-job", "urn:babel:lab:sample.moved"), ("bq-attempts", "2")],
    );
    delivery.properties = outgoing.properties;
    let Settlement::Drop(dropped) = refuse(&delivery, &refusal(&delivery), &policy, NOW) else {
        panic!("not dropped");
    };
    assert_eq!(
        (dropped.why, dropped.counted, dropped.urn),
        (Why::Poison, 3, None)
    );
}

#[test]
fn a_poison_body_counts_its_last_attempts_when_its_root_is_an_object() {
    let rows = [
        (r#"{"attempts":1}"#, 2),
        (r#"{"attempts":9,"attempts":1}"#, 2),
        (r#"{"attempts":1,"attempts":null}"#, 1),
        (r#"{"attempts":1,"attempts":"x"}"#, 1),
        (r#"{"attempts":-4}"#, 1),
        (r#"{"attempts":1,"s":"\ud800"}"#, 2),
        (r#"{"job":"u","attempts":1,"trace_id":5}"#, 2),
        (r#"{"job":"u","attempts":1}"#, 2),
        (r#"{"attempts":1}]"#, 1),
        ("[1]", 1),
    ];
    for (body, counted) in rows {
        let Refusal::Poison(poison) = refusal(&delivery(body, &[])) else {
            panic!("gated")
        };
        assert_eq!(poison.counted(), counted, "{body}");
    }
}

#[test]
fn only_a_poison_body_that_decoded_has_an_envelope() {
    let Refusal::Poison(poison) = refusal(&delivery(r#"{"job":"u","attempts":0}"#, &[])) else {
        panic!("gated")
    };
    assert_eq!(poison.cause().rule(), "P8");
    assert_eq!(
        poison.cause().to_string(),
        "not an acceptable envelope: missing_meta"
    );
    assert_eq!(poison.envelope().unwrap().urn(), "u");
    let Refusal::Poison(poison) = refusal(&delivery("{}", &[])) else {
        panic!("gated")
    };
    assert!(poison.envelope().is_none());
}

#[test]
fn an_entry_that_could_not_be_decoded_is_poison_in_base64() {
    let mut delivery = delivery("", &POISON);
    delivery.body = Body::Undecodable {
        received: "{}".into(),
        cause: "corrupt lz4 block".to_owned(),
    };
    let refusal = refusal(&delivery);
    let outgoing = published(refuse(&delivery, &refusal, &policy(), NOW));
    let expected = concat!(
        r#"{"raw":"e30=","raw_encoding":"base64","dead_letter":{"reason":"poison","#,
        r#""error":"Undecodable BabelQueue body: the entry could not be decoded: corrupt lz4 block","#,
        r#""exception":"BabelQueueError","failed_at":1790000009000,"original_queue":"samples","#,
        r#""attempts":2,"lang":"rust"}}"#
    );
    assert_eq!(outgoing.body, expected);
    assert_pairs(&outgoing, &POISON);
    let policy = Policy {
        dead_letter: false,
        ..policy()
    };
    assert_eq!(published(refuse(&delivery, &refusal, &policy, NOW)).body, "{}");
}

#[test]
fn a_urn_that_nobody_handles_is_named_in_its_dead_letter() {
    let pairs = [("bq-job", " urn:babel:lab:other "), ("bq-attempts", "2")];
    let delivery = delivery(SAMPLE, &pairs);
    let work = work(&delivery);
    assert_eq!(
        (work.target(), work.route()),
        (Target::Nobody, "urn:babel:lab:other")
    );
    let outgoing = published(conclude(
        &delivery,
        &work,
        &Verdict::Failed(work.unknown_urn()),
        &policy(),
        NOW,
    ));
    let body = String::from_utf8(outgoing.body.to_vec()).unwrap();
    let block = concat!(
        r#""dead_letter":{"reason":"unknown_urn","error":"no handler for urn:babel:lab:other","#,
        r#""exception":"UnknownUrnError","#
    );
    assert!(body.contains(block), "{body}");
    assert_eq!(
        outgoing.properties.get(properties::JOB),
        Some(b" urn:babel:lab:other ".as_slice())
    );
}

#[test]
fn blank_and_unreadable_properties_are_filled_and_foreign_ones_kept() {
    let bytes = Bytes::from_static;
    let mut delivery = delivery(SAMPLE, &[]);
    delivery.properties = Properties::from_pairs(vec![
        (bytes(b"bq-trace-id"), bytes(b" \t")),
        (bytes(b"\xff"), bytes(b"\xfe")),
        (bytes(b"bq-job"), bytes(b"\xff")),
        (bytes(b"bq-attempts"), bytes(b"\xff")),
        (bytes(b"x"), bytes(b"1")),
        (bytes(b"x"), bytes(b"2")),
    ]);
    let work = work(&delivery);
    assert_eq!(work.route(), "urn:babel:lab:sample.taken");
    assert_eq!(
        work.warnings()
            .map(|warning| warning.pointer())
            .collect::<Vec<_>>(),
        ["bq-job", "bq-attempts"]
    );
    let outgoing = published(conclude(&delivery, &work, &failed(), &policy(), NOW));
    let expected: [(&[u8], &[u8]); 9] = [
        (b"bq-trace-id", b"t-1"),
        (b"\xff", b"\xfe"),
        (b"bq-job", b"urn:babel:lab:sample.taken"),
        (b"bq-attempts", b"1"),
        (b"x", b"1"),
        (b"x", b"2"),
        (b"bq-message-id", b"m-1"),
        (b"bq-schema-version", b"1"),
        (b"bq-source-lang", b"go"),
    ];
    assert_eq!(outgoing.properties.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn attempts_follow_property_body_and_broker() {
    let rows = [
        (None, 0, 0, 0),
        (None, 5, 1, 5),
        (Some("4"), 9, 1, 4),
        (Some("4"), 9, 6, 6),
        (Some("+4"), 9, 1, 9),
        (Some(" 4"), 9, 1, 9),
        (Some("4.0"), 9, 1, 9),
        (Some(""), 9, 1, 9),
        (Some("2147483648"), 9, 1, 9),
        (Some("٤"), 9, 1, 9),
        (Some("2147483647"), 0, 0, 2_147_483_647),
        (None, -5, 0, 0),
    ];
    for (property, body, redelivery_count, reconciled) in rows {
        let body = SAMPLE.replace(r#""attempts":0"#, &format!(r#""attempts":{body}"#));
        let pairs: Vec<_> = property.map(|value| ("bq-attempts", value)).into_iter().collect();
        let work = work(&Delivery {
            redelivery_count,
            ..delivery(&body, &pairs)
        });
        assert_eq!(
            (work.attempts(), work.counted()),
            (reconciled, reconciled + 1),
            "{property:?}"
        );
    }
}

fn again(delivery: &Delivery, outgoing: &Outgoing, basis: Basis<'_>, policy: &Policy) -> Option<Settlement> {
    oversized(delivery, outgoing, basis, policy, NOW)
}

#[test]
fn a_dead_letter_record_that_is_too_large_goes_as_it_was_received() {
    let mut pairs = INCOMING;
    pairs[1].1 = "2";
    let delivery = delivery(SAMPLE, &pairs);
    let work = work(&delivery);
    let verdict = failed();
    let basis = Basis::Concluded(&work, &verdict);
    let outgoing = published(conclude(&delivery, &work, &verdict, &policy(), NOW));
    let raw = published(again(&delivery, &outgoing, basis, &policy()).unwrap());
    assert_eq!((raw.target, raw.record), (Destination::DeadLetter, Record::Raw));
    assert_eq!(raw.body, SAMPLE);
    let mut expected = pairs.to_vec();
    expected.push(("bq-dead-letter-reason", "failed"));
    assert_pairs(&raw, &expected);
    assert!(again(&delivery, &raw, basis, &policy()).is_none());
}

#[test]
fn a_poison_record_that_is_too_large_goes_as_it_was_received() {
    let delivery = delivery("\u{1}", &POISON);
    let refusal = refusal(&delivery);
    let basis = Basis::Refused(&refusal);
    let outgoing = published(refuse(&delivery, &refusal, &policy(), NOW));
    let raw = published(again(&delivery, &outgoing, basis, &policy()).unwrap());
    assert_eq!(raw.body, "\u{1}");
    assert_eq!(
        raw.properties.get(properties::DEAD_LETTER_REASON),
        Some(b"poison".as_slice())
    );
    assert!(again(&delivery, &raw, basis, &policy()).is_none());
}

#[test]
fn a_gated_delivery_that_is_too_large_has_nothing_smaller() {
    let delivery = delivery(SAMPLE, &[("bq-schema-version", "2")]);
    let refusal = refusal(&delivery);
    let outgoing = published(refuse(&delivery, &refusal, &policy(), NOW));
    assert!(again(&delivery, &outgoing, Basis::Refused(&refusal), &policy()).is_none());
}

#[test]
fn a_retry_that_is_too_large_goes_without_what_was_filled_in_and_is_then_exhausted() {
    let delivery = delivery(SAMPLE, &INCOMING);
    let work = work(&delivery);
    let verdict = failed();
    let basis = Basis::Concluded(&work, &verdict);
    let outgoing = published(conclude(&delivery, &work, &verdict, &policy(), NOW));
    let smaller = published(again(&delivery, &outgoing, basis, &policy()).unwrap());
    assert_eq!((smaller.record, &smaller.body), (Record::Retry, &outgoing.body));
    let mut expected = INCOMING;
    expected[1].1 = "2";
    assert_pairs(&smaller, &expected);
    let last = published(again(&delivery, &smaller, basis, &policy()).unwrap());
    assert_eq!(last.record, Record::DeadLetter);
    let without = Policy {
        dead_letter: false,
        ..policy()
    };
    let Some(Settlement::Drop(dropped)) = again(&delivery, &smaller, basis, &without) else {
        panic!("not dropped");
    };
    assert_eq!(
        (dropped.why, dropped.message_id.as_deref()),
        (Why::Failed, Some("m-1"))
    );
    assert_eq!(dropped.urn.as_deref(), Some("urn:babel:lab:sample.moved"));
}

#[test]
fn a_poison_retry_that_is_too_large_is_exhausted() {
    let delivery = delivery("{}", &[]);
    let policy = Policy {
        dead_letter: false,
        ..policy()
    };
    let refusal = refusal(&delivery);
    let outgoing = published(refuse(&delivery, &refusal, &policy, NOW));
    let settlement = again(&delivery, &outgoing, Basis::Refused(&refusal), &policy);
    assert!(matches!(settlement, Some(Settlement::Drop(dropped)) if dropped.why == Why::Poison));
}
