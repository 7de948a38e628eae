//! Settings from a file in the format of Pulsar's own `client.conf`.
//!
//! The file is shared with Pulsar's command-line tools, so keys that are not for us are skipped.

use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::service_url::ServiceUrls;
use crate::tls::{Pem, Verification};

use super::properties::{Entry, entries};
use super::{ClientCertificate, Settings, auth_params, problems};

impl Settings {
    /// The settings that the file at `path` gives, in the format of Pulsar's `client.conf`:
    /// `brokerServiceUrl`, `authPlugin`, `authParams`, `tlsTrustCertsFilePath`,
    /// `tlsEnableHostnameVerification`, `tlsAllowInsecureConnection`, `tlsCertificateFilePath`,
    /// `tlsKeyFilePath`. Other keys are skipped, and a key without a value counts as not there.
    ///
    /// Note that the file which Pulsar ships says `tlsEnableHostnameVerification=false`; it is
    /// taken at its word.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a value of it cannot be used; the error names file, line and
    /// key.
    pub fn from_client_conf(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| {
            let text = format!("the client configuration {name} cannot be read");
            Error::with_source(ErrorKind::InvalidOption, text, source)
        })?;
        Self::from_conf_text(&name, &text)
    }

    fn from_conf_text(file: &str, text: &str) -> Result<Self, Error> {
        let mut conf = Conf {
            file,
            entries: entries(text),
            found: Vec::new(),
        };
        let settings = conf.settings();
        problems(&conf.found)?;
        Ok(settings)
    }
}

struct Conf<'a> {
    file: &'a str,
    entries: Vec<Entry>,
    found: Vec<String>,
}

impl Conf<'_> {
    fn settings(&mut self) -> Settings {
        self.refuse_what_cannot_work();
        let rest = Settings {
            url: self.url(),
            authorities: self
                .value("tlsTrustCertsFilePath")
                .map(|(_, path)| Pem::file(path)),
            certificate: self.certificate(),
            verification: self.verification(),
            authentication: None,
            listener: self.value("listenerName").map(|(_, name)| name),
        };
        // A certificate in `authParams` goes before the one beside it, as in Java.
        self.authentication().or(rest)
    }

    /// The value of a key, and its line.
    fn value(&self, key: &str) -> Option<(usize, String)> {
        // Of a key that comes twice the last one counts, as in Java.
        let entry = self.entries.iter().rev().find(|entry| entry.key == key)?;
        (!entry.value.is_empty()).then(|| (entry.line, entry.value.clone()))
    }

    fn problem(&mut self, line: usize, what: &str) {
        self.found.push(format!("{}:{line}: {what}", self.file));
    }

    /// Settings that would change how brokers are reached; to pass them over would be worse than
    /// to stop.
    fn refuse_what_cannot_work(&mut self) {
        if let Some((line, true)) = self.flag("useKeyStoreTls") {
            self.problem(
                line,
                "useKeyStoreTls asks for Java's key stores, expected PEM files",
            );
        }
        if let Some((line, _)) = self.value("proxyServiceUrl") {
            self.problem(
                line,
                "proxyServiceUrl names an SNI proxy, which this client does not know",
            );
        }
    }

    fn url(&mut self) -> Option<String> {
        let (line, url) = self.value("brokerServiceUrl")?;
        if let Err(error) = ServiceUrls::parse(&url) {
            self.problem(line, &format!("brokerServiceUrl: {error}"));
        }
        Some(url)
    }

    fn certificate(&mut self) -> Option<ClientCertificate> {
        let keys = ["tlsCertificateFilePath", "tlsKeyFilePath"];
        match keys.map(|key| self.value(key)) {
            [Some((_, chain)), Some((_, key))] => Some(ClientCertificate {
                chain: Pem::file(chain),
                key: Pem::file(key),
            }),
            [None, None] => None,
            [Some((line, _)), None] => {
                self.problem(line, "tlsCertificateFilePath is given without tlsKeyFilePath");
                None
            }
            [None, Some((line, _))] => {
                self.problem(line, "tlsKeyFilePath is given without tlsCertificateFilePath");
                None
            }
        }
    }

    fn verification(&mut self) -> Option<Verification> {
        let insecure = self.flag("tlsAllowInsecureConnection");
        let host_name = self.flag("tlsEnableHostnameVerification");
        match (insecure, host_name) {
            (Some((_, true)), _) => Some(Verification::Off),
            (_, Some((_, false))) => Some(Verification::WithoutHostName),
            (_, Some((_, true))) => Some(Verification::Full),
            _ => None,
        }
    }

    fn flag(&mut self, key: &str) -> Option<(usize, bool)> {
        let (line, value) = self.value(key)?;
        match value.to_ascii_lowercase().as_str() {
            "true" => Some((line, true)),
            "false" => Some((line, false)),
            _ => {
                self.problem(line, &format!("{key} is {value:?}, expected true or false"));
                None
            }
        }
    }

    fn authentication(&mut self) -> Settings {
        let Some((plugin_line, plugin)) = self.value("authPlugin") else {
            if let Some((line, _)) = self.value("authParams") {
                self.problem(line, "authParams is given without authPlugin");
            }
            return Settings::new();
        };
        let (line, params) = self.value("authParams").unwrap_or((plugin_line, String::new()));
        auth_params::read(&plugin, &params).unwrap_or_else(|problem| {
            let line = if problem.is_about_plugin() {
                plugin_line
            } else {
                line
            };
            self.problem(line, &problem.to_string());
            Settings::new()
        })
    }
}

#[cfg(test)]
mod tests;
