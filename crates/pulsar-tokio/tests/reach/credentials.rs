//! Authentication: what brokers are told, fresh credentials, and refusals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pulsar_tokio::{Authentication, Client, ErrorKind, NewMessage, Secret, ServerError};
use pulsar_wire::Command;
use pulsar_wire::proto::CommandError;

use crate::scripted::{Scripted, challenge, connect, response};
use crate::support::within;

/// Tokens with a number, and how many were given.
fn numbered() -> (Authentication, Arc<AtomicUsize>) {
    let given = Arc::new(AtomicUsize::new(0));
    let counter = given.clone();
    let authentication = Authentication::token_from(move || {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        async move { Ok(Secret::new(format!("token-{number}"))) }
    });
    (authentication, given)
}

/// What a broker says to somebody whom it does not know.
fn refused(text: &str) -> Command {
    CommandError {
        request_id: u64::MAX,
        error: ServerError::AuthenticationError.into(),
        message: text.to_owned(),
    }
    .into()
}

async fn opened(client: &Client) -> Result<(), pulsar_tokio::Error> {
    within("an answer", client.producer("orders").open())
        .await
        .map(drop)
}

#[tokio::test]
async fn the_connection_begins_with_method_and_credentials() {
    for (authentication, method, data) in [
        (Authentication::token("s3cret"), Some("token"), Some("s3cret")),
        (
            Authentication::basic("app", "s3cret"),
            Some("basic"),
            Some("app:s3cret"),
        ),
        (Authentication::none(), None, None),
    ] {
        let broker = Scripted::plain().await;
        let client = Client::builder(broker.url())
            .authentication(authentication)
            .build()
            .unwrap();
        opened(&client).await.unwrap();
        let connect = &broker.connects()[0];
        assert_eq!(connect.auth_method_name.as_deref(), method);
        assert_eq!(connect.auth_data.as_deref(), data.map(str::as_bytes));
    }
}

#[tokio::test]
async fn the_client_promises_what_it_does_and_speaks_for_nobody_else() {
    let broker = Scripted::plain().await;
    let client = Client::builder(broker.url()).token("s3cret").build().unwrap();
    opened(&client).await.unwrap();
    let connect = broker.connects().remove(0);
    // From 20 on brokers may send TOPIC_MIGRATED, on which this client does not move.
    assert_eq!(connect.protocol_version, Some(19));
    assert_eq!(connect.feature_flags.unwrap().supports_auth_refresh, Some(true));
    assert_eq!(connect.original_principal, None);
    assert_eq!(connect.original_auth_data, None);
    assert_eq!(connect.original_auth_method, None);
}

#[tokio::test]
async fn a_challenge_is_answered_with_fresh_credentials_while_messages_go_on() {
    let broker = Scripted::plain().await;
    let (authentication, given) = numbered();
    let client = Client::builder(broker.url())
        .authentication(authentication)
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    for round in 1..=5 {
        broker.say(challenge());
        within("a receipt", producer.send(NewMessage::new("hello")))
            .await
            .unwrap();
        let answers = broker.wait(round, response).await;
        assert_eq!(answers[round - 1], format!("token-{round}"));
    }
    assert_eq!(broker.connects().len(), 1, "the connection stays");
    assert_eq!(given.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn a_challenge_in_the_handshake_is_answered() {
    let broker = Scripted::with_script(|command| match command {
        Command::Connect(_) => Some(vec![challenge().into()]),
        Command::AuthResponse(_) => Some(vec![crate::scripted::connected()]),
        _ => None,
    })
    .await;
    let client = Client::builder(broker.url()).token("s3cret").build().unwrap();
    opened(&client).await.unwrap();
    assert_eq!(broker.heard(response), ["s3cret"]);
}

#[tokio::test]
async fn a_challenge_to_a_client_without_credentials_is_an_error_that_says_so() {
    let broker = Scripted::with_script(|command| match command {
        Command::Connect(_) => Some(vec![challenge().into()]),
        _ => None,
    })
    .await;
    let error = opened(&Client::new(broker.url()).unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.to_string().contains("asks for authentication"), "{error}");
}

#[tokio::test]
async fn when_there_are_no_fresh_credentials_the_connection_goes_on_and_they_are_tried_again() {
    let broker = Scripted::plain().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let client = Client::builder(broker.url())
        .authentication(Authentication::token_from(move || {
            let call = counter.fetch_add(1, Ordering::SeqCst);
            async move {
                match call {
                    1 | 2 => Err("the vault is sealed".into()),
                    _ => Ok(Secret::new(format!("token-{call}"))),
                }
            }
        }))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    broker.say(challenge());
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
    assert_eq!(broker.wait(1, response).await, ["token-3"]);
    assert_eq!(broker.connects().len(), 1);
}

#[tokio::test]
async fn a_connection_that_ends_for_lack_of_credentials_says_so() {
    let broker = Scripted::plain().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let client = Client::builder(broker.url())
        .authentication(Authentication::token_from(move || {
            let call = counter.fetch_add(1, Ordering::SeqCst);
            async move {
                match call {
                    0 => Ok(Secret::new("token")),
                    _ => Err("the vault is sealed".into()),
                }
            }
        }))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    broker.say(challenge());
    within("the failure", async {
        while calls.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    broker.cut();
    within("the reason", async {
        while producer
            .last_error()
            .is_none_or(|error| error.kind() != ErrorKind::Credentials)
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_refused_client_hears_it_at_once_with_its_method_and_without_its_secret() {
    for (authentication, method) in [
        (Authentication::token("s3cret-token"), "token"),
        (Authentication::basic("app", "s3cret-word"), "basic"),
    ] {
        // A broker that repeats what it was sent.
        let broker = Scripted::with_script(|command| {
            let connect = connect(command)?;
            let sent = String::from_utf8_lossy(&connect.auth_data.unwrap_or_default()).into_owned();
            let word = sent.rsplit(':').next().unwrap_or_default().to_owned();
            Some(vec![refused(&format!("cannot take {sent} or {word}"))])
        })
        .await;
        let client = Client::builder(broker.url())
            .authentication(authentication)
            .build()
            .unwrap();
        let begin = Instant::now();
        let error = opened(&client).await.unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert_eq!(error.kind(), ErrorKind::Refused(ServerError::AuthenticationError));
        let text = format!("{error} {error:?}");
        assert!(text.contains(&format!("{method:?}")), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(broker.connects().len(), 1, "nothing is tried again");
    }
}

#[tokio::test]
async fn an_error_that_ends_a_connection_is_the_reason_that_is_told() {
    let broker = Scripted::plain().await;
    let client = Client::builder(broker.url())
        .token("s3cret-token")
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    let mut reason = None;
    broker.say(refused("expired: s3cret-token"));
    within("the reason", async {
        while reason.is_none() {
            reason = producer.last_error().map(|error| error.to_string());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let reason = reason.unwrap_or_default();
    assert!(
        reason.contains("expired") && !reason.contains("s3cret"),
        "{reason}"
    );
}

#[tokio::test]
async fn without_its_file_a_token_is_an_error_that_names_it_and_nothing_is_sent() {
    let broker = Scripted::plain().await;
    let client = Client::builder(broker.url())
        .authentication(Authentication::token_file("/nowhere/token"))
        .build()
        .unwrap();
    let error = opened(&client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.to_string().contains("/nowhere/token"), "{error}");
    assert_eq!(broker.connects().len(), 0);
}
