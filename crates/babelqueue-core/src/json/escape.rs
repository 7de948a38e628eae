//! Escapes in strings, and the two halves of characters beyond the basic plane.

pub(super) fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

pub(super) fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// The low surrogate whose escape begins `text`.
pub(super) fn low_after(text: &[u8]) -> Option<u16> {
    let unit = hex4(text.strip_prefix(b"\\u")?)?;
    is_low(unit).then_some(unit)
}

pub(super) fn hex4(text: &[u8]) -> Option<u16> {
    let mut unit = 0;
    for &digit in text.first_chunk::<4>()? {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        unit = unit << 4 | u16::from(value);
    }
    Some(unit)
}

/// Resolves the escapes of a scanned string. An unpaired surrogate becomes U+FFFD; a document that
/// holds one is refused before anybody reads the result.
pub(crate) fn unescape(mut text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    while let Some(at) = text.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&text[..at]);
        let escape = text.get(at + 1).copied();
        text = text.get(at + 2..).unwrap_or_default();
        match escape {
            Some(b'b') => out.push(0x08),
            Some(b'f') => out.push(0x0c),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'u') => {
                let unit = hex4(text).unwrap_or(0xfffd);
                text = text.get(4..).unwrap_or_default();
                let mut code = u32::from(unit);
                if is_high(unit)
                    && let Some(low) = low_after(text)
                {
                    text = text.get(6..).unwrap_or_default();
                    code = 0x10000 + (((code - 0xd800) << 10) | (u32::from(low) - 0xdc00));
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out.extend_from_slice(text);
    out
}
