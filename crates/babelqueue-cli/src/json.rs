//! JSON texts as texts: what goes through a number type may come out as another number.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The text without the white space between its tokens, so that it fits on one line.
pub(crate) fn compact(json: &str) -> String {
    let mut compacted = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in json.chars() {
        if in_string || !matches!(character, ' ' | '\t' | '\r' | '\n') {
            compacted.push(character);
        }
        match character {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = character == '\\' && !escaped;
    }
    compacted
}

/// Whether two JSON texts are the same value: members in any order, numbers digit by digit as decimals,
/// and an integer never the same as a fraction.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    match (a.chars().next(), b.chars().next()) {
        (Some('{'), Some('{')) => match (members(a), members(b)) {
            (Some(a), Some(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(&b)
                        .all(|((name, value), (other, with))| name == other && same(value.get(), with.get()))
            }
            _ => false,
        },
        (Some('['), Some('[')) => match (elements(a), elements(b)) {
            (Some(a), Some(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(&b)
                        .all(|(value, with)| same(value.get(), with.get()))
            }
            _ => false,
        },
        (Some('"'), Some('"')) => match (string(a), string(b)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        },
        (Some('-' | '0'..='9'), Some('-' | '0'..='9')) => {
            is_integer(a) == is_integer(b) && Decimal::new(a) == Decimal::new(b)
        }
        _ => a == b,
    }
}

/// The text of the value at an RFC 6901 pointer.
pub(crate) fn at<'a>(json: &'a str, pointer: &str) -> Option<&'a str> {
    if pointer.is_empty() {
        return Some(json.trim());
    }
    let mut value = json.trim();
    for token in pointer.strip_prefix('/')?.split('/') {
        let name = token.replace("~1", "/").replace("~0", "~");
        value = match value.chars().next()? {
            '{' => members(value)?.get(&name)?.get(),
            '[' => elements(value)?.get(name.parse::<usize>().ok()?)?.get(),
            _ => return None,
        };
    }
    Some(value)
}

/// The members of an object; the last one of a name counts.
pub(crate) fn members(json: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(json).ok()
}

fn elements(json: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json).ok()
}

fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

fn is_integer(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
}

/// A number as its digits without zeros at either end, and the power of ten of the last one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Decimal {
    pub(crate) fn new(number: &str) -> Option<Self> {
        let (number, negative) = match number.strip_prefix('-') {
            Some(number) => (number, true),
            None => (number, false),
        };
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (number, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let kept = digits.trim_end_matches('0');
        let cut = digits.len() - kept.len();
        let significant = kept.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self {
                negative,
                digits: String::new(),
                exponent: 0,
            });
        }
        Some(Self {
            negative,
            digits: significant.to_owned(),
            exponent: i128::from(exponent) - fraction.len() as i128 + cut as i128,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_only_between_tokens() {
        assert_eq!(
            compact("{ \"a b\" :\n\t\"c\\\" \\\\\" , \"d\" : [ 1 ] }"),
            "{\"a b\":\"c\\\" \\\\\",\"d\":[1]}"
        );
    }

    #[test]
    fn numbers_are_compared_digit_by_digit() {
        assert!(same("9007199254740993", "9007199254740993"));
        assert!(!same("9007199254740993", "9007199254740992"));
        assert!(same("1.50", "15e-1"));
        assert!(same("0.0", "0e5"));
        assert!(!same("1.0", "1"));
        assert!(!same("-1", "1"));
    }

    #[test]
    fn members_are_compared_in_any_order() {
        assert!(same(r#"{"a":1,"b":[{}]}"#, r#" {"b" : [ {} ], "\u0061":1}"#));
        assert!(!same("{}", "[]"));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":2}"#));
    }

    #[test]
    fn pointers_find_escaped_names_and_elements() {
        let json = r#"{"a/b":{"~":[10,{"":20}]}}"#;
        assert_eq!(at(json, "/a~1b/~0/0"), Some("10"));
        assert_eq!(at(json, "/a~1b/~0/1/"), Some("20"));
        assert_eq!(at(json, "/missing"), None);
    }
}
