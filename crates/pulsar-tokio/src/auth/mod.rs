//! Who the client is: credentials for each connection, and fresh ones when a broker asks.

mod oauth2;

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use self::oauth2::OAuth2;
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;
use crate::tls::Pem;

/// How a client says who it is.
///
/// `Debug` shows the way, the user and the files, and never a secret.
#[derive(Clone)]
pub struct Authentication(Method);

type Supplied = Pin<Box<dyn Future<Output = Result<Secret, BoxError>> + Send>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
enum Method {
    None,
    Token(Secret),
    TokenFile(PathBuf),
    TokenFrom(Arc<dyn Fn() -> Supplied + Send + Sync>),
    Basic(String, Secret),
    BasicWithFile(String, PathBuf),
    OAuth2(OAuth2),
}

impl Authentication {
    /// None: the client says nothing about itself, also when it has a certificate.
    #[must_use]
    pub fn none() -> Self {
        Self(Method::None)
    }

    /// A token that stays the same.
    pub fn token(token: impl Into<Secret>) -> Self {
        Self(Method::Token(token.into()))
    }

    /// A token from a file, which is read for every connection and whenever a broker asks for
    /// fresh credentials.
    pub fn token_file(path: impl Into<PathBuf>) -> Self {
        Self(Method::TokenFile(path.into()))
    }

    /// A token from a function, which is called for every connection and whenever a broker asks
    /// for fresh credentials. It has the time that a connection may take; after that it is dropped.
    ///
    /// The text of its error is shown to users, so it must not hold secrets.
    ///
    /// ```
    /// use pulsar_tokio::{Authentication, Secret};
    ///
    /// let authentication = Authentication::token_from(|| async {
    ///     // Asks a vault, for example.
    ///     Ok(Secret::new("token"))
    /// });
    /// ```
    pub fn token_from<F, S>(supplier: F) -> Self
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Future<Output = Result<Secret, Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        Self(Method::TokenFrom(Arc::new(move || Box::pin(supplier()))))
    }

    /// A user and a password.
    pub fn basic(user: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self(Method::Basic(user.into(), password.into()))
    }

    /// A user and a password from a file, which is read for every connection.
    pub fn basic_with_password_file(user: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self(Method::BasicWithFile(user.into(), path.into()))
    }

    /// A token that an OAuth2 issuer gives.
    #[must_use]
    pub fn oauth2(oauth2: OAuth2) -> Self {
        Self(Method::OAuth2(oauth2))
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self.0, Method::None)
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Method::None => f.write_str("none"),
            Method::Token(_) => f.write_str("token(***)"),
            Method::TokenFile(path) => write!(f, "token({})", path.display()),
            Method::TokenFrom(_) => f.write_str("token(from a function)"),
            Method::Basic(user, _) => write!(f, "basic({user:?}, ***)"),
            Method::BasicWithFile(user, path) => write!(f, "basic({user:?}, {})", path.display()),
            Method::OAuth2(oauth2) => oauth2.fmt(f),
        }
    }
}

/// What a connection says about who the client is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// The name of the method, as brokers know it.
    pub(crate) method: &'static str,
    pub(crate) data: Secret,
}

impl Credentials {
    fn new(method: &'static str, data: impl Into<Secret>) -> Self {
        Self {
            method,
            data: data.into(),
        }
    }

    /// All texts in it that nobody may see.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let data = self.data.reveal();
        let password = (self.method == "basic").then(|| data.split_once(':')).flatten();
        std::iter::once(data)
            .chain(password.map(|(_, password)| password))
            .collect()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(***)", self.method)
    }
}

/// Gives credentials to the connections of one client.
pub(crate) struct Authenticator {
    method: Method,
    /// The certificate of the connection is the identity when no other is given.
    by_certificate: bool,
    tokens: Option<oauth2::Tokens>,
    patience: Duration,
}

