//! A client behind a proxy, and what every scenario ends with.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pulsar_testing::{Broker, Proxy};
use pulsar_tokio::{Ack, Client, Consumer, ErrorKind, Message, NewMessage, Producer};

use crate::support::*;

/// Within what time a client has to be back after the fault is over.
const RESUMED: Duration = Duration::from_secs(6);

pub(crate) struct Scene {
    pub(crate) broker: Broker,
    pub(crate) proxy: Proxy,
    /// Behind the proxy.
    pub(crate) client: Client,
    pub(crate) topic: String,
}

impl Scene {
    pub(crate) fn new(broker: Broker, stem: &str) -> Self {
        let topic = broker.topic(stem);
        Self::on(broker, topic)
    }

    pub(crate) fn on(broker: Broker, topic: String) -> Self {
        let proxy = Proxy::before(&broker);
        let client = impatient(proxy.url());
        Self {
            broker,
            proxy,
            client,
            topic,
        }
    }

    /// A client that the proxy does not touch.
    pub(crate) fn outside(&self) -> Client {
        client(&self.broker)
    }

    /// A producer whose sends wait for as long as it takes.
    pub(crate) async fn patient_producer(&self) -> Producer {
        let opening = self
            .client
            .producer(&self.topic)
            .send_timeout(Duration::ZERO)
            .open();
        within("a producer", opening).await.unwrap()
    }

    /// The fault is over: a message makes the whole way within the time for that.
    pub(crate) async fn resumes(&self, producer: &Producer, consumer: &Consumer) {
        let since = Instant::now();
        let stored = within("a receipt", producer.send(NewMessage::new("resumed"))).await;
        let sent = stored.unwrap().id.expect("a receipt names its message");
        loop {
            let message = receive(consumer).await;
            // Whoever loses this one acknowledges it when it comes again.
            let _ = within("an answer", consumer.ack(message.ticket)).await;
            if message.id == sent {
                break;
            }
        }
        let took = since.elapsed();
        assert!(took < RESUMED, "resumed after {took:?} only");
    }

    /// Everything is acknowledged, and both sides agree on what may still come.
    ///
    /// What comes until then is acknowledged too: an acknowledgement may have been lost on its way, and Pulsar
    /// itself forgets one that it confirmed a moment before it unloads the topic.
    pub(crate) async fn is_settled(&self, consumer: &Consumer) {
        let acknowledges = async {
            loop {
                let message = consumer.receive().await.expect("the consumer is open");
                let _ = consumer.ack(message.ticket).await;
            }
        };
        let is_empty = async {
            while self.broker.admin().backlog(&self.topic, SUB) != 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        within("everything is acknowledged", async {
            tokio::select! {
                () = acknowledges => {}
                () = is_empty => {}
            }
        })
        .await;
        accounts_agree(consumer).await;
    }
}

/// A client that notices silence soon.
pub(crate) fn impatient(url: &str) -> Client {
    Client::builder(url)
        .keep_alive(Duration::from_secs(1))
        .connect_timeout(Duration::from_secs(2))
        .build()
        .expect("the proxy's URL is one")
}

/// The permits by the broker's account are those by ours.
pub(crate) async fn accounts_agree(consumer: &Consumer) {
    let agreed = within("the broker's account", async {
        loop {
            if let Ok(stats) = consumer.broker_stats().await
                && stats.iter().all(|stats| stats.permits == stats.our_permits)
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    agreed.await;
}

pub(crate) fn soak() -> bool {
    std::env::var_os("BABELQUEUE_SOAK").is_some_and(|value| value == "1")
}

/// What was received, and how often.
#[derive(Default)]
pub(crate) struct Tally {
    seen: BTreeMap<String, usize>,
    acks: Vec<Ack>,
}

impl Tally {
    pub(crate) fn different(&self) -> usize {
        self.seen.len()
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.seen.contains_key(text)
    }

    pub(crate) fn duplicates(&self) -> usize {
        self.seen.values().sum::<usize>() - self.seen.len()
    }

    /// Receives one message and acknowledges it without waiting for the confirmation.
    pub(crate) async fn one(&mut self, consumer: &Consumer) {
        let message = receive(consumer).await;
        self.note(consumer, &message);
    }

    pub(crate) fn note(&mut self, consumer: &Consumer, message: &Message) {
        *self.seen.entry(text(message)).or_default() += 1;
        self.acks.push(consumer.ack(message.ticket));
    }

    /// Every acknowledgement ends; how many were confirmed and how many lost with their session.
    pub(crate) async fn ends(&mut self) -> (usize, usize) {
        let (mut confirmed, mut lost) = (0, 0);
        for ack in self.acks.drain(..) {
            match within("the end of an acknowledgement", ack).await {
                Ok(()) => confirmed += 1,
                Err(error) if error.kind() == ErrorKind::SessionLost => lost += 1,
                Err(error) => panic!("{error}"),
            }
        }
        (confirmed, lost)
    }
}
