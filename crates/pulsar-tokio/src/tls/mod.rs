//! Encrypted connections: what is trusted, what is checked, and what the client shows of itself.

mod explain;
mod pem;
mod verify;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

pub(crate) use self::explain::{explain, explain_refusal};
pub use self::pem::Pem;
use crate::error::{Error, ErrorKind};
use crate::service_url::{Scheme, ServiceUrl, ServiceUrls};
use crate::settings::{ClientCertificate, Settings};

/// What a file of authorities is called in errors.
pub(crate) const AUTHORITIES: &str = "the authority file";

/// What of a broker's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verification {
    /// That a trusted authority issued it, for this host.
    Full,
    /// That a trusted authority issued it, for whomever.
    WithoutHostName,
    /// Nothing.
    Off,
}

/// How the connections of one client are encrypted.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    authorities: Option<Pem>,
    certificate: Option<ClientCertificate>,
    verification: Verification,
}

impl Tls {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            authorities: settings.authorities.clone(),
            certificate: settings.certificate.clone(),
            verification: settings.verification.unwrap_or(Verification::Full),
        }
    }

    pub(crate) fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    /// Says in the log what is not checked; `urls` are where that matters.
    pub(crate) fn warn_of_dangers(&self, urls: &ServiceUrls) {
        let what = match self.verification {
            _ if urls.scheme() == Scheme::Plain => return,
            Verification::Full => return,
            Verification::WithoutHostName => "certificates are taken from any host",
            Verification::Off => "certificates are not checked",
        };
        tracing::warn!(service = %urls, "{what}: others can pose as the broker");
    }

    /// The configuration of one connection, with what the files hold now.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used; the error names it.
    pub(crate) async fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let tls = self.clone();
        tokio::task::spawn_blocking(move || tls.read())
            .await
            .unwrap_or_else(|panic| {
                let text = "reading the certificates ended early";
                Err(Error::with_source(ErrorKind::Tls, text, panic))
            })
    }

    fn read(&self) -> Result<Arc<ClientConfig>, Error> {
        let builder = ClientConfig::builder_with_provider(crypto())
            .with_safe_default_protocol_versions()
            .map_err(|source| Error::with_source(ErrorKind::Tls, "TLS cannot be set up", source))?;
        let builder = match self.verification {
            Verification::Full => builder.with_root_certificates(self.roots()?),
            Verification::WithoutHostName => builder
                .dangerous()
                .with_custom_certificate_verifier(verify::AnyHost::new(self.roots()?)?),
            Verification::Off => builder
                .dangerous()
                .with_custom_certificate_verifier(verify::Anybody::new()),
        };
        let Some(ClientCertificate { chain, key }) = &self.certificate else {
            return Ok(Arc::new(builder.with_no_client_auth()));
        };
        let certificates = chain.certificates("the client certificate")?;
        let private = key.private_key("the client key")?;
        let config = builder
            .with_client_auth_cert(certificates, private)
            .map_err(|source| {
                let text = format!("the client certificate {chain} and the key {key} do not fit together");
                Error::with_source(ErrorKind::Tls, text, source)
            })?;
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let certificates = match &self.authorities {
            Some(authorities) => authorities.certificates(AUTHORITIES)?,
            None => system_authorities(),
        };
        let mut roots = RootCertStore::empty();
        // The system's list can hold what this library does not know; the others still count.
        let (taken, refused) = roots.add_parsable_certificates(certificates);
        if taken == 0 {
            let text = match &self.authorities {
                Some(authorities) => format!("{AUTHORITIES} {authorities} has no usable certificate in it"),
                None => "the system has no trusted authorities; name a file with some".to_owned(),
            };
            return Err(Error::new(ErrorKind::Tls, text));
        }
        if refused > 0 {
            tracing::debug!(taken, refused, "some trusted certificates cannot be used");
        }
        Ok(roots)
    }
}

/// The name that the certificate of a broker must have.
pub(crate) fn server_name(address: &ServiceUrl) -> Result<ServerName<'static>, Error> {
    ServerName::try_from(address.host().to_owned()).map_err(|_| {
        let text = format!("{address} has a host that no certificate can name");
        Error::new(ErrorKind::Tls, text)
    })
}

/// The cryptography of all connections. Not the process's default, which the user's program may
/// have set to something else.
pub(crate) fn crypto() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The authorities that the system trusts. Reads files: not for async tasks.
pub(crate) fn system_authorities() -> Vec<CertificateDer<'static>> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::debug!(%error, "a trusted certificate of the system cannot be read");
    }
    found.certs
}
