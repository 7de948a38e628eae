//! Where the broker is and how it is reached: flags over the environment over a `client.conf`.

use std::env::var_os;
use std::path::PathBuf;
use std::time::Duration;

use babelqueue_pulsar::pulsar_tokio::{self, Authentication, OAuth2, Pem};
use babelqueue_pulsar::{Pulsar, Settings};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::failure::Failure;

/// How long opening something may take, so that an absent broker is told about soon.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Where Pulsar listens on the same machine.
const LOCAL: &str = "pulsar://localhost:6650";

/// The variable that names a `client.conf`.
const CLIENT_CONF: &str = "PULSAR_CLIENT_CONF";

/// Where the broker is and how it is reached. None of these takes a secret: others on the machine can
/// read the command line, so secrets come from files or from the environment.
// Not clap's `env`: a flag has to go before the variables of its whole group, so that --token-file wins
// over PULSAR_BASIC_USER.
// Flattened last, since the heading is also that of the options behind it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reaching the broker")]
pub(crate) struct ServiceArgs {
    /// The broker's service URL: pulsar://host:6650, pulsar+ssl://host:6651 for TLS, several hosts with
    /// commas. Default pulsar://localhost:6650 [env: PULSAR_URL]
    #[arg(long)]
    url: Option<String>,
    /// A file in the format of Pulsar's client.conf, for what neither flags nor environment say
    /// [env: PULSAR_CLIENT_CONF]
    #[arg(long, value_name = "FILE")]
    client_conf: Option<PathBuf>,
    /// The authorities whose certificates are trusted, PEM, instead of the system's [env: PULSAR_TLS_CA]
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The client's certificate with its chain, PEM; also its identity unless another is given
    /// [env: PULSAR_TLS_CERT]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of that certificate, PEM [env: PULSAR_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A file with a token [env: PULSAR_TOKEN_FILE, or the token itself in PULSAR_TOKEN]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["basic_user", "oauth2_key_file"])]
    token_file: Option<PathBuf>,
    /// The user for authentication by password [env: PULSAR_BASIC_USER]
    #[arg(long, value_name = "NAME", requires = "basic_password_file", conflicts_with = "oauth2_key_file", value_parser = NonEmptyStringValueParser::new())]
    basic_user: Option<String>,
    /// A file with that user's password [env: PULSAR_BASIC_PASSWORD_FILE]
    #[arg(long, value_name = "FILE", requires = "basic_user")]
    basic_password_file: Option<PathBuf>,
    /// Pulsar's JSON key file of an OAuth2 client [env: PULSAR_OAUTH2_KEY_FILE]
    #[arg(long, value_name = "FILE")]
    oauth2_key_file: Option<PathBuf>,
    /// The OAuth2 issuer, instead of the key file's [env: PULSAR_OAUTH2_ISSUER]
    #[arg(long, value_name = "URL", requires = "oauth2_key_file", value_parser = NonEmptyStringValueParser::new())]
    oauth2_issuer: Option<String>,
    /// The audience to ask the issuer for [env: PULSAR_OAUTH2_AUDIENCE]
    #[arg(long, value_name = "TEXT", requires = "oauth2_key_file", value_parser = NonEmptyStringValueParser::new())]
    oauth2_audience: Option<String>,
    /// The scope to ask the issuer for [env: PULSAR_OAUTH2_SCOPE]
    #[arg(long, value_name = "TEXT", requires = "oauth2_key_file", value_parser = NonEmptyStringValueParser::new())]
    oauth2_scope: Option<String>,
    /// The advertised listener whose addresses the brokers should give out [env: PULSAR_LISTENER]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    listener: Option<String>,
}

impl ServiceArgs {
    /// The cluster; nothing is dialled yet.
    pub(super) fn pulsar(&self) -> Result<Pulsar, Failure> {
        let settings = self.flags().or(self.below()?).or(Settings::new().url(LOCAL));
        let pulsar = Pulsar::with_settings(settings)
            .operation_timeout(OPERATION_TIMEOUT)
            .build()?;
        Ok(pulsar)
    }

    fn flags(&self) -> Settings {
        let mut settings = Settings::new();
        if let Some(url) = &self.url {
            settings = settings.url(url);
        }
        if let Some(authorities) = &self.tls_ca {
            settings = settings.trusted_authorities(Pem::file(authorities));
        }
        if let (Some(chain), Some(key)) = (&self.tls_cert, &self.tls_key) {
            settings = settings.client_certificate(Pem::file(chain), Pem::file(key));
        }
        if let Some(authentication) = self.authentication() {
            settings = settings.authentication(authentication);
        }
        if let Some(name) = &self.listener {
            settings = settings.listener_name(name);
        }
        settings
    }

    fn authentication(&self) -> Option<Authentication> {
        if let Some(file) = &self.token_file {
            return Some(Authentication::token_file(file));
        }
        if let (Some(user), Some(file)) = (&self.basic_user, &self.basic_password_file) {
            return Some(Authentication::basic_with_password_file(user, file));
        }
        let mut oauth2 = OAuth2::key_file(self.oauth2_key_file.as_ref()?);
        if let Some(issuer) = &self.oauth2_issuer {
            oauth2 = oauth2.issuer(issuer);
        }
        if let Some(audience) = &self.oauth2_audience {
            oauth2 = oauth2.audience(audience);
        }
        if let Some(scope) = &self.oauth2_scope {
            oauth2 = oauth2.scope(scope);
        }
        Some(Authentication::oauth2(oauth2))
    }

    /// What the environment says, and below it the file: that of the flag instead of the variable's.
    fn below(&self) -> Result<Settings, Failure> {
        let read = || match &self.client_conf {
            None => Settings::from_environment(),
            Some(file) => {
                let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
                let environment = Settings::from_variables(|name| match name {
                    CLIENT_CONF => None,
                    name => var_os(name).map(text),
                })?;
                Ok(environment.or(Settings::from_client_conf(file)?))
            }
        };
        read().map_err(|error: pulsar_tokio::Error| Failure::settings(&error))
    }
}
