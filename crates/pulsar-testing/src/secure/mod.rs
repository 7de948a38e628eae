//! A real broker with TLS and authentication, started for one test program.

mod tokens;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use self::tokens::SHARED_KEY;
pub use self::tokens::{AUDIENCE, IssuerKey, expired_token, token};
use crate::broker::Broker;
use crate::certificates::{Authority, Certificate};
use crate::instance::{Instance, script};

/// The role that may do everything.
pub const ADMIN: &str = "admin";
/// The password of the user `admin`.
pub const ADMIN_PASSWORD: &str = "password-of-admin";
/// `$apr1$` of it, as `openssl passwd -apr1` prints it.
const ADMIN_HASH: &str = "$apr1$reachxyz$2C.LA.XbJB6Q4qPw7FIoE/";
const PROVIDER: &str = "org.apache.pulsar.broker.authentication.AuthenticationProvider";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Whom a broker asks for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Nobody. Clients authenticate by token or password.
    Unasked,
    /// Everybody who comes through TLS. The common name is the role.
    Required,
}

/// A real broker with authentication, a plain port and one with TLS. It checks every five seconds whether the
/// credentials of its clients have expired.
///
/// Its certificate is for `127.0.0.1` only, so `localhost` is a wrong host name. It is killed when this is dropped and
/// when the test program ends, however it ends.
#[derive(Debug)]
pub struct Secure {
    plain: String,
    tls: String,
    authority: Authority,
    /// Killed before its files go.
    #[expect(dead_code, reason = "held until the end")]
    instance: Instance,
    _files: Files,
}

impl Secure {
    /// True where tests run on a real Pulsar (`PULSAR_URL`) and `scripts/pulsar` ran before: no test fetches 235 MB
    /// unasked.
    #[must_use]
    pub fn is_possible() -> bool {
        env::var_os("PULSAR_URL").is_some_and(|url| !url.is_empty()) && Broker::can_own()
    }

    /// Starts one; takes some ten seconds.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(name: &str, certificates: ClientCertificates) -> Self {
        let files = Files::new(name);
        let mut settings = vec![format!(
            "tokenSecretKey=file://{}",
            files.write("token.key", SHARED_KEY)
        )];
        match certificates {
            ClientCertificates::Unasked => {
                let users = files.write("users", format!("{ADMIN}:{ADMIN_HASH}\n").as_bytes());
                settings.push(format!("authenticationProviders={PROVIDER}Token,{PROVIDER}Basic"));
                settings.push(format!("basicAuthConf=file://{users}"));
            }
            ClientCertificates::Required => {
                settings.push(format!("authenticationProviders={PROVIDER}Token,{PROVIDER}Tls"));
                settings.push("tlsRequireTrustedClientCertOnConnect=true".to_owned());
            }
        }
        let authority = Authority::new("the authority of the tests");
        let certificate = authority.issue("broker", &["127.0.0.1"]);
        Self::launch(files, authority, &certificate, settings, &token(ADMIN, DAY), &[])
    }

    /// Starts one that takes the tokens of the OpenID Connect issuer with this key at this HTTPS address, whose
    /// certificate `authority` has issued. The issuer must be there already. The broker's own certificate has expired, so
    /// that there is such a broker too without one more process: come to it by its plain port.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start_with_issuer(name: &str, url: &str, key: &IssuerKey, authority: &Authority) -> Self {
        let files = Files::new(name);
        let trusted = files.write("issuer-ca.pem", authority.pem().as_bytes());
        let settings = vec![
            "authenticationProviders=org.apache.pulsar.broker.authentication.oidc.AuthenticationProviderOpenID".to_owned(),
            format!("openIDAllowedTokenIssuers={url}"),
            format!("openIDAllowedAudiences={AUDIENCE}"),
            format!("openIDTokenIssuerTrustCertsFilePath={trusted}"),
        ];
        let own = Authority::new("the authority of the tests");
        let expired = own.issue_expired("broker", &["127.0.0.1"]);
        Self::launch(
            files,
            own,
            &expired,
            settings,
            &key.token(url, ADMIN, DAY),
            &["--oidc"],
        )
    }

    fn launch(
        files: Files,
        authority: Authority,
        broker: &Certificate,
        mut settings: Vec<String>,
        admin: &str,
        arguments: &[&str],
    ) -> Self {
        let headers = files.write("headers", format!("Authorization: Bearer {admin}\n").as_bytes());
        let pem = |name: &str, text: &str| files.write(name, text.as_bytes());
        settings.extend([
            format!("tlsCertificateFilePath={}", pem("broker.pem", &broker.chain)),
            format!("tlsKeyFilePath={}", pem("broker.key", &broker.key)),
            format!("tlsTrustCertsFilePath={}", pem("ca.pem", authority.pem())),
            "authenticationEnabled=true".to_owned(),
            "authorizationEnabled=true".to_owned(),
            format!("superUserRoles={ADMIN}"),
            "authenticationRefreshCheckSeconds=5".to_owned(),
            "brokerClientAuthenticationPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken"
                .to_owned(),
            format!(r#"brokerClientAuthenticationParameters={{"token":"{admin}"}}"#),
        ]);
        let instance = Instance::with_settings(files.name.clone(), settings);
        let arguments = [&["--tls", "--admin-headers", &headers], arguments].concat();
        let urls = instance.up_with(&arguments);
        Self {
            plain: urls.broker,
            tls: urls.tls.expect("scripts/pulsar up said PULSAR_TLS_URL"),
            authority,
            instance,
            _files: files,
        }
    }

    /// `pulsar://127.0.0.1:port`
    #[must_use]
    pub fn plain_url(&self) -> &str {
        &self.plain
    }

    /// `pulsar+ssl://127.0.0.1:port`
    #[must_use]
    pub fn tls_url(&self) -> &str {
        &self.tls
    }

    /// The authority that issued the broker's certificate and whose clients it trusts.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// A certificate for the client of this role.
    #[must_use]
    pub fn client(&self, role: &str) -> Certificate {
        self.authority.issue(role, &["127.0.0.1"])
    }
}

/// The keys and certificates of one broker, in a folder that goes with them.
#[derive(Debug)]
struct Files {
    name: String,
    folder: PathBuf,
}

impl Files {
    /// Watched from the first file on, so that nothing stays behind a test program that is killed.
    fn new(name: &str) -> Self {
        let name = format!("secure-{name}-{}", std::process::id());
        let folder = env::temp_dir().join(&name);
        watch(&name, &folder).expect("a shell");
        fs::create_dir_all(&folder).expect("a folder for keys");
        Self { name, folder }
    }

    fn write(&self, file: &str, text: &[u8]) -> String {
        let path = self.folder.join(file);
        fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Kills the broker when this program ends, however that happens: brokers of a whole test program live in a static,
/// which nobody drops. The shell waits for the end of its input.
fn watch(name: &str, folder: &Path) -> std::io::Result<()> {
    let script = script().display().to_string();
    let shell = Command::new("sh")
        .args([
            "-c",
            r#"cat >/dev/null; "$1" kill --name "$2"; "$1" down --remove --name "$2"; rm -rf "$3""#,
            "sh",
            &script,
            name,
        ])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Its input ends with this program.
    std::mem::forget(shell);
    Ok(())
}
