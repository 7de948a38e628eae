//! The lines of a file in Java's properties format, which `client.conf` is.

/// A key with its value, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: String,
}

/// All entries, in their order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut whole = line.trim_start().to_owned();
        if whole.starts_with(['#', '!']) {
            continue;
        }
        while goes_on(&whole) {
            whole.pop();
            match lines.next() {
                Some((_, next)) => whole.push_str(next.trim_start()),
                None => break,
            }
        }
        let (key, value) = split(&whole);
        if !key.is_empty() {
            entries.push(Entry {
                line: index + 1,
                key: unescaped(key),
                value: unescaped(value),
            });
        }
    }
    entries
}

/// A line goes on when it ends with a backslash that is not itself escaped.
fn goes_on(line: &str) -> bool {
    let slashes = line.len() - line.trim_end_matches('\\').len();
    slashes % 2 == 1
}

/// Splits at the first `=`, `:` or blank that is not escaped. Blanks around it don't count, and
/// neither do those at the end: nobody means them.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && matches!(c, '=' | ':' | ' ' | '\t');
        escaped = !escaped && c == '\\';
        ends
    });
    let Some(end) = end else {
        return (line.trim_end(), "");
    };
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim())
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                plain.extend(code.and_then(char::from_u32));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_an_entry_is_understood() {
        for (text, key, value) in [
            ("a=b", "a", "b"),
            ("  a = b  ", "a", "b"),
            ("a: b", "a", "b"),
            ("a b", "a", "b"),
            ("a", "a", ""),
            ("a=b=c:d", "a", "b=c:d"),
            (r"a=token\:x\u0041", "a", "token:xA"),
            (r"a\=b=c", "a=b", "c"),
            ("a=b,\\\n   c", "a", "b,c"),
        ] {
            let entry = Entry {
                line: 1,
                key: key.to_owned(),
                value: value.to_owned(),
            };
            assert_eq!(entries(text), [entry], "{text:?}");
        }
    }

    #[test]
    fn comments_and_empty_lines_are_none_and_lines_are_counted() {
        let found = entries("# a=b\n\n! c=d\na=1,\\\n2\nb=3\n");
        let lines: Vec<_> = found
            .iter()
            .map(|entry| (entry.line, entry.value.as_str()))
            .collect();
        assert_eq!(lines, [(4, "1,2"), (6, "3")]);
    }
}
