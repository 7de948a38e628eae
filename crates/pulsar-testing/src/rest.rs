//! Pulsar's REST interface behind [`Admin`]: nothing but paths and bodies.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::Method;

use crate::admin::{Admin, OverQuota, Position, Schema};
use crate::http::{Http, Problem};
use crate::stats::TopicStats;

#[derive(Debug)]
pub(crate) struct RestAdmin {
    http: Http,
}

impl RestAdmin {
    pub(crate) fn new(url: &str) -> Self {
        Self { http: Http::new(url) }
    }

    fn get(&self, path: &str) -> Value {
        self.must(&Method::GET, path, None)
    }

    fn put(&self, path: &str, body: Option<&Value>) {
        self.must(&Method::PUT, path, body);
    }

    fn post(&self, path: &str, body: Option<&Value>) {
        self.must(&Method::POST, path, body);
    }

    fn delete_at(&self, path: &str) {
        self.must(&Method::DELETE, path, None);
    }

    fn must(&self, method: &Method, path: &str, body: Option<&Value>) -> Value {
        self.http
            .call(method, path, body)
            .unwrap_or_else(|problem| failed(method, path, &problem))
    }

    /// `None` when the broker says that there is no such thing.
    fn find(&self, path: &str) -> Option<Value> {
        match self.http.call(&Method::GET, path, None) {
            Ok(found) => Some(found),
            Err(problem) if problem.is_not_found() => None,
            Err(problem) => failed(&Method::GET, path, &problem),
        }
    }

