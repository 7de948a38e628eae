//! A text that is never shown: tokens, passwords, client secrets.

use std::fmt;
use std::sync::Arc;

/// A token, a password or another text that must not be read in logs.
///
/// `Debug` shows `***`, and there is no `Display`.
///
/// ```
/// let secret = pulsar_tokio::Secret::new("s3cret");
/// assert_eq!(format!("{secret:?}"), "***");
/// assert_eq!(secret.reveal(), "s3cret");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// The text itself; whoever asks for it keeps it out of logs and errors.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `text` without any of `secrets`, and without anything that looks like a JSON Web Token.
///
/// Brokers repeat in their messages what they were sent; users put those messages into logs.
pub(crate) fn scrub(text: &str, secrets: &[&str]) -> String {
    let mut clean = text.to_owned();
    // Very short ones would blacken half the text and are no secrets.
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        clean = clean.replace(*secret, "***");
    }
    without_tokens(&clean)
}

/// JSON Web Tokens begin with `eyJ`, the Base64 of `{"`.
fn without_tokens(text: &str) -> String {
    const START: &str = "eyJ";
    const SHORTEST: usize = 16;
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let (before, token) = rest.split_at(at);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | '+' | '/');
        let end = token.find(|c| !is_part(c)).unwrap_or(token.len());
        clean.push_str(before);
        clean.push_str(if end >= SHORTEST { "***" } else { &token[..end] });
        rest = &token[end..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_taken_out_of_what_comes_back() {
        assert_eq!(
            scrub("no user app:hunter22 here", &["hunter22"]),
            "no user app:*** here"
        );
    }

    #[test]
    fn tokens_are_taken_out_also_when_nobody_knows_them() {
        let text = "bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhcHAifQ.c2ln, sorry";
        assert_eq!(scrub(text, &[]), "bad token ***, sorry");
        assert_eq!(scrub("eyJ is how they begin", &[]), "eyJ is how they begin");
    }

    #[test]
    fn debug_shows_nothing_of_it() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter22"))), "Some(***)");
    }
}
