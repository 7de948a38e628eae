//! Settings from the environment.

use std::env::VarError;

use crate::auth::{Authentication, OAuth2};
use crate::error::Error;
use crate::secret::Secret;
use crate::tls::Pem;

use super::{ClientCertificate, Settings, problems};

const VARIABLES: [&str; 14] = [
    "PULSAR_CLIENT_CONF",
    "PULSAR_URL",
    "PULSAR_TLS_CA",
    "PULSAR_TLS_CERT",
    "PULSAR_TLS_KEY",
    "PULSAR_TOKEN",
    "PULSAR_TOKEN_FILE",
    "PULSAR_BASIC_USER",
    "PULSAR_BASIC_PASSWORD_FILE",
    "PULSAR_OAUTH2_KEY_FILE",
    "PULSAR_OAUTH2_ISSUER",
    "PULSAR_OAUTH2_AUDIENCE",
    "PULSAR_OAUTH2_SCOPE",
    "PULSAR_LISTENER",
];

impl Settings {
    /// The settings that the environment gives. A variable that is empty counts as not set.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `PULSAR_CLIENT_CONF` | a file as for [`Settings::from_client_conf`]; the other variables go before it |
    /// | `PULSAR_URL` | the service URL |
    /// | `PULSAR_TLS_CA` | file with the trusted authorities |
    /// | `PULSAR_TLS_CERT`, `PULSAR_TLS_KEY` | files with the client's certificate and its private key |
    /// | `PULSAR_TOKEN` or `PULSAR_TOKEN_FILE` | the token, or a file that is read for each use |
    /// | `PULSAR_BASIC_USER`, `PULSAR_BASIC_PASSWORD_FILE` | user and file with the password |
    /// | `PULSAR_OAUTH2_KEY_FILE` | Pulsar's JSON key file of an OAuth2 client |
    /// | `PULSAR_OAUTH2_ISSUER`, `_AUDIENCE`, `_SCOPE` | what goes with it; the issuer before the file's |
    /// | `PULSAR_LISTENER` | name of the advertised listener |
    ///
    /// # Errors
    ///
    /// Variables contradict each other or lack a companion, or the file cannot be used; the error
    /// names them.
    pub fn from_environment() -> Result<Self, Error> {
        let mut found = Vec::new();
        for name in VARIABLES {
            if let Err(VarError::NotUnicode(_)) = std::env::var(name) {
                found.push(format!("{name} is not UTF-8"));
            }
        }
        problems(&found)?;
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The settings that `variable` gives, as [`Settings::from_environment`] reads them.
    ///
    /// # Errors
    ///
    /// As for [`Settings::from_environment`].
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut found = Vec::new();
        let settings = Self {
            url: variable("PULSAR_URL"),
            authorities: variable("PULSAR_TLS_CA").map(Pem::file),
            certificate: certificate(&variable, &mut found),
            verification: None,
            authentication: authentication(&variable, &mut found),
            listener: variable("PULSAR_LISTENER"),
        };
        problems(&found)?;
        match variable("PULSAR_CLIENT_CONF") {
            Some(path) => Ok(settings.or(Self::from_client_conf(path)?)),
            None => Ok(settings),
        }
    }
}

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Two variables that mean something only together.
fn pair(variable: Variable<'_>, names: [&str; 2], found: &mut Vec<String>) -> Option<(String, String)> {
    match names.map(variable) {
        [Some(first), Some(second)] => Some((first, second)),
        [None, None] => None,
        [first, _] => {
            let [set, missing] = if first.is_some() {
                names
            } else {
                [names[1], names[0]]
            };
            found.push(format!("{set} is set without {missing}"));
            None
        }
    }
}

fn certificate(variable: Variable<'_>, found: &mut Vec<String>) -> Option<ClientCertificate> {
    let (chain, key) = pair(variable, ["PULSAR_TLS_CERT", "PULSAR_TLS_KEY"], found)?;
    Some(ClientCertificate {
        chain: Pem::file(chain),
        key: Pem::file(key),
    })
}

fn authentication(variable: Variable<'_>, found: &mut Vec<String>) -> Option<Authentication> {
    let token = variable("PULSAR_TOKEN").map(|token| Authentication::token(Secret::new(token.trim())));
    let token_file = variable("PULSAR_TOKEN_FILE").map(Authentication::token_file);
    let basic = pair(
        variable,
        ["PULSAR_BASIC_USER", "PULSAR_BASIC_PASSWORD_FILE"],
        found,
    )
    .map(|(user, file)| Authentication::basic_with_password_file(user, file));
    let mut ways: Vec<(&str, Authentication)> = [
        ("PULSAR_TOKEN", token),
        ("PULSAR_TOKEN_FILE", token_file),
        ("PULSAR_BASIC_USER", basic),
        ("PULSAR_OAUTH2_KEY_FILE", oauth2(variable, found)),
    ]
    .into_iter()
    .filter_map(|(name, way)| Some((name, way?)))
    .collect();
    if ways.len() > 1 {
        let names: Vec<&str> = ways.iter().map(|(name, _)| *name).collect();
        found.push(format!("{} are set, expected one of them", names.join(" and ")));
    }
    ways.pop().map(|(_, way)| way)
}

