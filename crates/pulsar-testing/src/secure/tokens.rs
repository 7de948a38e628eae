//! Tokens that the brokers of tests take.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

/// The key that brokers and tests share.
pub(super) const SHARED_KEY: &[u8; 32] = b"the key of tokens of tests, 32 B";
/// What the tokens of an issuer are for.
pub const AUDIENCE: &str = "pulsar";
const KEY_ID: &str = "the-only-one";

/// A token for this role that brokers with token authentication take for so long, to whole seconds.
///
/// # Panics
/// When the clock stands before 1970.
#[must_use]
pub fn token(role: &str, life: Duration) -> String {
    shared(role, now() + life)
}

/// One that expired an hour ago.
///
/// # Panics
/// When the clock stands before 1970.
#[must_use]
pub fn expired_token(role: &str) -> String {
    shared(role, now().saturating_sub(Duration::from_secs(3600)))
}

fn shared(role: &str, expires: Duration) -> String {
    let claims = format!(r#"{{"sub":"{role}","exp":{}}}"#, expires.as_secs());
    let text = unsigned(r#"{"alg":"HS256"}"#, &claims);
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SHARED_KEY), text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn unsigned(head: &str, claims: &str) -> String {
    format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(head),
        URL_SAFE_NO_PAD.encode(claims)
    )
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time after 1970")
}

/// The key of an OpenID Connect issuer (ES256).
#[derive(Debug)]
pub struct IssuerKey(EcdsaKeyPair);

impl IssuerKey {
    /// A new key.
    ///
    /// # Panics
    /// When the system has no random numbers.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        Self(EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).expect("the key just made"))
    }

    /// What the issuer answers at its `jwks_uri`.
    #[must_use]
    pub fn jwks(&self) -> String {
        // 4, x and y.
        let point = self.0.public_key().as_ref();
        let (x, y) = (
            URL_SAFE_NO_PAD.encode(&point[1..33]),
            URL_SAFE_NO_PAD.encode(&point[33..]),
        );
        format!(
            r#"{{"keys":[{{"kty":"EC","use":"sig","alg":"ES256","crv":"P-256","kid":"{KEY_ID}","x":"{x}","y":"{y}"}}]}}"#
        )
    }

    /// A token of the issuer at this URL for this role, good for so long, to whole seconds.
    ///
    /// # Panics
    /// When the clock stands before 1970.
    #[must_use]
    pub fn token(&self, issuer: &str, role: &str, life: Duration) -> String {
        let (now, expires) = (now().as_secs(), (now() + life).as_secs());
        let claims = format!(
            r#"{{"iss":"{issuer}","sub":"{role}","aud":"{AUDIENCE}","iat":{now},"nbf":{now},"exp":{expires}}}"#
        );
        let head = format!(r#"{{"alg":"ES256","typ":"JWT","kid":"{KEY_ID}"}}"#);
        let text = unsigned(&head, &claims);
        let signature = self
            .0
            .sign(&SystemRandom::new(), text.as_bytes())
            .expect("a signature");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
