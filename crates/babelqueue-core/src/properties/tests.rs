use super::*;

fn pairs(properties: &Properties) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    properties
        .iter()
        .map(|(key, value)| (text(key), text(value)))
        .collect()
}

fn envelope(body: &'static str) -> Envelope {
    Envelope::decode(&Bytes::from_static(body.as_bytes())).unwrap()
}

#[test]
fn the_last_duplicate_counts_and_setting_leaves_one_in_the_first_place() {
    let pair = |key: &'static str, value: &'static str| (Bytes::from(key), Bytes::from(value));
    let mut properties = Properties::from_pairs(vec![
        pair("a", "1"),
        pair("b", "2"),
        pair("a", "3"),
        pair("a", "4"),
    ]);
    assert_eq!(properties.get("a"), Some(b"4".as_slice()));
    properties.set("a", "5");
    assert_eq!(
        pairs(&properties),
        [("a".into(), "5".into()), ("b".into(), "2".into())]
    );
    properties.set("c", "6");
    assert_eq!(properties.len(), 3);
}

#[test]
fn an_envelope_projects_what_it_has() {
    let full = envelope(
        r#"{"job":"urn:babel:lab:a","trace_id":"t","meta":{"id":"m","lang":"go","schema_version":1},"attempts":4}"#,
    );
    let expected = [
        ("bq-job", "urn:babel:lab:a"),
        ("bq-trace-id", "t"),
        ("bq-message-id", "m"),
        ("bq-schema-version", "1"),
        ("bq-source-lang", "go"),
        ("bq-attempts", "4"),
    ];
    assert_eq!(
        pairs(&Properties::project(&full)),
        expected.map(|(key, value)| (key.into(), value.into()))
    );
    let bare = envelope(r#"{"job":"urn:babel:lab:a","trace_id":""}"#);
    assert_eq!(Properties::project(&bare).len(), 2);
}

#[test]
fn a_property_of_ours_that_is_not_utf8_is_absent_with_a_warning() {
    let mut properties = Properties::new();
    properties.set(JOB, b"\xff".as_slice());
    properties.set("foreign", b"\xff".as_slice());
    assert_eq!(properties.text(JOB), None);
    assert_eq!(
        properties
            .warnings()
            .map(|warning| warning.pointer())
            .collect::<Vec<_>>(),
        [JOB]
    );
}

#[test]
fn values_are_not_shown_by_debug() {
    let mut properties = Properties::new();
    properties.set("tenant", "Ada");
    assert_eq!(format!("{properties:?}"), r#"[b"tenant"]"#);
}