impl Authenticator {
    /// `patience` bounds every wait for credentials.
    pub(crate) fn new(
        authentication: Option<&Authentication>,
        by_certificate: bool,
        authorities: Option<&Pem>,
        patience: Duration,
    ) -> Result<Self, Error> {
        let method = authentication.map_or(Method::None, |authentication| authentication.0.clone());
        let tokens = match &method {
            Method::OAuth2(oauth2) => Some(oauth2::Tokens::new(
                oauth2.clone(),
                authorities.cloned(),
                patience,
            )?),
            _ => None,
        };
        Ok(Self {
            by_certificate: by_certificate && authentication.is_none(),
            method,
            tokens,
            patience,
        })
    }

    /// The credentials for a new connection; none when the client says nothing about itself.
    ///
    /// # Errors
    ///
    /// They cannot be had; the error names where they should have come from.
    pub(crate) async fn credentials(&self) -> Result<Option<Credentials>, Error> {
        self.other_than(None).await
    }

    /// Credentials in place of those that a broker does not take (any longer). What cannot change
    /// comes again as it is.
    pub(crate) async fn other_than(&self, stale: Option<&Credentials>) -> Result<Option<Credentials>, Error> {
        match tokio::time::timeout(self.patience, self.fetch(stale)).await {
            Ok(fetched) => fetched,
            Err(_) => {
                let text = format!("{} gave no credentials within {:?}", self.place(), self.patience);
                Err(Error::no_credentials_yet(text, None))
            }
        }
    }

    /// A broker did not take these: what is cached of them is of no use.
    pub(crate) async fn refused(&self, credentials: &Credentials) {
        if let Some(tokens) = &self.tokens {
            tokens.forget(&credentials.data).await;
        }
    }

    async fn fetch(&self, stale: Option<&Credentials>) -> Result<Option<Credentials>, Error> {
        let credentials = match &self.method {
            Method::None if self.by_certificate => Credentials::new("tls", ""),
            Method::None => return Ok(None),
            Method::Token(token) => Credentials::new("token", token.clone()),
            Method::TokenFile(path) => Credentials::new("token", read("token file", path).await?),
            Method::TokenFrom(supplier) => {
                let token = supplier().await.map_err(|source| {
                    let text = "the function for tokens gave none";
                    Error::no_credentials_yet(text, Some(source))
                })?;
                Credentials::new("token", token)
            }
            Method::Basic(user, password) => basic(user, password),
            Method::BasicWithFile(user, path) => basic(user, &read("password file", path).await?),
            Method::OAuth2(_) => {
                let Some(tokens) = &self.tokens else {
                    return Ok(None);
                };
                Credentials::new("token", tokens.token(stale.map(|stale| &stale.data)).await?)
            }
        };
        Ok(Some(credentials))
    }

    /// Where credentials come from, for errors.
    fn place(&self) -> String {
        match &self.method {
            Method::TokenFile(path) => format!("the token file {}", path.display()),
            Method::BasicWithFile(_, path) => format!("the password file {}", path.display()),
            Method::TokenFrom(_) => "the function for tokens".to_owned(),
            Method::OAuth2(oauth2) => oauth2.to_string(),
            Method::None | Method::Token(_) | Method::Basic(..) => "the settings".to_owned(),
        }
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Authentication(self.method.clone()).fmt(f)
    }
}

fn basic(user: &str, password: &Secret) -> Credentials {
    Credentials::new("basic", format!("{user}:{}", password.reveal()))
}

/// The trimmed text of a file.
async fn read(what: &'static str, path: &Path) -> Result<Secret, Error> {
    let (path, shown) = (path.to_owned(), path.display().to_string());
    let text = tokio::task::spawn_blocking(move || std::fs::read_to_string(path))
        .await
        .unwrap_or_else(|panic| Err(std::io::Error::other(panic)))
        .map_err(|source| {
            let text = format!("the {what} {shown} cannot be read");
            Error::with_source(ErrorKind::Credentials, text, source)
        })?;
    match text.trim() {
        "" => Err(Error::new(
            ErrorKind::Credentials,
            format!("the {what} {shown} is empty"),
        )),
        text => Ok(Secret::new(text)),
    }
}

#[cfg(test)]
mod tests;
