//! Addresses and topics that cannot be used: the error comes soon and names what is wrong.

use std::error::Error as _;
use std::time::{Duration, Instant};

use pulsar_testing::{Schema, broker};
use pulsar_tokio::{Client, Error, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::*;

/// A peer that does what `serve` does with every connection; its URL.
async fn peer<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("pulsar://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket));
        }
    });
    url
}

/// Why nothing can be opened there.
async fn refusal(client: &Client) -> Error {
    within("an error", client.producer("orders").open())
        .await
        .unwrap_err()
}

#[tokio::test]
async fn where_nobody_listens_the_error_comes_at_once_and_names_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("pulsar://{}", listener.local_addr().unwrap());
    drop(listener);
    let start = Instant::now();
    let error = refusal(&Client::new(&url).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains(&url), "{error}");
    assert!(error.source().is_some());
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_given_up_after_the_connect_timeout() {
    let url = peer(|mut socket| async move {
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes).await;
    })
    .await;
    let timeout = Duration::from_millis(300);
    let client = Client::builder(&url).connect_timeout(timeout).build().unwrap();
    let start = Instant::now();
    let (one, two) = tokio::join!(refusal(&client), refusal(&client));
    let waited = start.elapsed();
    for error in [one, two] {
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains(&url), "{error}");
    }
    assert!(
        waited >= timeout && waited < timeout + Duration::from_millis(250),
        "it took {waited:?}"
    );
}

#[tokio::test]
async fn a_web_server_is_told_from_a_broker() {
    let url = peer(|mut socket| async move {
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let error = refusal(&Client::new(&url).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(
        error.to_string().contains("does not speak Pulsar's protocol"),
        "{error}"
    );
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_named() {
    let url = peer(|socket| async move { drop(socket) }).await;
    let error = refusal(&Client::new(&url).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains(&url), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_namespace_is_an_answer_and_not_a_wait() {
    let broker = broker!();
    let client = client(&broker);
    let topic = "persistent://public/no-such-namespace/orders";
    let start = Instant::now();
    let error = within("an error", client.producer(topic).open())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("no-such-namespace"), "{error}");
    let error = within("an error", client.consumer(topic, SUB).open())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_wants_a_schema_refuses_with_a_sentence() {
    let broker = broker!();
    let namespace = broker.namespace("schemas");
    let topic = broker.topic_in(&namespace, "typed");
    broker.admin().create_topic(&topic);
    let schema = Schema {
        kind: "STRING",
        definition: "",
    };
    broker.admin().set_schema(&topic, schema);
    broker.admin().enforce_schema(&namespace, true);
    let error = within("an error", client(&broker).producer(&topic).open())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
    assert!(error.to_string().to_lowercase().contains("schema"), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}
