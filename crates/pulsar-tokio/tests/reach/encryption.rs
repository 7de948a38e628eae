//! TLS: who is trusted, who is refused, and how that is said.

use std::time::{Duration, Instant};

use pulsar_testing::certificates::Authority;
use pulsar_tokio::{Client, Error, ErrorKind, Health, NewMessage, Pem, Settings};
use pulsar_wire::Command;

use crate::certificates::{Clients, pems, server, server_with, trust};
use crate::scripted::{Scripted, found, hang_up, mute};
use crate::support::within;

/// What a user can wait for to hear of a mistake.
const AT_ONCE: Duration = Duration::from_secs(5);

async fn send(settings: Settings) -> Result<(), Error> {
    let client = Client::with_settings(settings).build()?;
    let producer = client.producer("orders").open().await?;
    producer.send(NewMessage::new("hello")).await?;
    Ok(())
}

/// The error of somebody who tries, at once.
async fn refusal(settings: Settings) -> Error {
    let begin = Instant::now();
    let error = within("a refusal", send(settings)).await.expect_err("a refusal");
    assert!(begin.elapsed() < AT_ONCE, "{error} after {:?}", begin.elapsed());
    error
}

#[tokio::test]
async fn a_broker_with_the_certificate_of_a_given_authority_is_reached() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let broker = Scripted::with_tls(server).await;
    let settings = Settings::new()
        .url(broker.url())
        .trusted_authorities(trust(&authority));
    within("a send", send(settings)).await.unwrap();
}

/// What the test below runs in a process of its own.
#[tokio::test]
async fn a_send_without_given_authorities() {
    if let Ok(url) = std::env::var("REACH_BY_SYSTEM") {
        within("a send", send(Settings::new().url(url))).await.unwrap();
    }
}

