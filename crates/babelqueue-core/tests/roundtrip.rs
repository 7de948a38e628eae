//! Properties that hold for every envelope and for any bytes.

#![allow(clippy::unwrap_used)]

mod checks;

use babelqueue_core::dead_letter::{DeadLetter, Reason, poison_record};
use babelqueue_core::{
    Body, Data, Delivery, Envelope, NewEnvelope, Plan, Policy, Properties, Stamp, plan, properties,
};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

/// A JSON value as text: numbers spelled as producers of other languages spell them, whitespace
/// and escapes now and then.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?",
        string(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(" , "))),
            object(inner),
        ]
    })
}

fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        prop::collection::vec(
            prop_oneof!["[a-zé☂]", Just("\\u00e9".to_owned()), Just("\\/".to_owned())],
            0..6
        )
        .prop_map(|parts| format!("\"{}\"", parts.concat())),
    ]
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec((string(), value), 0..4).prop_map(|members| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(name, value)| format!("{name} :{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// An acceptable body with its members in any order, and unknown ones among them.
fn body() -> impl Strategy<Value = String> {
    (
        string(),
        object(json()),
        any::<i64>(),
        object(json()),
        object(json()),
    )
        .prop_flat_map(|(trace_id, data, attempts, unknown, meta)| {
            let inner = |object: &str| object[1..object.len() - 1].to_owned();
            let mut members = vec![
                r#""job":"urn:babel:lab:a""#.to_owned(),
                format!("\"trace_id\":{trace_id}"),
                format!("\"data\":{data}"),
                format!("\"attempts\":{attempts}"),
                if inner(&meta).is_empty() {
                    r#""meta":{"schema_version":1}"#.to_owned()
                } else {
                    format!("\"meta\":{{{},\"schema_version\":1}}", inner(&meta))
                },
            ];
            if !inner(&unknown).is_empty() {
                members.push(inner(&unknown));
            }
            Just(members).prop_shuffle()
        })
        .prop_map(|members| format!(" {{{}}}\n", members.join(" ,\n")))
}

/// All values of a document, numbers by their text.
fn values(json: &[u8]) -> Value {
    let text = std::str::from_utf8(json).unwrap();
    let mut quoted = String::new();
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(character) = chars.next() {
        if in_string {
            quoted.push(character);
            match character {
                '\\' => quoted.extend(chars.next()),
                '"' => in_string = false,
                _ => {}
            }
        } else if character == '-' || character.is_ascii_digit() {
            quoted.push_str("\"#");
            quoted.push(character);
            while let Some(next) = chars.next_if(|next| next.is_ascii_alphanumeric() || "+-.".contains(*next))
            {
                quoted.push(next);
            }
            quoted.push('"');
        } else {
            in_string = character == '"';
            quoted.push(character);
        }
    }
    serde_json::from_str(&quoted).unwrap()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        "[\\[\\]{}\":,0-9a-z \\\\.eE+-]{0,48}".prop_map(String::into_bytes),
        body().prop_map(String::into_bytes),
        (body(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(body, index, byte)| {
            let mut body = body.into_bytes();
            let at = index.index(body.len());
            body[at] = byte;
            body
        }),
    ]
}

proptest! {
    #[test]
    fn decoding_and_encoding_keeps_every_value(body in body()) {
        let envelope = Envelope::decode(&Bytes::from(body.clone())).unwrap();
        prop_assert_eq!(values(&envelope.encode().unwrap()), values(body.as_bytes()));
    }

    #[test]
    fn a_new_envelope_carries_its_data_unchanged(data in object(json()), urn in "urn:[a-z:.]{1,20}") {
        let stamp = Stamp { message_id: [1; 16], trace_id: [2; 16], now_ms: 3 };
        let new = NewEnvelope::new(urn.clone(), Data::from_json(&data).unwrap()).build(&stamp).unwrap();
        let envelope = Envelope::decode(&new.encode().unwrap()).unwrap();
        prop_assert_eq!(envelope.data_json(), data);
        prop_assert_eq!(envelope.urn(), urn);
        prop_assert!(envelope.accepts().is_ok());
    }

    #[test]
    fn serialized_values_read_back_the_same(json in object(json())) {
        let value: Value = serde_json::from_str(&json).unwrap();
        let data = Data::from_serialize(&value).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(data.as_json()).unwrap(), value);
    }

    #[test]
    fn splicing_keeps_every_byte_but_outer_whitespace(object in object(json())) {
        prop_assume!(object.len() > 2 && !object.contains("dead_letter"));
        let record = poison_record(format!(" \n{object}\t").as_bytes(), &DeadLetter::new(Reason::Poison, "q", 1, 5));
        prop_assert!(record.starts_with(&object.as_bytes()[..object.len() - 1]));
        let begins = record[object.len() - 1..].starts_with(b",\"dead_letter\":{");
        prop_assert!(begins);
    }

    #[test]
    fn any_bytes_get_a_verdict(bytes in bytes()) {
        checks::decode(&bytes);
    }

    #[test]
    fn any_bytes_come_back_from_their_record(bytes in bytes()) {
        checks::poison(&bytes);
    }

    #[test]
    fn attempts_are_never_below_the_redelivery_count(
        body in any::<i64>(),
        property in prop::option::of("[0-9]{0,12}|[ -~]{0,6}"),
        redelivery_count in any::<u32>(),
    ) {
        let text = format!(
            r#"{{"job":"u","trace_id":"t","data":{{}},"meta":{{"schema_version":1}},"attempts":{body}}}"#
        );
        let mut incoming = Properties::new();
        if let Some(value) = property {
            incoming.set(properties::ATTEMPTS, value);
        }
        let delivery =
            Delivery { body: Body::Bytes(text.into()), properties: incoming, redelivery_count, queue: "q".into() };
        let Plan::Dispatch(work) = plan(&delivery, &Policy::default(), |_| true) else {
            return Err(TestCaseError::fail("refused"));
        };
        prop_assert!(work.attempts() >= redelivery_count.into());
        prop_assert!(work.counted() > work.attempts() || work.attempts() == i64::MAX);
    }
}
