//! Writing JSON text: strings with the smallest set of escapes, and integers.

/// Takes pieces of text. Counting first and writing then costs one allocation per document.
pub(crate) trait Sink {
    fn put(&mut self, text: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}

/// Only measures.
#[derive(Debug, Default)]
pub(crate) struct Count(pub(crate) usize);

impl Sink for Count {
    fn put(&mut self, text: &[u8]) {
        self.0 += text.len();
    }
}

/// Writes `text` as a JSON string, quotes included.
pub(crate) fn put_string(sink: &mut impl Sink, text: &str) {
    sink.put(b"\"");
    put_escaped(sink, text);
    sink.put(b"\"");
}

fn put_escaped(sink: &mut impl Sink, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut written = 0;
    // Without an early exit the compiler compares many bytes at once, and few strings have escapes.
    if !bytes.iter().fold(false, |any, &byte| any | needs_escape(byte)) {
        return sink.put(bytes);
    }
    for (at, &byte) in bytes.iter().enumerate() {
        if !needs_escape(byte) {
            continue;
        }
        sink.put(&bytes[written..at]);
        written = at + 1;
        match byte {
            b'"' => sink.put(b"\\\""),
            b'\\' => sink.put(b"\\\\"),
            0x08 => sink.put(b"\\b"),
            b'\t' => sink.put(b"\\t"),
            b'\n' => sink.put(b"\\n"),
            0x0c => sink.put(b"\\f"),
            b'\r' => sink.put(b"\\r"),
            control => {
                let high = HEX[usize::from(control >> 4)];
                let low = HEX[usize::from(control & 0x0f)];
                sink.put(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
    sink.put(&bytes[written..]);
}

fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Writes `value` in plain decimal digits.
pub(crate) fn put_integer(sink: &mut impl Sink, value: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    sink.put(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> String {
        let mut out = Vec::new();
        put_string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_quotes_backslashes_and_controls_are_escaped() {
        assert_eq!(
            string("a\"\\/\u{8}\t\n\u{c}\r\u{1}\u{1f}"),
            r#""a\"\\/\b\t\n\f\r\u0001\u001f""#
        );
        assert_eq!(string("<>&\u{7f}\u{2028}é☂"), "\"<>&\u{7f}\u{2028}é☂\"");
    }

    #[test]
    fn integers_are_plain_at_both_ends_of_the_range() {
        for value in [0, 7, -5, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_integer(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}