#[tokio::test]
async fn a_broker_with_the_certificate_of_an_authority_of_the_system_is_reached() {
    let authority = Authority::new("of the system");
    let broker = Scripted::with_tls(server(&authority, &["127.0.0.1"])).await;
    let error = refusal(Settings::new().url(broker.url())).await;
    assert_eq!(error.kind(), ErrorKind::Tls);

    // What the system trusts can be told by this variable, as with OpenSSL; a process has one value.
    let file = std::env::temp_dir().join(format!("pulsar-tokio-system-{}", std::process::id()));
    std::fs::write(&file, authority.pem()).unwrap();
    let child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "encryption::a_send_without_given_authorities"])
        .env("REACH_BY_SYSTEM", broker.url())
        .env("SSL_CERT_FILE", &file)
        .output();
    let output = within("the other process", child).await.unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(broker.connects().len(), 1, "it was not skipped");
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    let server = server(&Authority::new("theirs"), &["127.0.0.1"]);
    let broker = Scripted::with_tls(server).await;
    for settings in [
        Settings::new().trusted_authorities(trust(&Authority::new("ours"))),
        // The name is not what is wrong here, so passing it over helps nobody.
        Settings::new()
            .trusted_authorities(trust(&Authority::new("ours")))
            .danger_accept_wrong_host_names(),
    ] {
        let error = refusal(settings.url(broker.url())).await;
        assert_eq!(error.kind(), ErrorKind::Tls);
        assert!(!error.is_transient());
        assert_eq!(
            error.to_string(),
            format!(
                "the certificate of {} was not issued by a trusted authority",
                broker.url()
            )
        );
    }
    assert_eq!(broker.connects().len(), 0);
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused_unless_the_user_asks_for_it_by_name() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["elsewhere.test"]);
    let broker = Scripted::with_tls(server).await;
    let settings = Settings::new()
        .url(broker.url())
        .trusted_authorities(trust(&authority));

    let error = refusal(settings.clone()).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    let text = error.to_string();
    assert!(
        text.contains(broker.url()) && text.contains("elsewhere.test"),
        "{text}"
    );

    within("a send", send(settings.danger_accept_wrong_host_names()))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_expired_certificate_is_refused_unless_nothing_is_checked() {
    let authority = Authority::new("ours");
    let server = server_with(
        &authority.issue_expired("broker", &["127.0.0.1"]),
        Clients::Anybody,
    );
    let broker = Scripted::with_tls(server).await;
    let settings = Settings::new()
        .url(broker.url())
        .trusted_authorities(trust(&authority));

    let error = refusal(settings.clone()).await;
    assert_eq!(
        error.to_string(),
        format!("the certificate of {} has expired", broker.url())
    );

    within("a send", send(settings.danger_accept_any_certificate()))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_client_certificate_is_shown_and_is_the_identity() {
    let authority = Authority::new("ours");
    let server = server_with(
        &authority.issue("broker", &["127.0.0.1"]),
        Clients::IssuedBy(&authority),
    );
    let broker = Scripted::with_tls(server).await;
    let (chain, key) = pems(&authority.issue("client", &["client.test"]));
    let settings = Settings::new()
        .url(broker.url())
        .trusted_authorities(trust(&authority))
        .client_certificate(chain, key);
    within("a send", send(settings)).await.unwrap();
    assert_eq!(broker.connects()[0].auth_method_name.as_deref(), Some("tls"));
}

#[tokio::test]
async fn a_broker_that_wants_a_client_certificate_says_so_to_who_has_none_or_a_foreign_one() {
    let authority = Authority::new("ours");
    let server = server_with(
        &authority.issue("broker", &["127.0.0.1"]),
        Clients::IssuedBy(&authority),
    );
    let broker = Scripted::with_tls(server).await;
    let settings = Settings::new()
        .url(broker.url())
        .trusted_authorities(trust(&authority));

    let error = refusal(settings.clone()).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert_eq!(
        error.to_string(),
        format!(
            "{} requires a client certificate, and none is given",
            broker.url()
        )
    );

    let (chain, key) = pems(&Authority::new("theirs").issue("client", &["client.test"]));
    let error = refusal(settings.client_certificate(chain, key)).await;
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert_eq!(
        error.to_string(),
        format!("{} refused the client certificate", broker.url())
    );
}

#[tokio::test]
async fn certificates_in_files_are_read_again_for_every_connection() {
    let authority = Authority::new("ours");
    let first = server(&authority, &["127.0.0.1"]);
    let broker = Scripted::with_tls(first).await;
    let file = std::env::temp_dir().join(format!("pulsar-tokio-ca-{}", std::process::id()));
    let client = Client::builder(broker.url())
        .trusted_authorities(Pem::file(&file))
        .build()
        .unwrap();

    let missing = client.producer("orders").open().await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Tls);
    assert!(
        missing.to_string().contains(&file.display().to_string()),
        "{missing}"
    );
    std::fs::write(&file, Authority::new("theirs").pem()).unwrap();
    assert_eq!(
        client.producer("orders").open().await.unwrap_err().kind(),
        ErrorKind::Tls
    );
    std::fs::write(&file, authority.pem()).unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();

    // The broker gets a certificate of another authority, and the file follows.
    let next = Authority::new("next");
    broker.show(server(&next, &["127.0.0.1"]));
    std::fs::write(&file, next.pem()).unwrap();
    broker.cut();
    within("a send", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn after_the_first_success_a_bad_certificate_is_tried_again_and_the_reason_is_told() {
    let authority = Authority::new("ours");
    let good = server(&authority, &["127.0.0.1"]);
    let broker = Scripted::with_tls(good.clone()).await;
    let client = Client::builder(broker.url())
        .trusted_authorities(trust(&authority))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();

    broker.show(server_with(
        &authority.issue_expired("broker", &["127.0.0.1"]),
        Clients::Anybody,
    ));
    broker.cut();
    within("the reason", async {
        while producer
            .last_error()
            .is_none_or(|error| error.kind() != ErrorKind::Tls)
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(producer.health(), Health::Reconnecting);
    assert!(producer.last_error().unwrap().to_string().contains("has expired"));

    broker.show(good);
    within("a send", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
}

#[tokio::test]
async fn tls_to_a_port_without_is_named() {
    // What a broker does with a hello of TLS: a frame far too large, so it hangs up.
    let (listener, address) = mute().await;
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            hang_up(socket).await;
        }
    });
    let url = format!("pulsar+ssl://{address}");
    let error = refusal(Settings::new().url(&url).danger_accept_any_certificate()).await;
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains("without TLS"), "{text}");
}

#[tokio::test]
async fn a_plain_connection_to_a_port_with_tls_is_named() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let broker = Scripted::with_tls(server).await;
    let url = format!("pulsar://{}", broker.address());
    let error = refusal(Settings::new().url(&url)).await;
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains("pulsar+ssl://"), "{text}");
}

#[tokio::test]
async fn a_broker_without_an_address_with_tls_is_not_reached_without_it() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let script = |command: &Command| match command {
        Command::LookupTopic(lookup) => Some(vec![found(lookup, "pulsar://127.0.0.1:1", false)]),
        _ => None,
    };
    let broker = Scripted::start(Some(server), script).await;
    let error = refusal(
        Settings::new()
            .url(broker.url())
            .trusted_authorities(trust(&authority)),
    )
    .await;
    let text = error.to_string();
    assert!(
        text.contains(broker.url()) && text.contains("no address with TLS"),
        "{text}"
    );
}

#[test]
fn a_client_certificate_without_tls_is_refused() {
    let (chain, key) = pems(&Authority::new("ours").issue("client", &["client.test"]));
    let error = Client::builder("pulsar://h")
        .client_certificate(chain, key)
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOption);
    assert!(error.to_string().contains("pulsar+ssl://"), "{error}");
}

#[tokio::test]
async fn a_key_that_does_not_fit_the_certificate_is_named() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let broker = Scripted::with_tls(server).await;
    let (chain, _) = pems(&authority.issue("client", &["client.test"]));
    let (_, key) = pems(&authority.issue("client", &["client.test"]));
    let error = refusal(
        Settings::new()
            .url(broker.url())
            .trusted_authorities(trust(&authority))
            .client_certificate(chain, key),
    )
    .await;
    assert!(error.to_string().contains("do not fit together"), "{error}");
}
