use super::super::{Reason, Restored, restore};
use super::*;

fn block() -> DeadLetter {
    DeadLetter::new(Reason::Poison, "lab", 1, 1_790_000_000_123).caused_by(
        "Undecodable BabelQueue body: no valid job or urn identity",
        Some("BabelQueueError".into()),
    )
}

#[test]
fn a_complete_record_has_all_seven_members() {
    let record = poison_record(br#"{"trace_id":"t"}"#, &block());
    let expected = concat!(
        r#"{"trace_id":"t","dead_letter":{"reason":"poison","#,
        r#""error":"Undecodable BabelQueue body: no valid job or urn identity","exception":"BabelQueueError","#,
        r#""failed_at":1790000000123,"original_queue":"lab","attempts":1,"lang":"rust"}}"#
    );
    assert_eq!(record, expected);
}

#[test]
fn a_block_without_a_cause_says_null() {
    let mut text = Vec::new();
    DeadLetter::new(Reason::Failed, "l\"b", 2, 5).put(&mut text);
    let expected = concat!(
        r#"{"reason":"failed","error":null,"exception":null,"failed_at":5,"#,
        r#""original_queue":"l\"b","attempts":2,"lang":"rust"}"#
    );
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn an_undecodable_entry_is_base64_even_when_it_is_text() {
    let record = undecodable_record(b"hi", &block());
    assert!(record.starts_with(br#"{"raw":"aGk=","raw_encoding":"base64","dead_letter":{"#));
    assert_eq!(restore(&record), Some(Restored::Wrapped("hi".into())));
}

#[test]
fn a_spliced_body_comes_back_byte_for_byte() {
    for body in [
        r#"{"a":1 , "b" : [ ] }"#,
        r#"{"a":1}"#,
        "{}",
        "{ \"raw\" : 7 }",
        r#"{"raw":"x","y":1}"#,
    ] {
        let record = poison_record(body.as_bytes(), &block());
        assert_eq!(restore(&record), Some(Restored::Object(body.into())), "{body}");
    }
}

#[test]
fn a_wrapped_body_comes_back_byte_for_byte() {
    let bodies: [&[u8]; 7] = [
        b"",
        b"null",
        b" [1] \n",
        b"\xff\xfe",
        "\u{feff}{}".as_bytes(),
        b"{\"dead_letter\":1}",
        b"\x00\x01\"\\",
    ];
    for body in bodies {
        let record = poison_record(body, &block());
        assert_eq!(
            restore(&record),
            Some(Restored::Wrapped(Bytes::from_static(body))),
            "{body:?}"
        );
    }
}

#[test]
fn a_block_anywhere_is_taken_out_with_one_comma() {
    let rows = [
        (r#" {"dead_letter":{}, "a":1} "#, r#"{ "a":1}"#),
        (r#"{"a":1 , "dead_letter" : {} , "b":2}"#, r#"{"a":1  , "b":2}"#),
        (r#"{ "dead_letter":1 }"#, "{  }"),
        (
            r#"{"dead_letter":1,"dead\u005fletter":2}"#,
            r#"{"dead_letter":1}"#,
        ),
    ];
    for (record, expected) in rows {
        assert_eq!(
            restore(record.as_bytes()),
            Some(Restored::Object(expected.into())),
            "{record}"
        );
    }
}

#[test]
fn what_has_no_block_is_no_record() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{"a":{"dead_letter":1}}"#,
        r#"{"raw":"x"}"#,
        "nope",
    ] {
        assert_eq!(restore(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn base64_that_cannot_be_read_leaves_the_object() {
    let record = br#"{"raw":"!","raw_encoding":"base64","dead_letter":{}}"#;
    let expected = r#"{"raw":"!","raw_encoding":"base64"}"#;
    assert_eq!(restore(record), Some(Restored::Object(expected.into())));
}
