//! Certificates for tests: an authority, and what it issues.

use std::sync::Arc;

use pulsar_tokio::Pem;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// An authority, as PEM and able to issue.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) chain: String,
    pub(crate) key: String,
}

/// Whether servers ask their clients for a certificate.
#[derive(Clone, Copy)]
pub(crate) enum Clients<'a> {
    Anybody,
    IssuedBy(&'a Authority),
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    pub(crate) fn pem(&self) -> Pem {
        Pem::bytes(self.pem.clone())
    }

    pub(crate) fn text(&self) -> &str {
        &self.pem
    }

    /// A certificate for these hosts.
    pub(crate) fn issue(&self, hosts: &[&str]) -> Issued {
        self.sign(&params(hosts, "host"))
    }

    pub(crate) fn issue_expired(&self, hosts: &[&str]) -> Issued {
        let mut params = params(hosts, "host");
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Issued {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Issued {
            chain: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

fn params(hosts: &[&str], name: &str) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("names of hosts");
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params
}

impl Issued {
    pub(crate) fn pems(&self) -> (Pem, Pem) {
        (Pem::bytes(self.chain.clone()), Pem::bytes(self.key.clone()))
    }

    /// A server with this certificate.
    pub(crate) fn server(&self, clients: Clients<'_>) -> Arc<rustls::ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match clients {
            Clients::Anybody => builder.with_no_client_auth(),
            Clients::IssuedBy(authority) => {
                let mut roots = RootCertStore::empty();
                let root = CertificateDer::from_pem_slice(authority.pem.as_bytes()).expect("a certificate");
                roots.add(root).expect("an authority");
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                    .build()
                    .expect("a verifier");
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = CertificateDer::from_pem_slice(self.chain.as_bytes()).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("a key");
        Arc::new(builder.with_single_cert(vec![chain], key).expect("a server"))
    }
}
