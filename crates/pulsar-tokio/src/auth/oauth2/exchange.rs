//! The two requests that turn a client's secret into a token. They block: not for async tasks.

use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

use super::OAuth2;
use super::key::{Key, shown};
use crate::error::{Error, ErrorKind};
use crate::secret::{Secret, scrub};
use crate::tls::{self, Pem};

/// More than any answer needs.
const LONGEST_ANSWER: u64 = 256 << 10;

/// A token, and how long it is good if the issuer tells.
pub(super) fn fetch(
    oauth2: &OAuth2,
    authorities: Option<&Pem>,
    patience: Duration,
) -> Result<(Secret, Option<Duration>), Error> {
    let key = Key::read(oauth2)?;
    if key.is_sent_in_the_open() {
        tracing::warn!(issuer = %shown(&key.issuer), "the client secret is sent without TLS: others can read it");
    }
    let issuer = Issuer {
        key: &key,
        agent: agent(oauth2, authorities)?,
        until: Instant::now() + patience,
    };
    let endpoint = issuer.token_endpoint()?;
    issuer.token(&endpoint, oauth2)
}

fn agent(oauth2: &OAuth2, authorities: Option<&Pem>) -> Result<Agent, Error> {
    let roots = match &oauth2.authorities {
        Some(own) => own.certificates("the OAuth2 issuer's authority file")?,
        None => {
            let mut roots = match authorities {
                Some(given) => given.certificates(tls::AUTHORITIES)?,
                None => Vec::new(),
            };
            roots.extend(tls::system_authorities());
            roots
        }
    };
    let roots: Vec<_> = roots
        .iter()
        .map(|root| ureq::tls::Certificate::from_der(root).to_owned())
        .collect();
    let tls = ureq::tls::TlsConfig::builder()
        .provider(ureq::tls::TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(tls::crypto())
        .root_certs(ureq::tls::RootCerts::from(roots))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("pulsar-tokio/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(config.into())
}

struct Issuer<'a> {
    key: &'a Key,
    agent: Agent,
    until: Instant,
}

impl Issuer<'_> {
    fn token_endpoint(&self) -> Result<String, Error> {
        let url = format!("{}/.well-known/openid-configuration", self.key.issuer);
        let request = self.agent.get(&url).config().timeout_global(self.left()).build();
        let answer = self.json(request.call())?;
        let Some(endpoint) = answer.get("token_endpoint").and_then(Value::as_str) else {
            return Err(self.refuse("names no token endpoint"));
        };
        // The secret goes there: not over a way that anybody can read, unless the user chose one.
        if self.key.issuer.starts_with("https://") && !endpoint.starts_with("https://") {
            return Err(self.refuse("names a token endpoint without TLS"));
        }
        Ok(endpoint.to_owned())
    }

    fn token(&self, endpoint: &str, oauth2: &OAuth2) -> Result<(Secret, Option<Duration>), Error> {
        let form = [
            ("grant_type", Some("client_credentials")),
            ("client_id", Some(self.key.client_id.as_str())),
            ("client_secret", Some(self.key.client_secret.reveal())),
            ("audience", oauth2.audience.as_deref()),
            ("scope", oauth2.scope.as_deref()),
        ];
        let form = form.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let request = self
            .agent
            .post(endpoint)
            .config()
            .timeout_global(self.left())
            .build();
        let answer = self.json(request.send_form(form))?;
        let token = answer.get("access_token").and_then(Value::as_str);
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Err(self.refuse("gave an answer without access_token"));
        };
        Ok((Secret::new(token), answer.get("expires_in").and_then(seconds)))
    }

    /// What is left of the time for both requests.
    fn left(&self) -> Option<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        Some(left.max(Duration::from_millis(1)))
    }

    fn json(&self, answered: Result<Response<ureq::Body>, ureq::Error>) -> Result<Value, Error> {
        let mut response = answered.map_err(|error| self.unreachable(error))?;
        let status = response.status().as_u16();
        let text = response
            .body_mut()
            .with_config()
            .limit(LONGEST_ANSWER)
            .read_to_string()
            .map_err(|error| self.unreachable(error))?;
        let json = serde_json::from_str(&text).ok();
        match (status, json) {
            (200..=299, Some(json)) => Ok(json),
            (200..=299, None) => Err(self.refuse("gave an answer that is not JSON")),
            (500.., _) => {
                let text = format!("{} answered with HTTP status {status}", self.name());
                Err(Error::no_credentials_yet(text, None))
            }
            (_, json) => Err(self.refused(status, json.as_ref())),
        }
    }

    /// The issuer does not want to; OAuth2 has a word for why.
    fn refused(&self, status: u16, answer: Option<&Value>) -> Error {
        let member = |name: &str| answer?.get(name)?.as_str();
        let words: Vec<&str> = [member("error"), member("error_description")]
            .into_iter()
            .flatten()
            .collect();
        let why = match &words[..] {
            [] => format!("HTTP status {status}"),
            words => scrub(&words.join(", "), &[self.key.client_secret.reveal()]),
        };
        let id = &self.key.client_id;
        self.refuse(&format!("refused the client {id:?}: {}", first_line(&why)))
    }

    fn unreachable(&self, error: ureq::Error) -> Error {
        let error = match error {
            ureq::Error::Timeout(_) => {
                let text = format!("{} did not answer in time", self.name());
                return Error::no_credentials_yet(text, None);
            }
            ureq::Error::Io(error) => error,
            ureq::Error::Rustls(error) => std::io::Error::new(std::io::ErrorKind::InvalidData, error),
            other => std::io::Error::other(scrub(&other.to_string(), &[self.key.client_secret.reveal()])),
        };
        if let Some(text) = tls::explain(&error, &self.name()) {
            return Error::with_source(ErrorKind::Credentials, text, error);
        }
        let text = format!("cannot connect to {}", self.name());
        Error::no_credentials_yet(text, Some(error.into()))
    }

    fn refuse(&self, why: &str) -> Error {
        Error::new(ErrorKind::Credentials, format!("{} {why}", self.name()))
    }

    fn name(&self) -> String {
        format!("the OAuth2 issuer {}", shown(&self.key.issuer))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Issuers write numbers, and some write them as text.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}
