use super::super::{shape, trim};
use super::*;

fn is_json(text: &str) -> bool {
    shape(text.as_bytes()).is_ok()
}

#[test]
fn what_rfc_8259_allows_is_read() {
    let values = [
        "0",
        "-0",
        "10",
        "1.5",
        "1e5",
        "1E+5",
        "1e-5",
        "-1.25e10",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[1,2]",
        "[[],{}]",
        " [ 1 , {\"a\" : [ ] } ] ",
        r#""\"\\\/\b\f\n\r\t\u00e9""#,
        "\"\u{7f}é☂😀\"",
    ];
    for value in values {
        assert!(is_json(value), "{value}");
    }
}

#[test]
fn what_rfc_8259_forbids_is_not_read() {
    let values = [
        "",
        " ",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "0x1",
        "tru",
        "nulls",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{1:2}",
        "{\"a\" 1}",
        "[1}",
        "{\"a\":1]",
        "[1 2]",
        "\"",
        "\"a",
        "\"\\",
        "\"\\u",
        "\"\\u12",
        "\"\\u12g4\"",
        "\"\\x\"",
        "\"\n\"",
        "'a'",
        "1 2",
        "{}{}",
        "\u{feff}{}",
        "NaN",
        "/**/1",
        "\u{a0}1",
        "[\"a\":1]",
        "}",
        ",",
        ":",
    ];
    for value in values {
        assert!(!is_json(value), "{value:?}");
    }
}

#[test]
fn a_string_ends_at_its_quote_wherever_that_lies_in_a_chunk() {
    for filler in ["a", "é", "\u{7f}", "😀", "!", "]"] {
        for count in 0..40 {
            let inner = filler.repeat(count);
            let text = format!("\"{inner}\"");
            let mut scanner = Scanner::new(text.as_bytes());
            let string = scanner.string().unwrap();
            assert_eq!(string.span.of(text.as_bytes()), inner.as_bytes());
            assert!(!string.escaped);
            assert!(!is_json(&format!("\"{inner}\u{1f}aaaaaaaa\"")), "{count}");
            assert!(is_json(&format!("\"{inner}\\\"{inner}\"")), "{count}");
            assert!(
                shape(&[b"\"", inner.as_bytes(), b"\x80\""].concat()).is_err(),
                "{count}"
            );
        }
    }
}

#[test]
fn brackets_are_told_apart_beyond_a_word_of_bits() {
    for depth in [63, 64, 65, 127, 128, 129, 300] {
        let open: String = (0..depth)
            .map(|level| if level % 3 == 0 { "{\"a\":" } else { "[" })
            .collect();
        let close: String = (0..depth)
            .rev()
            .map(|level| if level % 3 == 0 { '}' } else { ']' })
            .collect();
        assert_eq!(shape(format!("{open}1{close}").as_bytes()).unwrap().depth, depth);
        let wrong = close.replacen(['}', ']'], "?", depth / 2 + 1);
        assert!(!is_json(&format!("{open}1{wrong}")));
        for at in [0, depth / 2, depth - 1] {
            let mut swapped: Vec<char> = close.chars().collect();
            swapped[at] = if swapped[at] == '}' { ']' } else { '}' };
            assert!(
                !is_json(&format!("{open}1{}", swapped.into_iter().collect::<String>())),
                "{depth} {at}"
            );
        }
    }
}

#[test]
fn millions_of_open_brackets_are_only_an_error() {
    assert_eq!(shape(&[b'['; 5_000_000]).unwrap_err().offset, 5_000_000);
}

#[test]
fn surrogate_escapes_pair_only_when_the_low_one_follows_at_once() {
    let lone = |text: &str| shape(text.as_bytes()).unwrap().lone_surrogate;
    assert!(!lone(r#""\ud83d\ude00""#));
    assert!(!lone(r#""\uD83D\uDE00\uD83D\uDE00""#));
    for text in [
        r#""\ud83d""#,
        r#""\ude00""#,
        r#""\ude00\ud83d""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\ud83dx\ude00""#,
        r#""\ud83d\n\ude00""#,
        r#"{"\ud83d":1}"#,
    ] {
        assert!(lone(text), "{text}");
    }
}

#[test]
fn escapes_are_resolved() {
    let text = unescape(br#"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z"#);
    assert_eq!(String::from_utf8(text).unwrap(), "a\"\\/\u{8}\u{c}\n\r\té😀z");
}

#[test]
fn numbers_are_finite_up_to_the_largest_double() {
    let infinite = |text: &str| shape(text.as_bytes()).unwrap().infinite;
    assert!(!infinite("1.7976931348623157e308"));
    assert!(!infinite(&"9".repeat(308)));
    assert!(!infinite("1e-400"));
    assert!(infinite("1e309"));
    assert!(infinite("-1e309"));
    assert!(infinite(&"9".repeat(309)));
    assert!(!infinite(&format!("1{}", "0".repeat(308))));
}

#[test]
fn only_json_whitespace_is_trimmed() {
    assert_eq!(trim(b" \t\r\n\x0bx \n"), b"\x0bx");
}
