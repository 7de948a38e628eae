//! The topics of a namespace.

use pulsar_wire::proto::*;

use super::{Lab, notes};
use crate::peer::{ASKED, Peer};
use crate::seen;

fn topics(namespace: &str, mode: TopicsMode, pattern: Option<&str>) -> CommandGetTopicsOfNamespace {
    CommandGetTopicsOfNamespace {
        request_id: ASKED,
        namespace: namespace.into(),
        mode: Some(mode as i32),
        topics_pattern: pattern.map(str::to_owned),
        topics_hash: None,
    }
}

pub(super) async fn observe(lab: &Lab) {
    let mut peer = Peer::connect(&lab.url).await;
    let stem = format!("list{:x}", seen::now());
    for name in ["one", "two", "three"] {
        let topic = format!("persistent://public/default/{stem}-{name}");
        let mut publisher = Peer::near(&lab.url, &topic).await;
        publisher.produces(&topic, 1).await;
    }
    let pattern = format!("persistent://public/default/{stem}-t.*");
    let short = format!("{stem}-t.*");
    let nothing = format!("{stem}-none.*");
    let long = format!("public/default/{stem}-(one|two|three|four|five|six)");
    use TopicsMode::{All, NonPersistent, Persistent};
    notes!(lab, "topics",
        "pattern" => peer.ask(topics("public/default", Persistent, Some(&pattern))).await,
        "short_pattern" => peer.ask(topics("public/default", Persistent, Some(&short))).await,
        "all" => peer.ask(topics("public/default", All, Some(&short))).await,
        "non_persistent" => peer.ask(topics("public/default", NonPersistent, Some(&short))).await,
        "nothing_matches" => peer.ask(topics("public/default", Persistent, Some(&nothing))).await,
        "unknown_namespace" => peer.ask(topics("public/nothing", Persistent, None)).await,
    );
    // Too long to be applied by the broker: everything comes.
    let unfiltered = peer.ask(topics("public/default", Persistent, Some(&long))).await;
    notes!(lab, "topics/long_pattern",
        "filtered" => unfiltered["filtered"].clone(),
        "everything" => unfiltered["topics"].as_u64() > Some(3),
    );
    let asked = topics("public/default", Persistent, Some(&short));
    peer.tell(asked.clone()).await;
    let frame = peer.frame().await.expect("an answer");
    let pulsar_wire::Command::GetTopicsOfNamespaceResponse(answer) = frame.command else {
        panic!("no list of topics");
    };
    let mut names: Vec<_> = answer
        .topics
        .iter()
        .map(|topic| topic.replace(&stem, "stem"))
        .collect();
    names.sort();
    notes!(lab, "topics", "names" => names);
    let unchanged = CommandGetTopicsOfNamespace {
        topics_hash: answer.topics_hash,
        ..asked
    };
    notes!(lab, "topics", "same_hash" => peer.ask(unchanged).await);
    notes!(lab, "topics", "bad_namespace" => peer.ask(topics("x", Persistent, None)).await);
}
