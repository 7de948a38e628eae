//! Where a cluster is and how it is reached, as one value that programs share.
//!
//! A value comes from code, from the environment ([`Settings::from_environment`]) or from a file
//! in the format of Pulsar's `client.conf` ([`Settings::from_client_conf`]); [`Settings::or`] lays
//! one over another.

mod auth_params;
mod client_conf;
mod environment;
mod properties;

use std::fmt;

use crate::auth::Authentication;
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;
use crate::service_url::without_secrets;
use crate::tls::{Pem, Verification};

/// Where a cluster is and how it is reached: service URL, TLS, authentication, listener.
///
/// ```no_run
/// # async fn demo() -> Result<(), pulsar_tokio::Error> {
/// use pulsar_tokio::{Client, Pem, Settings};
///
/// // Code goes before the environment, and the environment before the file it may name.
/// let settings = Settings::new()
///     .trusted_authorities(Pem::file("/etc/pulsar/ca.pem"))
///     .or(Settings::from_environment()?);
/// let client = Client::with_settings(settings).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Settings {
    pub(crate) url: Option<String>,
    pub(crate) authorities: Option<Pem>,
    pub(crate) certificate: Option<ClientCertificate>,
    pub(crate) verification: Option<Verification>,
    pub(crate) authentication: Option<Authentication>,
    pub(crate) listener: Option<String>,
}

/// What the client shows of itself in a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    pub(crate) chain: Pem,
    pub(crate) key: Pem,
}

impl Settings {
    /// Settings that say nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the cluster is: `pulsar://host:6650`, `pulsar+ssl://host:6651`, or several hosts,
    /// `pulsar://a:6650,b:6650`.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The authorities whose certificates are trusted, instead of those of the system.
    pub fn trusted_authorities(mut self, authorities: Pem) -> Self {
        self.authorities = Some(authorities);
        self
    }

    /// The certificate (with its chain) and the private key that the client shows to brokers. They
    /// are also its identity (method `tls`) unless another authentication is given.
    pub fn client_certificate(mut self, chain: Pem, key: Pem) -> Self {
        self.certificate = Some(ClientCertificate { chain, key });
        self
    }

    /// How the client says who it is.
    pub fn authentication(mut self, authentication: Authentication) -> Self {
        self.authentication = Some(authentication);
        self
    }

    /// Says who the client is with a token; the same as [`Authentication::token`].
    pub fn token(self, token: impl Into<Secret>) -> Self {
        self.authentication(Authentication::token(token))
    }

    /// The name of the advertised listener whose addresses the brokers should give out.
    pub fn listener_name(mut self, name: impl Into<String>) -> Self {
        self.listener = Some(name.into());
        self
    }

    /// Checks that a trusted authority issued a broker's certificate for its host. That is so anyway,
    /// unless a `client.conf` below says otherwise, as the one that Pulsar ships does.
    pub fn check_certificates(mut self) -> Self {
        self.verification = Some(Verification::Full);
        self
    }

    /// Takes a trusted certificate also from a host that it was not issued for: whoever has any
    /// certificate of the trusted authorities can pose as the broker.
    pub fn danger_accept_wrong_host_names(mut self) -> Self {
        self.verification = Some(Verification::WithoutHostName);
        self
    }

    /// Takes any certificate: whoever can answer at the address can pose as the broker and reads
    /// messages and credentials.
    pub fn danger_accept_any_certificate(mut self) -> Self {
        self.verification = Some(Verification::Off);
        self
    }

    /// These settings, and those of `lower` for what is not said here.
    ///
    /// A setting counts as a whole: an authentication here replaces the one of `lower`, and so
    /// does a client certificate together with its key.
    pub fn or(self, lower: Self) -> Self {
        Self {
            url: self.url.or(lower.url),
            authorities: self.authorities.or(lower.authorities),
            certificate: self.certificate.or(lower.certificate),
            verification: self.verification.or(lower.verification),
            authentication: self.authentication.or(lower.authentication),
            listener: self.listener.or(lower.listener),
        }
    }

    /// The service URL, if one is given.
    #[must_use]
    pub fn service_url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// How the client says who it is, if that is given.
    #[must_use]
    pub fn given_authentication(&self) -> Option<&Authentication> {
        self.authentication.as_ref()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("url", &self.url.as_deref().map(without_secrets))
            .field("authorities", &self.authorities)
            .field("certificate", &self.certificate)
            .field("verification", &self.verification)
            .field("authentication", &self.authentication)
            .field("listener", &self.listener)
            .finish()
    }
}

/// All that is wrong with some settings, as one error.
fn problems(found: &[String]) -> Result<(), Error> {
    if found.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidOption, found.join("; ")))
}
