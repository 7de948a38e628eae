//! The version gate: a look at one property before the body is read (`docs/wire-format.md`, Gate).

use crate::properties::{Properties, SCHEMA_VERSION};
use crate::urn::is_blank;

/// Characters of a declared version that are worth repeating in a log.
const DECLARED_MAX: usize = 64;

/// The version a gated delivery declares; none when the delivery may pass.
pub(crate) fn declared(properties: &Properties) -> Option<String> {
    let value = properties.get(SCHEMA_VERSION)?;
    if is_blank(value) || value == b"1" {
        return None;
    }
    let text = String::from_utf8_lossy(value);
    Some(match text.char_indices().nth(DECLARED_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gated(value: &[u8]) -> Option<String> {
        let mut properties = Properties::new();
        properties.set(SCHEMA_VERSION, value.to_vec());
        declared(&properties)
    }

    #[test]
    fn absent_blank_and_exactly_one_pass() {
        assert_eq!(declared(&Properties::new()), None);
        for value in ["1", "", " ", " \t", "\n\x0b\x0c\r"] {
            assert_eq!(gated(value.as_bytes()), None, "{value:?}");
        }
    }

    #[test]
    fn everything_else_is_gated() {
        let values = [
            "2",
            "01",
            "x",
            " 1",
            "1 ",
            "\t1\n",
            "\u{a0}",
            "\u{85}",
            "\u{3000}",
            "\u{feff}",
            "\u{a0}1",
            "1\u{3000}",
        ];
        for value in values {
            assert_eq!(gated(value.as_bytes()).as_deref(), Some(value));
        }
    }

    #[test]
    fn a_value_that_is_not_utf8_is_gated() {
        assert_eq!(gated(b"\xff").as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn a_long_version_is_cut_to_64_characters() {
        let exactly = "é".repeat(64);
        assert_eq!(gated(exactly.as_bytes()), Some(exactly.clone()));
        assert_eq!(gated("é".repeat(65).as_bytes()), Some(format!("{exactly}...")));
    }
}
