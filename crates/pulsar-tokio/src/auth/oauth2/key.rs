//! Who the client is for its issuer, and where the issuer is.

use serde_json::Value;

use super::{Identity, OAuth2};
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;
use crate::service_url::{is_this_machine, without_secrets};

/// A client as its issuer knows it.
pub(super) struct Key {
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    /// Without a slash at its end.
    pub(super) issuer: String,
}

impl Key {
    /// Reads the key file: not for async tasks.
    pub(super) fn read(oauth2: &OAuth2) -> Result<Self, Error> {
        let (place, text) = match &oauth2.identity {
            Identity::File(path) => {
                let place = format!("the OAuth2 key file {}", path.display());
                let text = std::fs::read_to_string(path).map_err(|source| {
                    Error::with_source(ErrorKind::Credentials, format!("{place} cannot be read"), source)
                })?;
                (place, Secret::new(text))
            }
            Identity::Text(text) => ("the OAuth2 key".to_owned(), text.clone()),
            Identity::Client { id, secret } => {
                return Self::of(oauth2, "the OAuth2 client", id.clone(), secret.clone(), None);
            }
        };
        let refuse = |why: &str| Error::new(ErrorKind::Credentials, format!("{place} {why}"));
        // The parser's own error could quote the secret.
        let json: Value =
            serde_json::from_str(text.reveal()).map_err(|_| refuse("is not JSON, expected an object"))?;
        let member = |name: &str| {
            json.get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        if let Some(kind) = member("type")
            && kind != "client_credentials"
        {
            return Err(refuse(&format!(
                "has the type {kind:?}, expected client_credentials"
            )));
        }
        let client_id = member("client_id").ok_or_else(|| refuse("lacks client_id"))?;
        let client_secret = member("client_secret").ok_or_else(|| refuse("lacks client_secret"))?;
        Self::of(
            oauth2,
            &place,
            client_id.to_owned(),
            Secret::new(client_secret),
            member("issuer_url"),
        )
    }

    /// True if the secret leaves this machine without TLS.
    pub(super) fn is_sent_in_the_open(&self) -> bool {
        let Some(rest) = self.issuer.strip_prefix("http://") else {
            return false;
        };
        let authority = rest.split('/').next().unwrap_or(rest);
        let host = match authority.strip_prefix('[') {
            Some(address) => address.split(']').next(),
            None => authority.split(':').next(),
        };
        !is_this_machine(host.unwrap_or_default())
    }

    fn of(
        oauth2: &OAuth2,
        place: &str,
        client_id: String,
        client_secret: Secret,
        issuer: Option<&str>,
    ) -> Result<Self, Error> {
        let Some(issuer) = oauth2.issuer.as_deref().or(issuer) else {
            let text = format!("{place} names no issuer, and none is given");
            return Err(Error::new(ErrorKind::Credentials, text));
        };
        check_issuer(issuer)?;
        Ok(Self {
            client_id,
            client_secret,
            issuer: issuer.trim_end_matches('/').to_owned(),
        })
    }
}

/// # Errors
///
/// It is no HTTP URL.
pub(super) fn check_issuer(url: &str) -> Result<(), Error> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.trim_matches('/').is_empty() && !rest.contains(['@', ' ']) => Ok(()),
        _ => {
            let text = format!("OAuth2 issuer {:?} is no URL, expected https://host", shown(url));
            Err(Error::new(ErrorKind::InvalidOption, text))
        }
    }
}

/// The URL as it may be shown.
pub(super) fn shown(url: &str) -> String {
    without_secrets(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_file_of_pulsar_is_understood() {
        let text = r#"{"type":"client_credentials","client_id":"app","client_secret":"s3cret",
            "issuer_url":"https://issuer/"}"#;
        let key = Key::read(&OAuth2::key(text)).unwrap();
        assert_eq!(
            (key.client_id.as_str(), key.issuer.as_str()),
            ("app", "https://issuer")
        );
        assert_eq!(key.client_secret.reveal(), "s3cret");
        let other = Key::read(&OAuth2::key(text).issuer("https://other")).unwrap();
        assert_eq!(other.issuer, "https://other");
    }

    #[test]
    fn a_secret_that_others_can_read_is_noticed() {
        for (issuer, in_the_open) in [
            ("http://issuer/realm", true),
            ("http://issuer:8080", true),
            ("http://localhost:8080/realm", false),
            ("http://[::1]:8080", false),
            ("https://issuer", false),
        ] {
            let key = Key::read(&OAuth2::client(issuer, "app", "s3cret")).unwrap();
            assert_eq!(key.is_sent_in_the_open(), in_the_open, "{issuer}");
        }
    }

    #[test]
    fn what_is_missing_is_named_without_the_secret() {
        for (text, named) in [
            ("s3cret", "is not JSON"),
            (r#"{"client_secret":"s3cret"}"#, "lacks client_id"),
            (r#"{"client_id":"app"}"#, "lacks client_secret"),
            (r#"{"type":"device","client_secret":"s3cret"}"#, "\"device\""),
            (
                r#"{"client_id":"app","client_secret":"s3cret"}"#,
                "names no issuer",
            ),
            (
                r#"{"client_id":"app","client_secret":"s3cret","issuer_url":"issuer"}"#,
                "is no URL",
            ),
        ] {
            let Err(error) = Key::read(&OAuth2::key(text)) else {
                panic!("{text} was taken")
            };
            let text = error.to_string();
            assert!(text.contains(named) && !text.contains("s3cret"), "{text}");
        }
    }
}
