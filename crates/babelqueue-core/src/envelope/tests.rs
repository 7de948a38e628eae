use super::*;
use crate::dead_letter::Reason;
use crate::{Data, DataErrorKind, DecodeErrorKind};

fn decode(body: &str) -> Envelope {
    Envelope::decode(&Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

fn encode(envelope: &Envelope) -> String {
    String::from_utf8(envelope.encode().unwrap().to_vec()).unwrap()
}

fn stamp() -> Stamp {
    Stamp {
        message_id: *b"\x0d\x9a\x7c\x52\x3f\x10\xfc\x1e\x0d\x55\x61\xa1\xb0\xc2\xd3\xe4",
        trace_id: [0xff; 16],
        now_ms: 1_790_000_000_123,
    }
}

fn data(json: &str) -> Data {
    Data::from_json(json).unwrap()
}

#[test]
fn a_new_envelope_is_written_in_canonical_order() {
    let sample = Data::from_json(
        "{\"label\":\"Größe/Maß ☂\",\"line\":\"a\\tb\\u0001\u{7f}\",\"count\":3,\"ratio\":0.25,\"tags\":[],\"opt\":null}",
    )
    .unwrap();
    let envelope = NewEnvelope::new(" urn:babel:lab:sample.taken\t", sample)
        .queue("lab")
        .trace_id("t-77")
        .meta("ext", data(r#"{"acme":{"tier":"gold"}}"#))
        .build(&stamp())
        .unwrap();
    let expected = "{\"job\":\"urn:babel:lab:sample.taken\",\"trace_id\":\"t-77\",\"data\":{\"label\":\"Größe/Maß ☂\",\
        \"line\":\"a\\tb\\u0001\u{7f}\",\"count\":3,\"ratio\":0.25,\"tags\":[],\"opt\":null},\
        \"meta\":{\"id\":\"0d9a7c52-3f10-4c1e-8d55-61a1b0c2d3e4\",\"queue\":\"lab\",\"lang\":\"rust\",\
        \"schema_version\":1,\"created_at\":1790000000123,\"ext\":{\"acme\":{\"tier\":\"gold\"}}},\"attempts\":0}";
    assert_eq!(encode(&envelope), expected);
    assert!(envelope.accepts().is_ok());
}

#[test]
fn the_text_of_a_new_envelope_is_what_encoding_writes() {
    for odd in ["plain", "quo\"te", "back\\slash\ttab", "Größe ☂", "\u{1}"] {
        let envelope = NewEnvelope::new(format!("urn:babel:{odd}:x"), data(r#"{"a":[1.50,"\u00e9"]}"#))
            .queue(odd)
            .trace_id(odd)
            .meta(odd, data(r#"{"b":1}"#))
            .build(&stamp())
            .unwrap();
        assert_eq!(envelope.encode().unwrap(), envelope.written(), "{odd}");
        assert_eq!(
            (envelope.meta().queue(), envelope.trace_id()),
            (odd, trim_urn(odd))
        );
        let again = decode(&encode(&envelope));
        assert_eq!(
            (again.urn(), again.meta().id()),
            (envelope.urn(), envelope.meta().id())
        );
        let changed = envelope.with_attempts(2);
        assert_eq!(changed.encode().unwrap(), changed.written(), "{odd}");
        assert_eq!(decode(&encode(&changed)).attempts(), 2);
    }
}

#[test]
fn what_is_not_given_has_a_default() {
    let envelope = NewEnvelope::new("u", Data::empty())
        .queue("")
        .trace_id(" \t")
        .build(&stamp())
        .unwrap();
    assert_eq!(envelope.meta().queue(), "default");
    assert_eq!(envelope.trace_id(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(envelope.data_json(), "{}");
}

#[test]
fn a_blank_urn_makes_no_envelope() {
    let error = NewEnvelope::new(" \n", Data::empty())
        .build(&stamp())
        .unwrap_err();
    assert_eq!(error.kind(), EnvelopeErrorKind::EmptyUrn);
}

#[test]
fn data_that_is_no_object_makes_no_envelope() {
    for json in ["[]", "null", "1", "\"{}\""] {
        let error = NewEnvelope::new("u", data(json)).build(&stamp()).unwrap_err();
        assert_eq!(error.kind(), EnvelopeErrorKind::DataNotObject, "{json}");
    }
}

#[test]
fn the_first_reserved_or_forbidden_meta_key_is_named() {
    let one = || data("1");
    let error = NewEnvelope::new("u", Data::empty())
        .meta("note", one())
        .meta("ts", one())
        .meta("id", one())
        .build(&stamp())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.pointer()),
        (EnvelopeErrorKind::EnvelopeKey, Some("/meta/ts"))
    );
    for key in [
        "id",
        "queue",
        "lang",
        "schema_version",
        "created_at",
        "max_retries",
        "attempts",
        "source",
    ] {
        assert!(
            NewEnvelope::new("u", Data::empty())
                .meta(key, one())
                .build(&stamp())
                .is_err(),
            "{key}"
        );
    }
}

#[test]
fn meta_keys_are_escaped_and_kept_in_order() {
    let envelope = NewEnvelope::new("u", Data::empty())
        .meta("b\"", data("1"))
        .meta("a", data("2"))
        .meta("b\"", data("3"))
        .build(&stamp())
        .unwrap();
    assert!(encode(&envelope).contains(r#","b\"":3,"a":2}"#));
    assert_eq!(envelope.meta().extension("b\""), Some("3"));
}

#[test]
fn data_nested_beyond_the_limit_makes_no_envelope() {
    let nested = |depth: usize| {
        data(&format!(
            "{{\"a\":{}{}}}",
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        ))
    };
    assert!(NewEnvelope::new("u", nested(511)).build(&stamp()).is_ok());
    let error = NewEnvelope::new("u", nested(512)).build(&stamp()).unwrap_err();
    assert_eq!(error.kind(), EnvelopeErrorKind::TooDeep);
    let error = NewEnvelope::new("u", Data::empty())
        .meta("x", nested(511))
        .build(&stamp())
        .unwrap_err();
    assert_eq!(error.kind(), EnvelopeErrorKind::TooDeep);
}

#[test]
fn forbidden_members_are_refused_in_a_fixed_order() {
    let mut envelope = decode(r#"{"job":"u"}"#);
    let order = [
        "/urn",
        "/meta/ts",
        "/meta/source",
        "/meta/attempts",
        "/meta/max_retries",
        "/timestamp",
    ];
    for pointer in order {
        envelope = envelope.with_member(pointer, "1").unwrap();
        let error = envelope.encode().unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (EnvelopeErrorKind::EnvelopeKey, Some(pointer))
        );
    }
}

#[test]
fn members_put_in_by_hand_are_written_after_the_others() {
    let envelope = decode(r#"{"job":"u","z":1}"#)
        .with_member("/a~1b", " [1] ")
        .and_then(|envelope| envelope.with_member("/meta/x", "1e400"))
        .and_then(|envelope| envelope.with_member("/z", "2"))
        .unwrap();
    assert_eq!(
        encode(&envelope),
        r#"{"job":"u","meta":{"x":1e400},"z":2,"a/b":[1]}"#
    );
    assert_eq!(envelope.member("a/b"), Some("[1]"));
}

#[test]
fn the_envelopes_own_members_cannot_be_put_in_by_hand() {
    let envelope = decode(r#"{"job":"u"}"#);
    for pointer in [
        "/job",
        "/data",
        "/meta",
        "/meta/id",
        "/dead_letter/x",
        "x",
        "/data/x",
    ] {
        let error = envelope.clone().with_member(pointer, "1").unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (EnvelopeErrorKind::EnvelopeKey, Some(pointer))
        );
    }
    assert_eq!(
        envelope.with_member("/x", "{").unwrap_err().kind(),
        EnvelopeErrorKind::NotJson
    );
}

#[test]
fn a_dead_letter_block_is_put_in_whole_and_nothing_else_changes() {
    let body = r#"{"job":"urn:babel:lab:a","trace_id":"t","data":{},"meta":{"schema_version":1},"attempts":3,"x":0}"#;
    let block = DeadLetter::new(Reason::Failed, "lab", 3, 1_790_000_000_456).caused_by("disk full", None);
    let before = decode(body);
    let after = before.clone().with_dead_letter(&block);
    let expected = concat!(
        r#"{"job":"urn:babel:lab:a","trace_id":"t","data":{},"meta":{"schema_version":1},"attempts":3,"#,
        r#""dead_letter":{"reason":"failed","error":"disk full","exception":null,"failed_at":1790000000456,"#,
        r#""original_queue":"lab","attempts":3,"lang":"rust"},"x":0}"#
    );
    assert_eq!(encode(&after), expected);
    assert_eq!(encode(&before), body);
    assert_eq!(after.dead_letter(), Some(block.clone()));
    let again = decode(r#"{"job":"u","dead_letter":{"reason":"bored","more":1}}"#).with_dead_letter(&block);
    assert_eq!(again.dead_letter(), Some(block));
    assert!(!encode(&again).contains("more"));
}

#[test]
fn a_rewritten_body_says_the_same_as_a_changed_envelope() {
    let envelope = decode(r#"{"job":"u","dead_letter":{"reason":"bored"},"attempts":1}"#);
    let block = DeadLetter::new(Reason::UnknownUrn, "lab", 2, 5);
    let changed = envelope.clone().with_attempts(2).with_dead_letter(&block);
    assert_eq!(envelope.rewritten(2, Some(&block)), changed.encode().unwrap());
    assert_eq!(
        envelope.rewritten(2, None),
        envelope.clone().with_attempts(2).encode().unwrap()
    );
}

#[test]
fn changing_a_clone_leaves_the_original() {
    let envelope = decode(r#"{"job":"u","attempts":1}"#);
    let changed = envelope.clone().with_attempts(i64::MAX);
    assert_eq!((envelope.attempts(), changed.attempts()), (1, i64::MAX));
}

#[test]
fn members_are_read_after_unescaping() {
    let envelope = decode(r#"{"job":"u","\u0061":[1, 2],"meta":{"\u0065xt":{"a":1},"id":"\u0031"}}"#);
    assert_eq!(envelope.member("a"), Some("[1, 2]"));
    assert_eq!(envelope.member("b"), None);
    assert_eq!(envelope.meta().extension("ext"), Some("{\"a\":1}"));
    assert_eq!(envelope.meta().id(), "1");
}

#[test]
fn data_is_read_as_the_handlers_type() {
    let envelope = decode(r#"{"job":"u","data":{"order_id":1042}}"#);
    let data: std::collections::BTreeMap<String, u64> = envelope.data().unwrap();
    assert_eq!(data["order_id"], 1042);
    assert_eq!(
        envelope.data::<Vec<u8>>().unwrap_err().kind(),
        DataErrorKind::Mismatch
    );
    assert_eq!(
        decode(r#"{"job":"u"}"#).data::<()>().unwrap_err().kind(),
        DataErrorKind::Absent
    );
}

#[test]
fn an_error_of_data_names_the_place_and_the_expected_type_and_no_content() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Order {
        id: u64,
        size: Option<Size>,
        address: Option<std::net::IpAddr>,
    }
    #[derive(Debug, serde::Deserialize)]
    enum Size {
        Small,
    }
    let rows = [
        (
            r#"{"id":"secret, expected \"secret"}"#,
            "invalid type: string, expected u64 at line 1 column 33",
        ),
        (
            r#"{"id":-777}"#,
            "invalid value: integer, expected u64 at line 1 column 10",
        ),
        (
            r#"{"id":null}"#,
            "invalid type: null, expected u64 at line 1 column 10",
        ),
        ("{}", "missing field `id` at line 1 column 2"),
        (
            r#"{"id":1,"secret":1}"#,
            "unknown field, expected one of `id`, `size`, `address` at line 1 column 16",
        ),
        (
            r#"{"id":1,"size":"secret"}"#,
            "unknown variant, expected `Small` at line 1 column 23",
        ),
        (
            r#"{"id":1,"address":"secret"}"#,
            "a value that the type refuses at line 1 column 26",
        ),
    ];
    for (data, what) in rows {
        let error = decode(&format!(r#"{{"job":"u","data":{data}}}"#))
            .data::<Order>()
            .unwrap_err();
        let expected = format!("the data is not of the type that the handler reads: {what}");
        assert_eq!(error.to_string(), expected);
        assert!(std::error::Error::source(&error).is_none());
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[test]
fn a_double_is_read_exactly() {
    let envelope = decode(r#"{"job":"u","data":{"ratio":117.63331139400017,"big":167250414.84124086E31}}"#);
    let data: std::collections::BTreeMap<String, f64> = envelope.data().unwrap();
    let exact = ["117.63331139400017", "167250414.84124086E31"].map(|text| text.parse::<f64>().unwrap());
    assert_eq!([data["ratio"], data["big"]], exact);
}

#[test]
fn data_as_deep_as_the_limit_is_read() {
    let body = format!(
        r#"{{"job":"u","data":{{"a":{}{}}}}}"#,
        "[".repeat(510),
        "]".repeat(510)
    );
    assert!(decode(&body).data::<serde_json::Value>().is_ok());
}

#[test]
fn many_unknown_members_keep_their_order_and_their_last_value() {
    let members: Vec<String> = (0..1000)
        .map(|index| format!("\"k{}\":{index}", index % 300))
        .collect();
    let envelope = decode(&format!("{{\"job\":\"u\",{}}}", members.join(",")));
    let kept: Vec<String> = (0..300)
        .map(|key| format!("\"k{key}\":{}", if key < 100 { key + 900 } else { key + 600 }))
        .collect();
    assert_eq!(encode(&envelope), format!("{{\"job\":\"u\",{}}}", kept.join(",")));
}

#[test]
fn a_decode_error_names_the_place_and_no_content() {
    let error = Envelope::decode(&Bytes::from_static(br#"{"job":"secret",}"#)).unwrap_err();
    assert_eq!(
        (error.kind(), error.offset()),
        (DecodeErrorKind::NotJson, Some(16))
    );
    assert_eq!(
        error.to_string(),
        "not exactly one JSON value: a member name expected at byte 16"
    );
    let error = Envelope::decode(&Bytes::from_static(br#"{"job":"u","meta":{"id":5}}"#)).unwrap_err();
    assert_eq!(error.to_string(), "/meta/id is not a string");
    let error = Envelope::decode(&Bytes::from_static(b"{}\xff")).unwrap_err();
    assert_eq!(error.to_string(), "not valid UTF-8 at byte 2");
}

#[test]
fn data_is_not_shown_by_debug() {
    let envelope = decode(r#"{"job":"u","data":{"name":"Ada"},"note":"Ada"}"#);
    assert!(!format!("{envelope:?}").contains("Ada"));
}
