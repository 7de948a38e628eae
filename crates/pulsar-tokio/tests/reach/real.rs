//! The same against a real Pulsar with TLS and authentication, where `scripts/pulsar` has run before.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use pulsar_testing::certificates::Authority;
use pulsar_testing::secure::{
    ADMIN, ADMIN_PASSWORD, AUDIENCE, ClientCertificates, IssuerKey, Secure, expired_token, token,
};
use pulsar_tokio::{
    Authentication, Client, Error, ErrorKind, Health, InitialPosition, Message, NewMessage, OAuth2, Secret,
    ServerError, Settings,
};

use crate::certificates::{pems, server, trust};
use crate::issuer::{Issuer, Manner, SECRET};
use crate::secrecy::Seen;
use crate::support::{ack, receive, text, within};

/// What a user can wait for to hear of a mistake.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Long enough for every test.
const LONG: Duration = Duration::from_secs(3600);

static UNASKED: OnceLock<Secure> = OnceLock::new();
static REQUIRED: OnceLock<Secure> = OnceLock::new();
static OPEN_ID: OnceLock<(Secure, Issuer, Authority)> = OnceLock::new();

/// What all tests share that ask for it: a broker, with its issuer where it has one. Skips where none can be had.
macro_rules! shared {
    ($start:expr) => {{
        if !Secure::is_possible() {
            return pulsar_testing::skip(
                "BABELQUEUE_REQUIRE_BROKER",
                "needs a real Pulsar: certificates and credentials are checked by it",
            );
        }
        tokio::task::spawn_blocking($start).await.expect("a broker")
    }};
}

fn unasked() -> &'static Secure {
    UNASKED.get_or_init(|| Secure::start("unasked", ClientCertificates::Unasked))
}

fn required() -> &'static Secure {
    REQUIRED.get_or_init(|| Secure::start("required", ClientCertificates::Required))
}

fn open_id() -> &'static (Secure, Issuer, Authority) {
    OPEN_ID.get_or_init(|| {
        let (authority, key) = (Authority::new("of the issuer"), Arc::new(IssuerKey::new()));
        let manner = Manner {
            expires_in: "6",
            key: Some(key.clone()),
            ..Manner::default()
        };
        let issuer = Issuer::for_the_whole_program(manner, server(&authority, &["127.0.0.1"]));
        let broker = Secure::start_with_issuer("open-id", issuer.url(), &key, &authority);
        (broker, issuer, authority)
    })
}

/// With TLS, the right authority, and no credentials.
fn settings(broker: &Secure) -> Settings {
    Settings::new()
        .url(broker.tls_url())
        .trusted_authorities(trust(broker.authority()))
}

/// To the broker with an issuer, whose certificate has expired.
fn plain(broker: &Secure) -> Settings {
    Settings::new().url(broker.plain_url())
}

