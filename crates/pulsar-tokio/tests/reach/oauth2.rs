//! Tokens from an OAuth2 issuer.

use std::time::{Duration, Instant};

use pulsar_testing::certificates::Authority;
use pulsar_tokio::{Authentication, Client, ClientBuilder, ErrorKind, NewMessage, OAuth2, ServerError};
use pulsar_wire::proto::CommandError;

use crate::certificates::{server, trust};
use crate::issuer::{Issuer, Manner, SECRET};
use crate::scripted::{Scripted, challenge, connect, nobody, response};
use crate::support::within;

fn client_of(broker: &Scripted, oauth2: OAuth2) -> ClientBuilder {
    Client::builder(broker.url()).authentication(Authentication::oauth2(oauth2))
}

fn app(issuer: &Issuer) -> OAuth2 {
    OAuth2::client(issuer.url(), "app", SECRET)
}

async fn opened(client: &Client) -> Result<(), pulsar_tokio::Error> {
    within("an answer", client.producer("orders").open())
        .await
        .map(drop)
}

fn shown(broker: &Scripted) -> Vec<String> {
    let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
    let connects = broker.connects().into_iter();
    connects
        .filter_map(|connect| connect.auth_data.map(|data| text(&data)))
        .collect()
}

#[tokio::test]
async fn the_broker_is_shown_the_token_of_the_issuer() {
    let (broker, issuer) = (Scripted::plain().await, Issuer::plain(Manner::default()).await);
    let client = client_of(&broker, app(&issuer).audience("pulsar"))
        .build()
        .unwrap();
    opened(&client).await.unwrap();
    assert_eq!(shown(&broker), ["issued-1-for-pulsar"]);
    assert_eq!(broker.connects()[0].auth_method_name.as_deref(), Some("token"));
}

#[tokio::test]
async fn the_key_file_of_pulsar_has_all_that_is_needed() {
    let (broker, issuer) = (Scripted::plain().await, Issuer::plain(Manner::default()).await);
    let file = std::env::temp_dir().join(format!("pulsar-tokio-key-{}", std::process::id()));
    let key = format!(
        r#"{{"type":"client_credentials","client_id":"app","client_secret":"{SECRET}","issuer_url":"{}"}}"#,
        issuer.url()
    );
    std::fs::write(&file, key).unwrap();
    let client = client_of(&broker, OAuth2::key_file(&file)).build().unwrap();
    opened(&client).await.unwrap();
    assert_eq!(shown(&broker), ["issued-1"]);
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn many_connections_at_once_take_one_token() {
    let manner = Manner {
        delay: Duration::from_millis(100),
        ..Manner::default()
    };
    let (first, second) = (Scripted::plain().await, Scripted::plain().await);
    let issuer = Issuer::plain(manner).await;
    let url = format!("pulsar://{},{}", first.address(), second.address());
    let client = Client::builder(&url)
        .authentication(Authentication::oauth2(app(&issuer)))
        .build()
        .unwrap();
    let opening = ["a", "b", "c", "d"].map(|topic| {
        let client = client.clone();
        tokio::spawn(async move {
            within("a producer", client.producer(topic).open())
                .await
                .map(drop)
        })
    });
    for opening in opening {
        opening.await.unwrap().unwrap();
    }
    assert_eq!(issuer.given(), 1);
    assert_eq!(
        (shown(&first), shown(&second)),
        (vec!["issued-1".into()], vec!["issued-1".into()])
    );
}

#[tokio::test]
async fn an_expired_token_is_not_shown_again() {
    let manner = Manner {
        expires_in: r#""0""#,
        ..Manner::default()
    };
    let (broker, issuer) = (Scripted::plain().await, Issuer::plain(manner).await);
    let client = client_of(&broker, app(&issuer)).build().unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    broker.cut();
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    assert_eq!(shown(&broker), ["issued-1", "issued-2"]);
}

#[tokio::test]
async fn a_challenge_is_answered_with_a_new_token_whatever_the_issuer_says_of_the_old_one() {
    let (broker, issuer) = (Scripted::plain().await, Issuer::plain(Manner::default()).await);
    let client = client_of(&broker, app(&issuer)).build().unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    broker.say(challenge());
    assert_eq!(broker.wait(1, response).await, ["issued-2"]);
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    assert_eq!(broker.connects().len(), 1);
}

#[tokio::test]
async fn a_wrong_secret_is_refused_with_the_issuer_and_the_client_and_without_the_secret() {
    let (broker, issuer) = (Scripted::plain().await, Issuer::plain(Manner::default()).await);
    let wrong = OAuth2::client(issuer.url(), "app", "wrong-s3cret");
    let begin = Instant::now();
    let error = opened(&client_of(&broker, wrong).build().unwrap())
        .await
        .unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(error.kind(), ErrorKind::Credentials);
    let text = format!("{error} {error:?}");
    for named in [issuer.url(), "\"app\"", "invalid_client"] {
        assert!(text.contains(named), "{text}");
    }
    assert!(!text.contains("s3cret"), "{text}");
    assert!(broker.connects().is_empty());
}

#[tokio::test]
async fn an_issuer_that_is_down_is_named_and_may_come_back() {
    let broker = Scripted::plain().await;
    let issuer = format!("http://{}", nobody().await);
    let oauth2 = OAuth2::client(&issuer, "app", SECRET);
    let error = opened(&client_of(&broker, oauth2).build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.is_transient());
    assert!(error.to_string().contains(&issuer), "{error}");
}

#[tokio::test]
async fn an_issuer_that_is_down_is_no_fault_of_any_host() {
    let (first, second) = (Scripted::plain().await, Scripted::plain().await);
    let issuer = format!("http://{}", nobody().await);
    let url = format!("pulsar://{},{}", first.address(), second.address());
    let client = Client::builder(&url)
        .authentication(Authentication::oauth2(OAuth2::client(&issuer, "app", SECRET)))
        .build()
        .unwrap();
    let error = opened(&client).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot connect to the OAuth2 issuer {issuer}")
    );
}

