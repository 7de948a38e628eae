//! Certificates and keys in PEM form, from files or from memory.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{Error, ErrorKind};

/// Certificates or a private key in PEM form.
///
/// A file is read again for every connection, so that a certificate that was replaced is taken up.
/// `Debug` shows the path of a file and nothing of what is in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(Source);

#[derive(Clone, PartialEq, Eq)]
enum Source {
    File(PathBuf),
    Memory(Arc<[u8]>),
}

impl Pem {
    /// What the file at `path` holds, read for every connection.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    /// What these bytes hold.
    pub fn bytes(pem: impl Into<Vec<u8>>) -> Self {
        Self(Source::Memory(pem.into().into()))
    }

    /// The file, when it comes from one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Source::File(path) => Some(path),
            Source::Memory(_) => None,
        }
    }

    /// All certificates in it; `what` says what they are for. Reads the file: not for async tasks.
    pub(crate) fn certificates(&self, what: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.read(what)?).collect();
        match found {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            Ok(_) => Err(self.refuse(what, "has no certificate in it, expected PEM text")),
            Err(_) => Err(self.refuse(what, "is not well-formed PEM text")),
        }
    }

    /// The private key in it. Reads the file: not for async tasks.
    pub(crate) fn private_key(&self, what: &str) -> Result<PrivateKeyDer<'static>, Error> {
        // The library's error may quote what it read, so it is not passed on.
        PrivateKeyDer::from_pem_slice(&self.read(what)?)
            .map_err(|_| self.refuse(what, "has no private key in it, expected unencrypted PEM text"))
    }

    fn read(&self, what: &str) -> Result<Cow<'_, [u8]>, Error> {
        match &self.0 {
            Source::Memory(pem) => Ok(Cow::Borrowed(pem)),
            Source::File(path) => std::fs::read(path).map(Cow::Owned).map_err(|source| {
                let text = format!("{what} {} cannot be read", path.display());
                Error::with_source(ErrorKind::Tls, text, source)
            }),
        }
    }

    fn refuse(&self, what: &str, why: &str) -> Error {
        Error::new(ErrorKind::Tls, format!("{what} {self} {why}"))
    }
}

impl fmt::Display for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::File(path) => path.display().fmt(f),
            Source::Memory(_) => f.write_str("(given as bytes)"),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
