//! What travels through TLS: large and small messages, cuts, moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pulsar_testing::certificates::Authority;
use pulsar_tokio::{Client, ErrorKind, NewMessage};
use pulsar_wire::Command;
use pulsar_wire::proto::CommandCloseProducer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::certificates::{server, trust};
use crate::scripted::{Scripted, found, mute};
use crate::support::within;

#[tokio::test]
async fn many_and_large_messages_pass_through_tls_in_order() {
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let broker = Scripted::with_tls(server).await;
    let client = Client::builder(broker.url())
        .trusted_authorities(trust(&authority))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    let mut receipts = Vec::new();
    for number in 0..500_usize {
        let size = if number % 100 == 7 { 4 << 20 } else { number };
        receipts.push(
            within("room", producer.enqueue(NewMessage::new(vec![b'x'; size])))
                .await
                .unwrap(),
        );
    }
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    let numbers = broker.heard(|command| match command {
        Command::Send(send) => Some(send.sequence_id),
        _ => None,
    });
    assert_eq!(numbers, (0..500).collect::<Vec<u64>>());
}

/// Passes on what comes to `listener`, and counts the records of TLS that carry messages there.
async fn count_records(listener: TcpListener, to: String, records: Arc<AtomicUsize>) {
    while let Ok((client, _)) = listener.accept().await {
        let (mut from_client, mut to_client) = client.into_split();
        let server = TcpStream::connect(&to).await.expect("the server");
        let (mut from_server, mut to_server) = server.into_split();
        let records = records.clone();
        tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
        tokio::spawn(async move {
            let mut head = [0; 5];
            while from_client.read_exact(&mut head).await.is_ok() {
                let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
                from_client.read_exact(&mut body).await.expect("a whole record");
                // Those of the handshake are small.
                records.fetch_add(usize::from(body.len() > 512), Ordering::SeqCst);
                to_server.write_all(&head).await.expect("a write");
                to_server.write_all(&body).await.expect("a write");
            }
        });
    }
}

#[tokio::test]
async fn small_messages_leave_in_few_records() {
    const MESSAGES: usize = 400;
    let authority = Authority::new("ours");
    let server = server(&authority, &["127.0.0.1"]);
    let (listener, relay) = mute().await;
    let url = format!("pulsar+ssl://{relay}");
    let script = {
        let url = url.clone();
        move |command: &Command| match command {
            Command::LookupTopic(lookup) => Some(vec![found(lookup, &url, false)]),
            _ => None,
        }
    };
    let broker = Scripted::start(Some(server), script).await;
    let records = Arc::new(AtomicUsize::new(0));
    tokio::spawn(count_records(
        listener,
        broker.address().to_owned(),
        records.clone(),
    ));
    let client = Client::builder(&url)
        .trusted_authorities(trust(&authority))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();

    let before = records.load(Ordering::SeqCst);
    let mut receipts = Vec::new();
    for _ in 0..MESSAGES {
        receipts.push(
            within("room", producer.enqueue(NewMessage::new(vec![b'x'; 600])))
                .await
                .unwrap(),
        );
    }
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    // Some 270 KB in records of at most 16 KiB; the first ones may leave before more is there.
    let count = records.load(Ordering::SeqCst) - before;
    assert!(count < MESSAGES / 4, "{count} records");
}

#[tokio::test]
async fn cuts_in_the_middle_of_messages_lose_none_and_keep_their_order() {
    const MESSAGES: u64 = 2000;
    let authority = Authority::new("ours");
    let broker = Scripted::with_tls(server(&authority, &["127.0.0.1"])).await;
    let client = Client::builder(broker.url())
        .trusted_authorities(trust(&authority))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    let mut receipts = Vec::new();
    for number in 0..MESSAGES {
        let sending = producer.enqueue(NewMessage::new(vec![b'x'; 3000]));
        receipts.push(within("room", sending).await.unwrap());
        if number % 500 == 250 {
            broker.cut();
        }
    }
    for receipt in receipts {
        within("a receipt", receipt).await.unwrap();
    }
    let numbers = broker.heard(|command| match command {
        Command::Send(send) => Some(send.sequence_id),
        _ => None,
    });
    // What was heard before a cut comes again; the first arrivals are in order and complete.
    let mut next = 0;
    for number in numbers {
        assert!(number <= next, "{number} before {next}");
        next = next.max(number + 1);
    }
    assert_eq!(next, MESSAGES);
    assert!(broker.connects().len() > 1, "there were cuts");
}

#[tokio::test]
async fn a_broker_that_sends_producers_elsewhere_sends_them_to_the_address_with_tls() {
    let authority = Authority::new("ours");
    let old = Scripted::with_tls(server(&authority, &["127.0.0.1"])).await;
    let new = Scripted::with_tls(server(&authority, &["127.0.0.1"])).await;
    let client = Client::builder(old.url())
        .trusted_authorities(trust(&authority))
        .build()
        .unwrap();
    let producer = within("a producer", client.producer("orders").open())
        .await
        .unwrap();
    let opened = old.heard(|command| match command {
        Command::Producer(producer) => Some(producer.producer_id),
        _ => None,
    });
    old.say(CommandCloseProducer {
        producer_id: opened[0],
        assigned_broker_service_url: Some("pulsar://127.0.0.1:1".to_owned()),
        assigned_broker_service_url_tls: Some(new.url().to_owned()),
        ..CommandCloseProducer::default()
    });
    let at_new = |command: &Command| matches!(command, Command::Producer(_)).then_some(());
    new.wait(1, at_new).await;
    within("a receipt", producer.send(NewMessage::new("hello")))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_given_up_after_the_time_of_a_connection() {
    let (listener, address) = mute().await;
    let mut held = Vec::new();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            held.push(socket);
        }
    });
    for scheme in ["pulsar", "pulsar+ssl"] {
        let url = format!("{scheme}://{address}");
        let client = Client::builder(&url)
            .connect_timeout(Duration::from_millis(200))
            .build()
            .unwrap();
        let error = within("an answer", client.producer("orders").open())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains(&url), "{error}");
    }
}