    fn names(&self, path: &str) -> Vec<String> {
        let names = self.get(path);
        let names = names.as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

impl Admin for RestAdmin {
    fn version(&self) -> String {
        let version = self.get("/admin/v2/brokers/version");
        format!("Pulsar {}", version.as_str().unwrap_or_default())
    }

    fn create_topic(&self, topic: &str) {
        self.put(&topic_path(topic, ""), None);
    }

    fn create_partitioned(&self, topic: &str, partitions: u32) {
        self.put(&topic_path(topic, "/partitions"), Some(&json!(partitions)));
    }

    fn grow_partitions(&self, topic: &str, partitions: u32) {
        self.post(&topic_path(topic, "/partitions"), Some(&json!(partitions)));
    }

    fn partitions(&self, topic: &str) -> u32 {
        let found = self.find(&topic_path(topic, "/partitions"));
        let partitions = found.and_then(|found| found["partitions"].as_u64());
        u32::try_from(partitions.unwrap_or(0)).expect("partitions are few")
    }

    fn exists(&self, topic: &str) -> bool {
        self.find(&topic_path(topic, "/partitions")).is_some()
    }

    fn unload(&self, topic: &str) {
        self.put(&topic_path(topic, "/unload"), None);
    }

    fn terminate(&self, topic: &str) {
        let call = match self.partitions(topic) {
            0 => "/terminate",
            _ => "/terminate/partitions",
        };
        self.post(&topic_path(topic, call), None);
    }

    fn delete(&self, topic: &str, force: bool) {
        let call = match self.partitions(topic) {
            0 => format!("?force={force}"),
            _ => format!("/partitions?force={force}"),
        };
        self.delete_at(&topic_path(topic, &call));
    }

    fn create_subscription(&self, topic: &str, subscription: &str, position: Position) {
        let call = subscription_call(subscription, "");
        self.put(&topic_path(topic, &call), Some(&message_id(position)));
    }

    fn reset_cursor(&self, topic: &str, subscription: &str, position: Position) {
        let call = subscription_call(subscription, "/resetcursor");
        self.post(&topic_path(topic, &call), Some(&message_id(position)));
    }

    fn stats(&self, topic: &str) -> TopicStats {
        let call = match self.partitions(topic) {
            0 => "/stats?getPreciseBacklog=true",
            _ => "/partitioned-stats?getPreciseBacklog=true&perPartition=false",
        };
        TopicStats::from_json(&self.get(&topic_path(topic, call)))
    }

    fn backlog(&self, topic: &str, subscription: &str) -> u64 {
        self.stats(topic).subscription(subscription).backlog
    }

    fn set_schema(&self, topic: &str, schema: Schema<'_>) {
        let (_, name) = topic.split_once("://").expect("a full topic name");
        let body = json!({ "type": schema.kind, "schema": schema.definition, "properties": {} });
        self.post(
            &format!("/admin/v2/schemas/{}/schema", encode_name(name)),
            Some(&body),
        );
    }

    fn create_namespace(&self, namespace: &str) {
        self.put(&namespace_path(namespace, ""), None);
    }

    fn delete_namespace(&self, namespace: &str) {
        // Forced deletion is off by default, and a partitioned topic is not in the list of topics.
        for topic in self.names(&format!("/admin/v2/persistent/{namespace}/partitioned")) {
            self.delete(&topic, true);
        }
        for topic in self.names(&namespace_path(namespace, "/topics")) {
            self.delete(&topic, true);
        }
        self.delete_at(&namespace_path(namespace, ""));
    }

    fn enforce_schema(&self, namespace: &str, enforced: bool) {
        self.post(
            &namespace_path(namespace, "/schemaValidationEnforced"),
            Some(&json!(enforced)),
        );
    }

    fn set_deduplication(&self, namespace: &str, on: bool) {
        self.post(&namespace_path(namespace, "/deduplication"), Some(&json!(on)));
    }

    fn limit_publishing(&self, namespace: &str, messages_per_second: Option<u32>) {
        let path = namespace_path(namespace, "/publishRate");
        match messages_per_second {
            Some(rate) => {
                let body = json!({ "publishThrottlingRateInMsg": rate, "publishThrottlingRateInByte": -1 });
                self.post(&path, Some(&body));
            }
            None => self.delete_at(&path),
        }
    }

    fn limit_backlog(&self, namespace: &str, bytes: u64, over: OverQuota) {
        let policy = match over {
            OverQuota::Hold => "producer_request_hold",
            OverQuota::Fail => "producer_exception",
        };
        let body = json!({ "limitSize": bytes, "limitTime": -1, "policy": policy });
        let call = "/backlogQuota?backlogQuotaType=destination_storage";
        self.post(&namespace_path(namespace, call), Some(&body));
    }

    fn limit_delay(&self, namespace: &str, most: Duration) {
        let most = u64::try_from(most.as_millis()).expect("a time of this century");
        let body = json!({ "active": true, "tickTime": 1000, "maxDeliveryDelayInMillis": most });
        self.post(&namespace_path(namespace, "/delayedDelivery"), Some(&body));
    }

    fn limit_unacked(&self, namespace: &str, messages: u32) {
        let call = "/maxUnackedMessagesPerConsumer";
        self.post(&namespace_path(namespace, call), Some(&json!(messages)));
    }

    fn set_topic_creation(&self, namespace: &str, on: bool) {
        let body = json!({ "allowAutoTopicCreation": on, "topicType": "non-partitioned" });
        self.post(&namespace_path(namespace, "/autoTopicCreation"), Some(&body));
    }

    fn keep_acknowledged(&self, namespace: &str) {
        let body = json!({ "retentionTimeInMinutes": -1, "retentionSizeInMB": -1 });
        self.post(&namespace_path(namespace, "/retention"), Some(&body));
    }
}

fn failed(method: &Method, path: &str, problem: &Problem) -> ! {
    panic!("{method} {path}: {problem}")
}

fn topic_path(topic: &str, call: &str) -> String {
    let (domain, name) = topic
        .split_once("://")
        .unwrap_or_else(|| panic!("not a full topic name: {topic}"));
    format!("/admin/v2/{domain}/{}{call}", encode_name(name))
}

fn subscription_call(subscription: &str, call: &str) -> String {
    // The broker decodes this part of a path twice.
    format!("/subscription/{}{call}", encode(&encode(subscription)))
}

fn namespace_path(namespace: &str, call: &str) -> String {
    format!("/admin/v2/namespaces/{namespace}{call}")
}

/// `tenant/namespace/topic`: the topic may hold what a path may not.
fn encode_name(name: &str) -> String {
    let parts: Vec<_> = name.splitn(3, '/').map(encode).collect();
    parts.join("/")
}

fn encode(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes()
        .map(|byte| match plain(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

fn message_id(position: Position) -> Value {
    let (ledger, entry) = match position {
        Position::Earliest => (-1, -1),
        Position::Latest => (i64::MAX, i64::MAX),
        Position::At { ledger, entry } => (signed(ledger), signed(entry)),
    };
    json!({ "ledgerId": ledger, "entryId": entry, "partitionIndex": -1 })
}

fn signed(id: u64) -> i64 {
    i64::try_from(id).expect("ids of Pulsar are positive numbers of 63 bits")
}
