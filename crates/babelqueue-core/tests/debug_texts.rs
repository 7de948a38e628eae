//! What `Debug` shows of everything that a delivery goes through: names and lengths, never content.

use std::fmt;

use babelqueue_core::dead_letter::restore;
use babelqueue_core::{
    Basis, Body, Cause, Data, Delivery, Envelope, NewEnvelope, Plan, Policy, Properties, Settlement, Verdict,
    conclude, oversized, plan, refuse,
};

const MARKER: &str = "s3cret";

fn assert_hides(value: &impl fmt::Debug) {
    let numbers = format!("{:?}", MARKER.as_bytes()).replace(['[', ']', ' '], "");
    for text in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!text.contains(MARKER), "{text}");
        let packed: String = text.split_whitespace().collect();
        assert!(!packed.contains(&numbers), "{text}");
    }
}

/// The marker is wherever the contract leaves room for what users put there.
fn body(version: u8) -> String {
    format!(
        r#"{{"job":"urn:babel:orders:created","trace_id":"t-1","data":{{"card":"{MARKER}"}},
            "meta":{{"id":"m-1","schema_version":{version},"ext":"{MARKER}"}},"attempts":2,"hint":"{MARKER}"}}"#
    )
}

fn delivery(body: Body) -> Delivery {
    let mut properties = Properties::new();
    properties.set("note", MARKER);
    Delivery {
        body,
        properties,
        redelivery_count: 0,
        queue: "orders".into(),
    }
}

fn policies() -> impl Iterator<Item = Policy> {
    [false, true].into_iter().flat_map(|dead_letter| {
        [1, 5].into_iter().flat_map(move |max_attempts| {
            [false, true].into_iter().map(move |retry| Policy {
                max_attempts,
                dead_letter,
                retry,
                unknown_urn_hook: false,
            })
        })
    })
}

fn assert_all_hide(delivery: &Delivery, policy: &Policy) {
    assert_hides(delivery);
    let plan = plan(delivery, policy, |_| true);
    assert_hides(&plan);
    match &plan {
        Plan::Dispatch(work) => {
            assert_hides(work.envelope());
            assert_hides(&work.envelope().meta());
            let verdict = Verdict::Failed(Cause {
                error: "no rate".to_owned(),
                exception: None,
            });
            let settlement = conclude(delivery, work, &verdict, policy, 5);
            assert_settlement_hides(delivery, settlement, Basis::Concluded(work, &verdict), policy);
        }
        Plan::Refuse(refusal) => {
            let settlement = refuse(delivery, refusal, policy, 5);
            assert_settlement_hides(delivery, settlement, Basis::Refused(refusal), policy);
        }
    }
}

fn assert_settlement_hides(
    delivery: &Delivery,
    mut settlement: Settlement,
    basis: Basis<'_>,
    policy: &Policy,
) {
    assert_hides(&basis);
    loop {
        assert_hides(&settlement);
        let Settlement::Publish(outgoing) = settlement else {
            return;
        };
        assert_hides(&restore(&outgoing.body));
        match oversized(delivery, &outgoing, basis, policy, 5) {
            Some(smaller) => settlement = smaller,
            None => return,
        }
    }
}

#[test]
fn a_delivery_hides_its_content_on_its_whole_way() {
    let undecodable = || Body::Undecodable {
        received: MARKER.into(),
        cause: "encrypted".to_owned(),
    };
    for policy in policies() {
        for body in [
            body(1),
            body(2),
            MARKER.to_owned(),
            format!(r#"{{"raw":"{MARKER}"}}"#),
        ] {
            assert_all_hide(&delivery(Body::Bytes(body.into())), &policy);
        }
        assert_all_hide(&delivery(undecodable()), &policy);
    }
}

#[test]
fn a_record_that_is_read_back_hides_its_content() {
    for record in [
        format!(r#"{{"a":"{MARKER}","dead_letter":null}}"#),
        format!(r#"{{"raw":"{MARKER}","dead_letter":null}}"#),
    ] {
        let restored = restore(record.as_bytes()).unwrap();
        assert_hides(&restored);
        assert!(format!("{restored:?}").contains("bytes)"), "{restored:?}");
    }
}

#[test]
fn data_and_what_is_made_of_it_hide_their_content() {
    let data = Data::from_json(format!(r#"{{"card":"{MARKER}"}}"#)).unwrap();
    assert_hides(&data);
    assert_hides(&NewEnvelope::new("urn:babel:orders:created", data.clone()).meta("ext", data));
}

#[test]
fn errors_hide_what_they_are_about() {
    for text in [
        MARKER.to_owned(),
        format!(r#"{{"job":"a","trace_id":{{"{MARKER}":1}}}}"#),
        format!(r#"{{"{MARKER}":"\ud800"}}"#),
    ] {
        assert_hides(&Envelope::decode(&text.clone().into()));
        assert_hides(&Data::from_json(text));
    }
    let envelope = Envelope::decode(&body(1).into()).unwrap();
    let mistyped = envelope
        .data::<std::collections::BTreeMap<String, u8>>()
        .unwrap_err();
    assert_hides(&mistyped);
}