fn topic(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// Sends a message there and back.
async fn there_and_back(settings: Settings, topic: &str) -> Result<Message, Error> {
    let client = Client::with_settings(settings).build()?;
    let consumer = client
        .consumer(topic, "sub")
        .initial_position(InitialPosition::Earliest)
        .open()
        .await?;
    let producer = client.producer(topic).open().await?;
    producer.send(NewMessage::new("hello")).await?;
    Ok(receive(&consumer).await)
}

async fn works(settings: Settings, name: &str) {
    let message = within("a message", there_and_back(settings, &topic(name))).await;
    assert_eq!(text(&message.expect("a message")), "hello");
}

/// The error of somebody who tries, at once and in one sentence.
async fn refusal(settings: Settings, named: &str) -> Error {
    let begin = Instant::now();
    let error = within("a refusal", there_and_back(settings, &topic("refused"))).await;
    let error = error.expect_err("a refusal");
    assert!(begin.elapsed() < AT_ONCE, "{error} after {:?}", begin.elapsed());
    let text = error.to_string();
    assert!(text.contains(named), "{text}");
    assert!(!text.contains('\n'), "{text}");
    error
}

fn admin_token() -> Authentication {
    Authentication::token(token(ADMIN, LONG))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_broker_is_reached_through_tls_by_token_and_by_password() {
    let broker = shared!(unasked);
    works(settings(broker).authentication(admin_token()), "by-token").await;
    let password = Authentication::basic(ADMIN, ADMIN_PASSWORD);
    works(settings(broker).authentication(password.clone()), "by-password").await;
    works(
        settings(broker).url(broker.plain_url()).authentication(password),
        "plain",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_broker_of_an_unknown_authority_is_refused() {
    let broker = shared!(unasked);
    let stranger = Authority::new("a stranger");
    let settings = settings(broker).authentication(admin_token());
    let error = refusal(
        settings.clone().trusted_authorities(trust(&stranger)),
        broker.tls_url(),
    )
    .await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    let settings = settings
        .trusted_authorities(trust(&stranger))
        .danger_accept_any_certificate();
    works(settings, "any-certificate").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_broker_whose_certificate_has_expired_is_refused() {
    let (broker, _, _) = shared!(open_id);
    let error = refusal(settings(broker), broker.tls_url()).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(error.to_string().contains("has expired"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_broker_under_a_name_that_is_not_in_its_certificate_is_refused() {
    let broker = shared!(unasked);
    let url = broker.tls_url().replace("127.0.0.1", "localhost");
    let settings = settings(broker).url(&url).authentication(admin_token());
    let error = refusal(settings.clone(), &url).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    works(settings.danger_accept_wrong_host_names(), "any-host").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_that_are_mixed_up_are_named() {
    let broker = shared!(unasked);
    let settings = settings(broker).authentication(admin_token());
    let tls_to_plain = broker.plain_url().replace("pulsar://", "pulsar+ssl://");
    let error = refusal(settings.clone().url(&tls_to_plain), &tls_to_plain).await;
    assert!(error.to_string().contains("without TLS"), "{error}");
    let plain_to_tls = broker.tls_url().replace("pulsar+ssl://", "pulsar://");
    let error = refusal(settings.url(&plain_to_tls), &plain_to_tls).await;
    assert!(error.to_string().contains("pulsar+ssl://"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_broker_wants_good_credentials() {
    let broker = shared!(unasked);
    for (authentication, method) in [
        (Authentication::token(expired_token(ADMIN)), "\"token\""),
        (Authentication::token("no-token-at-all"), "\"token\""),
        (Authentication::basic(ADMIN, "wrong-password"), "\"basic\""),
        (Authentication::basic("nobody", ADMIN_PASSWORD), "\"basic\""),
        (Authentication::none(), "without authentication"),
    ] {
        let error = refusal(settings(broker).authentication(authentication), method).await;
        assert_eq!(error.kind(), ErrorKind::Refused(ServerError::AuthenticationError));
    }
    let stranger = Authentication::token(token("stranger", LONG));
    let error = refusal(settings(broker).authentication(stranger), "Authorization").await;
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::AuthorizationError));
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_goes_on_while_tokens_expire() {
    let broker = shared!(unasked);
    let given = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = given.clone();
    let short_lived = Authentication::token_from(move || {
        counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Ok(Secret::new(token(ADMIN, Duration::from_secs(6)))) }
    });
    publish_for_a_while(settings(broker).authentication(short_lived), "short-lived").await;
    // Two connections begin with one each; the broker checks every five seconds.
    let given = given.load(std::sync::atomic::Ordering::SeqCst);
    assert!(given >= 4, "{given} tokens");
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_goes_on_while_tokens_of_an_issuer_expire() {
    let (broker, issuer, authority) = shared!(open_id);
    let before = issuer.given();
    let oauth2 = OAuth2::client(issuer.url(), "app", SECRET)
        .audience(AUDIENCE)
        .trusted_authorities(trust(authority));
    let settings = plain(broker).authentication(Authentication::oauth2(oauth2));
    publish_for_a_while(settings, "issued").await;
    let given = issuer.given() - before;
    assert!((2..12).contains(&given), "{given} tokens");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_refuses_a_wrong_secret_and_a_broker_the_token_of_another_issuer() {
    let (broker, issuer, authority) = shared!(open_id);
    let wrong = OAuth2::client(issuer.url(), "app", "wrong").trusted_authorities(trust(authority));
    let wrong = plain(broker).authentication(Authentication::oauth2(wrong));
    let error = refusal(wrong, issuer.url()).await;
    assert_eq!(error.kind(), ErrorKind::Credentials);

    let stranger = IssuerKey::new().token(issuer.url(), ADMIN, LONG);
    let stranger = plain(broker).authentication(Authentication::token(stranger));
    let error = refusal(stranger, "\"token\"").await;
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::AuthenticationError));
}

/// Publishes and consumes for 20 seconds; nothing is lost, nothing waits.
async fn publish_for_a_while(settings: Settings, name: &str) {
    let client = Client::with_settings(settings).build().expect("a client");
    let topic = topic(name);
    let consumer = within("a consumer", client.consumer(&topic, "sub").open()).await;
    let consumer = consumer.expect("a consumer");
    let producer = within("a producer", client.producer(&topic).open()).await;
    let producer = producer.expect("a producer");
    let begin = Instant::now();
    let mut number = 0_u32;
    while begin.elapsed() < Duration::from_secs(20) {
        let sending = producer.send(NewMessage::new(number.to_string()));
        within("a receipt", sending).await.expect("a receipt");
        let message = receive(&consumer).await;
        assert_eq!(text(&message), number.to_string());
        ack(&consumer, message.ticket).await;
        number += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(producer.health(), Health::Open);
    assert_eq!(consumer.stats()[0].health, Health::Open);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_an_identity() {
    let broker = shared!(required);
    let (chain, key) = pems(&broker.client(ADMIN));
    works(settings(broker).client_certificate(chain, key), "by-certificate").await;
    let (chain, key) = pems(&broker.client("stranger"));
    let settings = settings(broker).client_certificate(chain, key);
    let error = refusal(settings, "Authorization").await;
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::AuthorizationError));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_certificate_or_with_a_foreign_one_is_told_so() {
    let broker = shared!(required);
    let error = refusal(settings(broker), broker.tls_url()).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(
        error.to_string().contains("requires a client certificate"),
        "{error}"
    );
    let (chain, key) = pems(&Authority::new("a stranger").issue(ADMIN, &["127.0.0.1"]));
    let error = refusal(settings(broker).client_certificate(chain, key), broker.tls_url()).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(error.to_string().contains("client certificate"), "{error}");
}

#[tokio::test]
async fn no_secret_shows_when_a_real_broker_or_issuer_refuses() {
    let seen = Seen::logging();
    let broker = shared!(unasked);
    let (of_issuer, issuer, authority) = shared!(open_id);
    let wrong = OAuth2::client(issuer.url(), "app", "wrong-secret").trusted_authorities(trust(authority));
    let good = token(ADMIN, LONG);
    let expired = expired_token(ADMIN);
    let foreign = Authority::new("a stranger").issue(ADMIN, &["127.0.0.1"]);
    let (chain, key) = pems(&foreign);
    let secrets = [
        &good,
        &expired,
        ADMIN_PASSWORD,
        "wrong-secret",
        "wrong-password",
        &foreign.key,
    ];
    for settings in [
        settings(broker).authentication(Authentication::token(good.as_str())),
        settings(broker).authentication(Authentication::token(expired.as_str())),
        settings(broker).authentication(Authentication::basic(ADMIN, ADMIN_PASSWORD)),
        settings(broker).authentication(Authentication::basic(ADMIN, "wrong-password")),
        settings(broker)
            .authentication(Authentication::token(good.as_str()))
            .client_certificate(chain, key),
        plain(of_issuer).authentication(Authentication::oauth2(wrong)),
    ] {
        seen.print(&settings);
        let client = Client::with_settings(settings).build().unwrap();
        seen.print(&client);
        match within("an answer", client.producer(&topic("secrecy")).open()).await {
            Ok(producer) => seen.print(&producer),
            Err(error) => seen.error(&error),
        }
    }
    let text = seen.text();
    assert!(text.contains("AuthenticationError"), "{text}");
    for secret in secrets {
        // A key is many lines; one of them is enough to know it by.
        let part = secret.lines().nth(1).unwrap_or(secret);
        assert!(!text.contains(part), "{part} in {text}");
    }
}