#[tokio::test]
async fn a_token_that_a_broker_refuses_is_not_shown_a_second_time() {
    let broker = Scripted::with_script(|command| {
        let shown = connect(command)?.auth_data.unwrap_or_default();
        let error = CommandError {
            request_id: u64::MAX,
            error: ServerError::AuthenticationError.into(),
            message: "revoked".to_owned(),
        };
        (shown == "issued-1").then(|| vec![error.into()])
    })
    .await;
    let issuer = Issuer::plain(Manner::default()).await;
    let client = client_of(&broker, app(&issuer)).build().unwrap();
    let error = opened(&client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused(ServerError::AuthenticationError));
    opened(&client).await.unwrap();
    assert_eq!(shown(&broker), ["issued-1", "issued-2"]);
}

#[tokio::test]
async fn an_issuer_that_is_slow_is_given_up_within_the_time_of_a_connection() {
    let manner = Manner {
        delay: Duration::from_secs(60),
        ..Manner::default()
    };
    let (broker, issuer) = (Scripted::plain().await, Issuer::plain(manner).await);
    let client = client_of(&broker, app(&issuer))
        .connect_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let error = opened(&client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.is_transient());
    assert!(error.to_string().contains(issuer.url()), "{error}");
}

#[tokio::test]
async fn an_issuer_with_tls_must_have_a_trusted_certificate() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let (broker, issuer) = (
        Scripted::plain().await,
        Issuer::start(Manner::default(), Some(server)).await,
    );
    let error = opened(&client_of(&broker, app(&issuer)).build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(!error.is_transient());
    let text = error.to_string();
    assert!(
        text.contains(issuer.url()) && text.contains("trusted authority"),
        "{text}"
    );

    // Its own authorities, or those for the brokers.
    for client in [
        client_of(&broker, app(&issuer).trusted_authorities(trust(&authority))),
        client_of(&broker, app(&issuer)).trusted_authorities(trust(&authority)),
    ] {
        opened(&client.build().unwrap()).await.unwrap();
    }
}
