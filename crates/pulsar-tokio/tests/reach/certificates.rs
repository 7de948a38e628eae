//! Servers with the certificates of tests.

use std::sync::Arc;

use pulsar_testing::certificates::{Authority, Certificate};
use pulsar_tokio::Pem;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// Whether servers ask their clients for a certificate.
#[derive(Clone, Copy)]
pub(crate) enum Clients<'a> {
    Anybody,
    IssuedBy(&'a Authority),
}

/// A server for these hosts.
pub(crate) fn server(authority: &Authority, hosts: &[&str]) -> Arc<rustls::ServerConfig> {
    server_with(&authority.issue("broker", hosts), Clients::Anybody)
}

pub(crate) fn server_with(certificate: &Certificate, clients: Clients<'_>) -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match clients {
        Clients::Anybody => builder.with_no_client_auth(),
        Clients::IssuedBy(authority) => {
            let mut roots = RootCertStore::empty();
            let root = CertificateDer::from_pem_slice(authority.pem().as_bytes()).expect("a certificate");
            roots.add(root).expect("an authority");
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                .build()
                .expect("a verifier");
            builder.with_client_cert_verifier(verifier)
        }
    };
    let chain = CertificateDer::from_pem_slice(certificate.chain.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).expect("a key");
    Arc::new(builder.with_single_cert(vec![chain], key).expect("a server"))
}

pub(crate) fn trust(authority: &Authority) -> Pem {
    Pem::bytes(authority.pem())
}

/// Chain and key.
pub(crate) fn pems(certificate: &Certificate) -> (Pem, Pem) {
    (
        Pem::bytes(certificate.chain.clone()),
        Pem::bytes(certificate.key.clone()),
    )
}
