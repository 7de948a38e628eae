//! OAuth2 client credentials: a token from an issuer, kept until shortly before it expires.

mod exchange;
mod key;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind};
use crate::secret::Secret;
use crate::tls::Pem;

/// How long a token is kept whose issuer does not tell how long it is good.
const UNKNOWN_LIFE: Duration = Duration::from_secs(60);

/// An OAuth2 client (grant `client_credentials`): who it is, and which issuer gives it tokens.
#[derive(Clone)]
#[must_use]
pub struct OAuth2 {
    identity: Identity,
    issuer: Option<String>,
    audience: Option<String>,
    scope: Option<String>,
    authorities: Option<Pem>,
}

#[derive(Clone)]
enum Identity {
    File(PathBuf),
    Text(Secret),
    Client { id: String, secret: Secret },
}

impl OAuth2 {
    /// A client of the issuer at `issuer`, such as `https://issuer.example`; its token endpoint is
    /// looked up in `/.well-known/openid-configuration` there.
    pub fn client(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<Secret>,
    ) -> Self {
        Self::of(Identity::Client {
            id: client_id.into(),
            secret: client_secret.into(),
        })
        .issuer(issuer)
    }

    /// The client in Pulsar's JSON key file (`type`, `client_id`, `client_secret`, `issuer_url`),
    /// which is read for each token.
    pub fn key_file(path: impl Into<PathBuf>) -> Self {
        Self::of(Identity::File(path.into()))
    }

    /// The client in the text of such a key file.
    pub fn key(text: impl Into<Secret>) -> Self {
        Self::of(Identity::Text(text.into()))
    }

    fn of(identity: Identity) -> Self {
        Self {
            identity,
            issuer: None,
            audience: None,
            scope: None,
            authorities: None,
        }
    }

    /// The issuer, instead of the one that the key file names.
    pub fn issuer(mut self, url: impl Into<String>) -> Self {
        self.issuer = Some(url.into());
        self
    }

    /// The audience that the token is for.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience = Some(audience.into());
        self
    }

    /// The scopes that the token is for, separated by blanks.
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// The authorities that are trusted for the issuer's certificate. Without them those of the
    /// system are, and beside them those that are given for the brokers.
    pub fn trusted_authorities(mut self, authorities: Pem) -> Self {
        self.authorities = Some(authorities);
        self
    }
}

impl fmt::Display for OAuth2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.issuer, &self.identity) {
            (Some(issuer), _) => write!(f, "the OAuth2 issuer {}", key::shown(issuer)),
            (None, Identity::File(path)) => write!(f, "the OAuth2 issuer of {}", path.display()),
            (None, _) => f.write_str("the OAuth2 issuer"),
        }
    }
}

impl fmt::Debug for OAuth2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("oauth2");
        match &self.identity {
            Identity::File(path) => shown.field("key_file", path),
            Identity::Text(_) => shown.field("key", &"***"),
            Identity::Client { id, .. } => shown.field("client_id", id),
        };
        shown
            .field("issuer", &self.issuer.as_deref().map(key::shown))
            .field("audience", &self.audience)
            .field("scope", &self.scope)
            .field("authorities", &self.authorities)
            .finish()
    }
}

/// The token of one client.
pub(crate) struct Tokens {
    oauth2: Arc<OAuth2>,
    /// What is trusted for the brokers.
    authorities: Option<Pem>,
    patience: Duration,
    /// Locked while one is fetched, so that all who need it wait for one fetch.
    place: Arc<tokio::sync::Mutex<Place>>,
}

#[derive(Default)]
struct Place {
    token: Option<Token>,
    /// When fetching failed last. Who waited for it meanwhile shares its error.
    failed: Option<(Instant, Error)>,
}

struct Token {
    text: Secret,
    good_until: Instant,
}

impl Tokens {
    pub(crate) fn new(oauth2: OAuth2, authorities: Option<Pem>, patience: Duration) -> Result<Self, Error> {
        if let Some(issuer) = &oauth2.issuer {
            key::check_issuer(issuer)?;
        }
        Ok(Self {
            oauth2: Arc::new(oauth2),
            authorities,
            patience,
            place: Arc::default(),
        })
    }

    /// A token that is good for a while and is not `stale`.
    ///
    /// # Cancel safety
    ///
    /// A fetch that has begun goes on, within its time, and keeps what it gets.
    pub(crate) async fn token(&self, stale: Option<&Secret>) -> Result<Secret, Error> {
        let asked = Instant::now();
        let mut place = self.place.clone().lock_owned().await;
        if let Some(token) = &place.token
            && token.good_until > Instant::now()
            && Some(&token.text) != stale
        {
            return Ok(token.text.clone());
        }
        if let Some((at, error)) = &place.failed
            && *at > asked
        {
            return Err(error.clone());
        }
        let (oauth2, authorities) = (self.oauth2.clone(), self.authorities.clone());
        let patience = self.patience;
        let fetching = tokio::task::spawn_blocking(move || {
            let fetched = exchange::fetch(&oauth2, authorities.as_ref(), patience);
            place.failed = fetched
                .as_ref()
                .err()
                .map(|error| (Instant::now(), error.clone()));
            let (text, life) = fetched?;
            place.token = Some(Token {
                text: text.clone(),
                good_until: Instant::now() + usable(life),
            });
            Ok(text)
        });
        fetching.await.unwrap_or_else(|panic| {
            let text = format!("asking {} ended early", self.oauth2);
            Err(Error::with_source(ErrorKind::Credentials, text, panic))
        })
    }

    /// Drops this token, if it is the one that is kept.
    pub(crate) async fn forget(&self, text: &Secret) {
        let mut place = self.place.lock().await;
        place.token.take_if(|token| token.text == *text);
    }
}

/// How long a token is used that is good for `life`: a tenth is left for the way to the broker.
fn usable(life: Option<Duration>) -> Duration {
    life.map_or(UNKNOWN_LIFE, |life| life.mul_f64(0.9))
}
