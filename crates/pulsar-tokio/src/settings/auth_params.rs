//! `authPlugin` and `authParams` in the spellings that Java's clients take.

use std::fmt;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Map, Value};

use crate::auth::{Authentication, OAuth2};
use crate::secret::Secret;
use crate::tls::Pem;

use super::Settings;

/// Why they cannot be used. Never has anything of `authParams` in it but names.
#[derive(Debug)]
pub(super) enum Problem {
    Plugin(String),
    Params(String),
}

impl Problem {
    pub(super) fn is_about_plugin(&self) -> bool {
        matches!(self, Self::Plugin(_))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(text) => write!(f, "authPlugin {text}"),
            Self::Params(text) => write!(f, "authParams {text}"),
        }
    }
}

pub(super) fn read(plugin: &str, params: &str) -> Result<Settings, Problem> {
    let settings = Settings::new();
    // The class names of Java, and the short ones of the other clients.
    match plugin.rsplit('.').next().unwrap_or(plugin) {
        "AuthenticationToken" | "token" => Ok(settings.authentication(token(params)?)),
        "AuthenticationBasic" | "basic" => Ok(settings.authentication(basic(params)?)),
        "AuthenticationOAuth2" | "oauth2" => Ok(settings.authentication(oauth2(params)?)),
        "AuthenticationTls" | "tls" => tls(params),
        "AuthenticationDisabled" | "none" => Ok(settings.authentication(Authentication::none())),
        _ => Err(Problem::Plugin(format!(
            "is {plugin:?}, expected AuthenticationToken, AuthenticationBasic, AuthenticationTls or AuthenticationOAuth2"
        ))),
    }
}

/// `token:…`, `file:///…`, `{"token": "…"}` or the token itself.
fn token(params: &str) -> Result<Authentication, Problem> {
    if params.is_empty() {
        return Err(lacks("a token"));
    }
    if let Some(path) = file_of(params) {
        return Ok(Authentication::token_file(path));
    }
    if let Some(token) = params.strip_prefix("token:") {
        return Ok(Authentication::token(Secret::new(token)));
    }
    if params.starts_with('{') {
        let token = text(&object(params)?, "token")?.ok_or_else(|| lacks("token"))?;
        return Ok(Authentication::token(Secret::new(token)));
    }
    Ok(Authentication::token(Secret::new(params)))
}

/// `{"userId": "…", "password": "…"}`
fn basic(params: &str) -> Result<Authentication, Problem> {
    let object = object(params)?;
    let user = text(&object, "userId")?.ok_or_else(|| lacks("userId"))?;
    let password = text(&object, "password")?.ok_or_else(|| lacks("password"))?;
    Ok(Authentication::basic(user, Secret::new(password)))
}

/// `tlsCertFile:/…,tlsKeyFile:/…`, or the same as JSON.
fn tls(params: &str) -> Result<Settings, Problem> {
    let (mut chain, mut key) = (None, None);
    if params.starts_with('{') {
        let object = object(params)?;
        chain = text(&object, "tlsCertFile")?;
        key = text(&object, "tlsKeyFile")?;
    } else {
        for part in params.split(',') {
            match part.trim().split_once(':') {
                Some(("tlsCertFile", path)) => chain = Some(path.to_owned()),
                Some(("tlsKeyFile", path)) => key = Some(path.to_owned()),
                _ => {}
            }
        }
    }
    let chain = chain.ok_or_else(|| lacks("tlsCertFile"))?;
    let key = key.ok_or_else(|| lacks("tlsKeyFile"))?;
    Ok(Settings::new().client_certificate(Pem::file(chain), Pem::file(key)))
}

/// `{"type": "client_credentials", "privateKey": "file:///…", "issuerUrl": "…", "audience": "…"}`
fn oauth2(params: &str) -> Result<Authentication, Problem> {
    let object = object(params)?;
    if let Some(kind) = text(&object, "type")?
        && kind != "client_credentials"
    {
        return Err(Problem::Params(format!(
            "has the type {kind:?}, expected client_credentials"
        )));
    }
    let key = text(&object, "privateKey")?.ok_or_else(|| lacks("privateKey"))?;
    let mut oauth2 = match key.strip_prefix("data:") {
        Some(data) => OAuth2::key(key_in_url(data)?),
        None => OAuth2::key_file(file_of(&key).unwrap_or_else(|| key.clone().into())),
    };
    if let Some(issuer) = text(&object, "issuerUrl")? {
        oauth2 = oauth2.issuer(issuer);
    }
    if let Some(audience) = text(&object, "audience")? {
        oauth2 = oauth2.audience(audience);
    }
    if let Some(scope) = text(&object, "scope")? {
        oauth2 = oauth2.scope(scope);
    }
    if let Some(path) = text(&object, "trustCertsFilePath")? {
        oauth2 = oauth2.trusted_authorities(Pem::file(path));
    }
    Ok(Authentication::oauth2(oauth2))
}

/// The key in `data:application/json;base64,…`, without its `data:`.
fn key_in_url(data: &str) -> Result<Secret, Problem> {
    let refuse = || Problem::Params("has a privateKey that is no data:application/json;base64,… URL".into());
    let text = data.strip_prefix("application/json;base64,").ok_or_else(refuse)?;
    let bytes = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
    let key = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    key.map(Secret::new).ok_or_else(refuse)
}

/// The path in `file:///path`, `file:/path` or `file://path`.
fn file_of(text: &str) -> Option<PathBuf> {
    let path = text.strip_prefix("file:")?;
    Some(path.strip_prefix("//").unwrap_or(path).into())
}

fn object(params: &str) -> Result<Map<String, Value>, Problem> {
    match serde_json::from_str(params) {
        Ok(Value::Object(object)) => Ok(object),
        // What is there may be a secret, and so may what the parser quotes.
        _ => Err(Problem::Params("is not a JSON object".into())),
    }
}

fn text(object: &Map<String, Value>, name: &str) -> Result<Option<String>, Problem> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::Params(format!("has a {name} that is no text"))),
    }
}

fn lacks(name: &str) -> Problem {
    Problem::Params(format!("lacks {name}"))
}
