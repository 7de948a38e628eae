use std::collections::BTreeMap;

use serde::Serialize;

use super::*;

fn json<T: Serialize>(value: &T) -> String {
    Data::from_serialize(value).unwrap().as_json().to_owned()
}

fn refusal<T: Serialize>(value: &T) -> Kind {
    Data::from_serialize(value).unwrap_err().kind()
}

#[test]
fn structs_and_maps_keep_their_order() {
    #[derive(Serialize)]
    struct Order<'a> {
        order_id: u64,
        note: Option<&'a str>,
        lines: Vec<(char, i8)>,
        unit: (),
    }
    let order = Order {
        order_id: u64::MAX,
        note: None,
        lines: vec![('a', -1), ('"', 2)],
        unit: (),
    };
    assert_eq!(
        json(&order),
        r#"{"order_id":18446744073709551615,"note":null,"lines":[["a",-1],["\"",2]],"unit":null}"#
    );
}

#[test]
fn floats_keep_their_kind_and_their_shortest_text() {
    assert_eq!(
        json(&[2.0, 0.25, -0.0, 1e16, 5e-324, 0.1]),
        "[2.0,0.25,-0.0,1e16,5e-324,0.1]"
    );
    assert_eq!(json(&0.1f32), "0.1");
}

#[test]
fn wide_integers_are_exact() {
    assert_eq!(json(&i128::MIN), i128::MIN.to_string());
    assert_eq!(json(&u128::MAX), u128::MAX.to_string());
}

#[test]
fn a_number_that_is_not_finite_is_refused_wherever_it_is() {
    assert_eq!(refusal(&f64::NAN), Kind::NonFiniteNumber);
    assert_eq!(refusal(&[f32::INFINITY]), Kind::NonFiniteNumber);
    assert_eq!(
        refusal(&BTreeMap::from([("a", Some(f64::NEG_INFINITY))])),
        Kind::NonFiniteNumber
    );
    assert_eq!(
        Data::from_json("[1e400]").unwrap_err().kind(),
        Kind::NonFiniteNumber
    );
}

#[test]
fn variants_are_tagged_from_outside() {
    #[derive(Serialize)]
    enum Payment {
        Cash,
        Card(u8),
        Split(u8, u8),
        Transfer { iban: &'static str },
    }
    let all = (
        Payment::Cash,
        Payment::Card(1),
        Payment::Split(1, 2),
        Payment::Transfer { iban: "x" },
    );
    assert_eq!(
        json(&all),
        r#"["Cash",{"Card":1},{"Split":[1,2]},{"Transfer":{"iban":"x"}}]"#
    );
}

#[test]
fn map_keys_are_text() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Key {
        Net,
    }
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Name(&'static str);
    assert_eq!(json(&BTreeMap::from([(Key::Net, 1)])), r#"{"Net":1}"#);
    assert_eq!(json(&BTreeMap::from([(Name("a\n"), 1)])), r#"{"a\n":1}"#);
    assert_eq!(json(&BTreeMap::from([('c', 1)])), r#"{"c":1}"#);
    let error = Data::from_serialize(&BTreeMap::from([(7, 1)])).unwrap_err();
    assert_eq!(error.kind(), Kind::DataUnserializable);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "map keys must be strings, characters or unit variants");
    assert_eq!(refusal(&BTreeMap::from([(true, 1)])), Kind::DataUnserializable);
    assert_eq!(refusal(&BTreeMap::from([(vec![1], 1)])), Kind::DataUnserializable);
}

/// Serializes as serde_json's carriers of verbatim text do.
struct Carrier(&'static str, &'static str);

impl Serialize for Carrier {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut carrier = serializer.serialize_struct(self.0, 1)?;
        carrier.serialize_field(self.0, self.1)?;
        carrier.end()
    }
}

#[test]
fn text_that_serde_json_carries_is_written_verbatim() {
    let raw = "$serde_json::private::RawValue";
    let number = "$serde_json::private::Number";
    assert_eq!(json(&[Carrier(raw, "{\"b\": 1.50}")]), "[{\"b\": 1.50}]");
    assert_eq!(
        json(&[Carrier(number, "12345678901234567890.50")]),
        "[12345678901234567890.50]"
    );
    assert_eq!(refusal(&Carrier(raw, "{")), Kind::NotJson);
    assert_eq!(refusal(&Carrier(raw, "[1e999]")), Kind::NonFiniteNumber);
    assert_eq!(refusal(&Carrier(number, "1e999")), Kind::NonFiniteNumber);
    assert_eq!(refusal(&Carrier(number, "\"x\"")), Kind::DataUnserializable);
}

#[test]
fn values_of_serde_json_are_written_like_any_other() {
    let value = serde_json::json!({"a": [1, 2.0, null, {"b": "é"}], "big": u64::MAX});
    assert_eq!(
        json(&value),
        r#"{"a":[1,2.0,null,{"b":"é"}],"big":18446744073709551615}"#
    );
}

#[test]
fn bytes_are_arrays_of_numbers() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 255])
        }
    }
    assert_eq!(json(&Bytes), "[0,255]");
}

#[test]
fn nesting_ends_at_what_consumers_read() {
    struct Nested(usize);
    impl Serialize for Nested {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                0 => serializer.serialize_unit(),
                depth => serializer.collect_seq([Self(depth - 1)]),
            }
        }
    }
    assert_eq!(Data::from_serialize(&Nested(512)).unwrap().depth(), 512);
    assert_eq!(refusal(&Nested(513)), Kind::TooDeep);
    assert_eq!(refusal(&Nested(1_000_000)), Kind::TooDeep);
}

#[test]
fn json_text_is_taken_as_it_is() {
    assert_eq!(
        Data::from_json(" {\"b\": 1.50, \"a\":1e2}\n").unwrap().as_json(),
        "{\"b\": 1.50, \"a\":1e2}"
    );
    for bad in ["", "{} {}", "\u{feff}{}", "{\"a\":\"\\ud800\"}"] {
        assert_eq!(Data::from_json(bad).unwrap_err().kind(), Kind::NotJson, "{bad}");
    }
    assert_eq!(Data::from_json(b"\"\xff\"").unwrap_err().kind(), Kind::NotJson);
}

#[test]
fn data_is_not_shown_by_debug() {
    assert!(!format!("{:?}", Data::from_json("{\"name\":\"Ada\"}").unwrap()).contains("Ada"));
}
