//! A real broker with TLS and authentication, started for one test program.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

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
const KEY: &[u8; 32] = b"the key of tokens of tests, 32 B";
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
    folder: PathBuf,
    authority: Authority,
    instance: Instance,
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
        let name = format!("secure-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir_all(&folder).expect("a folder for keys");
        let authority = Authority::new("the authority of the tests");
        let write = |file: &str, text: &[u8]| {
            let path = folder.join(file);
            fs::write(&path, text).expect("a file can be written");
            path.display().to_string()
        };
        let broker = authority.issue("broker", &["127.0.0.1"]);
        let admin = token(ADMIN, DAY);
        let headers = write("headers", format!("Authorization: Bearer {admin}\n").as_bytes());
        let mut settings = vec![
            format!(
                "tlsCertificateFilePath={}",
                write("broker.pem", broker.chain.as_bytes())
            ),
            format!("tlsKeyFilePath={}", write("broker.key", broker.key.as_bytes())),
            format!(
                "tlsTrustCertsFilePath={}",
                write("ca.pem", authority.pem().as_bytes())
            ),
            "authenticationEnabled=true".to_owned(),
            "authorizationEnabled=true".to_owned(),
            "superUserRoles=admin".to_owned(),
            "authenticationRefreshCheckSeconds=5".to_owned(),
            format!("tokenSecretKey=file://{}", write("token.key", KEY)),
            "brokerClientAuthenticationPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken"
                .to_owned(),
            format!(r#"brokerClientAuthenticationParameters={{"token":"{admin}"}}"#),
        ];
        match certificates {
            ClientCertificates::Unasked => {
                let users = write("users", format!("{ADMIN}:{ADMIN_HASH}\n").as_bytes());
                settings.push(format!("authenticationProviders={PROVIDER}Token,{PROVIDER}Basic"));
                settings.push(format!("basicAuthConf=file://{users}"));
            }
            ClientCertificates::Required => {
                settings.push(format!("authenticationProviders={PROVIDER}Token,{PROVIDER}Tls"));
                settings.push("tlsRequireTrustedClientCertOnConnect=true".to_owned());
            }
        }
        let watch = watch(&name);
        let instance = Instance::with_settings(name, settings);
        let urls = instance.up_with(&["--tls", "--admin-headers", &headers]);
        watch.expect("a shell");
        Self {
            plain: urls.broker,
            tls: urls.tls.expect("scripts/pulsar up said PULSAR_TLS_URL"),
            folder,
            authority,
            instance,
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

impl Drop for Secure {
    fn drop(&mut self) {
        self.instance.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A token for this role that all these brokers take for so long, to whole seconds.
///
/// # Panics
/// When the clock stands before 1970.
#[must_use]
pub fn token(role: &str, life: Duration) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time after 1970");
    signed(role, now + life)
}

/// One that has expired an hour ago.
///
/// # Panics
/// When the clock stands before 1970.
#[must_use]
pub fn expired_token(role: &str) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time after 1970");
    signed(role, now.saturating_sub(Duration::from_secs(3600)))
}

fn signed(role: &str, expires: Duration) -> String {
    let claims = format!(r#"{{"sub":"{role}","exp":{}}}"#, expires.as_secs());
    let text = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#),
        URL_SAFE_NO_PAD.encode(claims)
    );
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, KEY), text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Kills the broker when this program ends, however that happens: brokers of a whole test program live in a static,
/// which nobody drops. The shell waits for the end of its input.
fn watch(name: &str) -> std::io::Result<()> {
    let script = script().display().to_string();
    let shell = Command::new("sh")
        .args([
            "-c",
            r#"cat >/dev/null; "$1" kill --name "$2"; "$1" down --remove --name "$2"; rm -rf "$3""#,
            "sh",
            &script,
            name,
        ])
        .arg(std::env::temp_dir().join(name))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Its input ends with this program.
    std::mem::forget(shell);
    Ok(())
}
