//! GET_TOPICS_OF_NAMESPACE and WATCH_TOPIC_LIST. Other scenarios make topics too, so the names of this one's are
//! picked out.

use pulsar_wire::Command;
use pulsar_wire::proto::*;

use super::scenario::{Scenario, scenarios};
use crate::peer::{ASKED, Peer};

scenarios![modes, namespaces, not_a_pattern, hash, watch];

fn topics_of(namespace: &str, pattern: Option<&str>) -> CommandGetTopicsOfNamespace {
    CommandGetTopicsOfNamespace {
        request_id: ASKED,
        namespace: namespace.into(),
        topics_pattern: pattern.map(str::to_owned),
        ..Default::default()
    }
}

async fn list(peer: &mut Peer, command: CommandGetTopicsOfNamespace) -> CommandGetTopicsOfNamespaceResponse {
    peer.tell(command).await;
    match peer.answer().await.map(|frame| frame.command) {
        Some(Command::GetTopicsOfNamespaceResponse(answer)) => answer,
        other => panic!("no list of topics: {other:?}"),
    }
}

async fn modes(scenario: &Scenario) {
    let single = scenario.topic();
    let _single = scenario.publisher(&single).await;
    let partitioned = scenario.partitioned(2).await;
    let _partition = scenario.publisher(&format!("{partitioned}-partition-0")).await;
    let volatile = scenario.topic().replace("persistent://", "non-persistent://");
    let _volatile = scenario.publisher(&volatile).await;
    let mut peer = scenario.connect().await;
    for (name, mode) in [
        ("unsaid", None),
        ("persistent", Some(TopicsMode::Persistent)),
        ("non_persistent", Some(TopicsMode::NonPersistent)),
        ("all", Some(TopicsMode::All)),
    ] {
        let mode = mode.map(|mode| mode as i32);
        let command = CommandGetTopicsOfNamespace {
            mode,
            ..topics_of("public/default", None)
        };
        let answer = list(&mut peer, command).await;
        let known = [
            ("single", &single),
            ("partitioned", &partitioned),
            ("volatile", &volatile),
        ];
        let named = answer.topics.iter().filter_map(|topic| {
            known
                .iter()
                .find_map(|(name, known)| Some(format!("{name}{}", topic.strip_prefix(known.as_str())?)))
        });
        let mut named: Vec<String> = named.collect();
        named.sort();
        scenario.observe(name, named);
        scenario.observe(&format!("{name}.filtered"), answer.filtered);
    }
}

async fn namespaces(scenario: &Scenario) {
    for (name, namespace) in [
        ("unknown", "public/missing"),
        ("unknown_tenant", "missing/default"),
        ("one_part", "public"),
        ("empty", ""),
        ("four_parts", "a/b/c/d"),
    ] {
        let mut peer = scenario.connect().await;
        let answer = peer.request(|_| topics_of(namespace, None)).await;
        scenario.observe(name, answer);
    }
}

async fn not_a_pattern(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let pattern = "persistent://public/default/(";
    scenario.observe(
        "answer",
        peer.request(|_| topics_of("public/default", Some(pattern))).await,
    );
    scenario.observe("ping", peer.ping().await);
}

/// Clients reckon it themselves.
async fn hash(scenario: &Scenario) {
    let topic = scenario.topic();
    let _publisher = scenario.publisher(&topic).await;
    let mut peer = scenario.connect().await;
    let pattern = ".*topics-hash-.*";
    let answer = list(&mut peer, topics_of("public/default", Some(pattern))).await;
    let mut names = answer.topics;
    names.sort();
    let checksum = crc32c(names.join(",").as_bytes()).swap_bytes();
    scenario.observe(
        "is_swapped_crc32c_of_the_names",
        answer.topics_hash == Some(format!("{checksum:08x}")),
    );
    let outdated = CommandGetTopicsOfNamespace {
        topics_hash: Some("00000000".into()),
        ..topics_of("public/default", Some(pattern))
    };
    scenario.observe("outdated", list(&mut peer, outdated).await.changed);
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0x82f6_3b78
        } else {
            crc >> 1
        }
    };
    !bytes
        .iter()
        .fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

async fn watch(scenario: &Scenario) {
    let mut peer = scenario.connect().await;
    let watch = |request_id, pattern: &str| CommandWatchTopicList {
        request_id,
        watcher_id: 1,
        namespace: "public/default".into(),
        topics_pattern: format!("persistent://public/default/{pattern}"),
        topics_hash: None,
    };
    for (name, pattern) in [("too_long", "x".repeat(36)), ("not_a_pattern", "(".to_owned())] {
        scenario.observe(name, peer.request(|id| watch(id, &pattern)).await);
    }
    let answer = peer.request(|id| watch(id, ".*topics-watch-.*")).await;
    scenario.observe("answer", answer);

    let topic = scenario.topic();
    let publisher = scenario.publisher(&topic).await;
    scenario.observe("made", peer.all().await);
    drop(publisher);
    scenario.delete(&topic).await;
    scenario.observe("deleted", peer.all().await);
    let partitioned = scenario.partitioned(2).await;
    scenario.observe("partitions", new_names(&mut peer, &partitioned, 2).await);
    let volatile = scenario.topic().replace("persistent://", "non-persistent://");
    let _volatile = scenario.publisher(&volatile).await;
    scenario.observe("non_persistent", peer.all().await);

    let close = |request_id| CommandWatchTopicListClose {
        request_id,
        watcher_id: 1,
    };
    scenario.observe("close", peer.request(close).await);
    let _unwatched = scenario.publisher(&scenario.topic()).await;
    scenario.observe("closed", peer.all().await);
}

/// What follows the name of a topic in those of so many new ones, told together or each by itself.
async fn new_names(peer: &mut Peer, topic: &str, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < count {
        let Some(frame) = peer.frame().await else { break };
        if let Command::WatchTopicUpdate(update) = frame.command {
            names.extend(update.new_topics.iter().map(|name| name.replace(topic, "")));
        }
    }
    names.sort();
    names
}