fn oauth2(variable: Variable<'_>, found: &mut Vec<String>) -> Option<Authentication> {
    let more = [
        "PULSAR_OAUTH2_ISSUER",
        "PULSAR_OAUTH2_AUDIENCE",
        "PULSAR_OAUTH2_SCOPE",
    ];
    let Some(file) = variable("PULSAR_OAUTH2_KEY_FILE") else {
        if let Some(name) = more.into_iter().find(|name| variable(name).is_some()) {
            found.push(format!("{name} is set without PULSAR_OAUTH2_KEY_FILE"));
        }
        return None;
    };
    let mut oauth2 = OAuth2::key_file(file);
    let [issuer, audience, scope] = more.map(variable);
    if let Some(issuer) = issuer {
        oauth2 = oauth2.issuer(issuer);
    }
    if let Some(audience) = audience {
        oauth2 = oauth2.audience(audience);
    }
    if let Some(scope) = scope {
        oauth2 = oauth2.scope(scope);
    }
    Some(Authentication::oauth2(oauth2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, Error> {
        Settings::from_variables(|name| {
            assert!(VARIABLES.contains(&name), "{name} is on the list");
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn each_variable_has_its_place() {
        let settings = settings(&[
            ("PULSAR_URL", "pulsar+ssl://h"),
            ("PULSAR_TLS_CA", "/ca.pem"),
            ("PULSAR_TLS_CERT", "/c.pem"),
            ("PULSAR_TLS_KEY", "/k.pem"),
            ("PULSAR_TOKEN", "s3cret"),
            ("PULSAR_LISTENER", "outside"),
            ("PULSAR_BASIC_USER", ""),
        ])
        .unwrap();
        assert_eq!(settings.url.as_deref(), Some("pulsar+ssl://h"));
        assert_eq!(settings.listener.as_deref(), Some("outside"));
        let text = format!("{settings:?}");
        for shown in ["/ca.pem", "/c.pem", "/k.pem", "token"] {
            assert!(text.contains(shown), "{text}");
        }
        assert!(!text.contains("s3cret"), "{text}");
    }

    #[test]
    fn variables_that_contradict_each_other_are_refused_by_name() {
        for (variables, named) in [
            (
                &[("PULSAR_TOKEN", "s3cret"), ("PULSAR_TOKEN_FILE", "/t")][..],
                "PULSAR_TOKEN and PULSAR_TOKEN_FILE are set",
            ),
            (
                &[("PULSAR_TLS_CERT", "/c")],
                "PULSAR_TLS_CERT is set without PULSAR_TLS_KEY",
            ),
            (
                &[("PULSAR_TLS_KEY", "/k")],
                "PULSAR_TLS_KEY is set without PULSAR_TLS_CERT",
            ),
            (
                &[("PULSAR_BASIC_PASSWORD_FILE", "/p")],
                "PULSAR_BASIC_PASSWORD_FILE is set without PULSAR_BASIC_USER",
            ),
            (
                &[("PULSAR_OAUTH2_AUDIENCE", "a")],
                "PULSAR_OAUTH2_AUDIENCE is set without PULSAR_OAUTH2_KEY_FILE",
            ),
        ] {
            let error = settings(variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidOption);
            assert!(error.to_string().contains(named), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn code_goes_before_the_environment() {
        let lower = settings(&[("PULSAR_URL", "pulsar://env"), ("PULSAR_LISTENER", "l")]).unwrap();
        let both = Settings::new().url("pulsar://code").or(lower);
        assert_eq!(both.service_url(), Some("pulsar://code"));
        assert_eq!(both.listener.as_deref(), Some("l"));
    }

    #[test]
    fn the_environment_goes_before_the_file_that_it_names() {
        let path = std::env::temp_dir().join(format!("pulsar-tokio-conf-{}", std::process::id()));
        let text = "brokerServiceUrl=pulsar://file\nauthPlugin=token\nauthParams=token:s3cret\n";
        std::fs::write(&path, text).unwrap();
        let name = path.display().to_string();
        let both = settings(&[("PULSAR_CLIENT_CONF", &name), ("PULSAR_URL", "pulsar://env")]).unwrap();
        assert_eq!(both.service_url(), Some("pulsar://env"));
        assert_eq!(format!("{:?}", both.given_authentication()), "Some(token(***))");
        let other = settings(&[("PULSAR_CLIENT_CONF", &name), ("PULSAR_TOKEN_FILE", "/t")]).unwrap();
        assert_eq!(format!("{:?}", other.given_authentication()), "Some(token(/t))");
        std::fs::remove_file(&path).unwrap();
        let error = settings(&[("PULSAR_CLIENT_CONF", &name)]).unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
    }
}
