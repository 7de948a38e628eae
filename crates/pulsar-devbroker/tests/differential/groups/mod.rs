//! The scenarios, by what they are about.

mod acks;
mod connecting;
mod cursors;
mod delays;
mod deliveries;
mod failover;
mod key_shared;
mod names;
mod producing;
mod redelivery;
mod rest;
mod schemas;
mod sending;
mod subscribing;
mod topics;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::peer::Peer;
use crate::record::Record;
use crate::scenarios;
use crate::seen;
use crate::server::Server;

/// A broker, and what is noted of it.
pub(crate) struct Lab {
    pub(crate) server: Server,
    pub(crate) url: String,
    pub(crate) record: Record,
}

/// Runs all scenarios on a broker, side by side.
pub(crate) async fn observe(server: Server) -> Record {
    let lab = Arc::new(Lab {
        url: server.url(),
        server,
        record: Record::default(),
    });
    // A namespace is served from the first lookup on.
    Peer::near(&lab.url, &lab.topic("first")).await;
    let mut running = tokio::task::JoinSet::new();
    macro_rules! run {
        ($($group:ident),*) => { $( running.spawn({ let lab = lab.clone(); async move { $group::observe(&lab).await } }); )* };
    }
    run!(
        acks,
        connecting,
        cursors,
        delays,
        deliveries,
        failover,
        key_shared,
        names,
        producing,
        redelivery,
        rest,
        schemas,
        sending,
        subscribing,
        topics
    );
    running.spawn(scenarios::observe(lab.clone()));
    while let Some(ended) = running.join_next().await {
        ended.expect("a scenario came to its end");
    }
    Arc::into_inner(lab).expect("all scenarios ended").record
}

impl Lab {
    /// A topic that nobody uses yet.
    pub(crate) fn topic(&self, stem: &str) -> String {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        format!("persistent://public/default/{stem}-{:x}-{number}", seen::now())
    }

    /// A peer that has looked a new topic up.
    pub(crate) async fn scene(&self, stem: &str) -> (Peer, String) {
        let topic = self.topic(stem);
        (Peer::near(&self.url, &topic).await, topic)
    }

    pub(crate) async fn peer(&self, topic: &str) -> Peer {
        Peer::near(&self.url, topic).await
    }
}

/// What a scenario notes below its own path.
macro_rules! notes {
    ($lab:expr, $scenario:literal, $($name:literal => $value:expr),+ $(,)?) => {
        $( $lab.record.note(concat!($scenario, "/", $name), $value); )+
    };
}
pub(crate) use notes;
