//! The blank set and the trim of identities: six ASCII characters and no others, in every SDK.

/// The six characters that count as blank.
fn is_blank_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// True when `bytes` is empty or made of the six ASCII whitespace characters only.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| is_blank_byte(byte))
}

/// Removes the six ASCII whitespace characters, and no others, from both ends.
///
/// A URN is compared in this form everywhere: in handler registration, in the `bq-job` property
/// and in the body.
///
/// ```
/// assert_eq!(babelqueue_core::trim_urn(" urn:babel:orders:created\t"), "urn:babel:orders:created");
/// assert_eq!(babelqueue_core::trim_urn("\u{a0}x"), "\u{a0}x");
/// ```
#[must_use]
pub fn trim_urn(urn: &str) -> &str {
    urn.trim_matches(|character| matches!(character, ' ' | '\t'..='\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_ascii_characters_are_blank() {
        assert!(is_blank(b""));
        assert!(is_blank(b" \t\n\x0b\x0c\r"));
        for text in ["\u{a0}", "\u{85}", "\u{3000}", "\u{feff}", "\u{1c}", "x"] {
            assert!(!is_blank(text.as_bytes()), "{text:?}");
            assert_eq!(trim_urn(text), text);
        }
    }
}
