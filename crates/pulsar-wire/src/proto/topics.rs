//! The topics of a namespace: asked for once, or watched.

/// Asks for the topics of a namespace.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandGetTopicsOfNamespace {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(string, required, tag = "2")]
    pub namespace: String,
    #[prost(enumeration = "TopicsMode", optional, default = "Persistent", tag = "3")]
    pub mode: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub topics_pattern: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub topics_hash: Option<String>,
}

/// The topics of a namespace.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandGetTopicsOfNamespaceResponse {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(string, repeated, tag = "2")]
    pub topics: Vec<String>,
    #[prost(bool, optional, tag = "3")]
    pub filtered: Option<bool>,
    #[prost(string, optional, tag = "4")]
    pub topics_hash: Option<String>,
    #[prost(bool, optional, default = "true", tag = "5")]
    pub changed: Option<bool>,
}

/// Asks to be told of new and deleted topics.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandWatchTopicList {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub watcher_id: u64,
    #[prost(string, required, tag = "3")]
    pub namespace: String,
    #[prost(string, required, tag = "4")]
    pub topics_pattern: String,
    #[prost(string, optional, tag = "5")]
    pub topics_hash: Option<String>,
}

/// The watch stands; the topics as of now.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandWatchTopicListSuccess {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub watcher_id: u64,
    #[prost(string, repeated, tag = "3")]
    pub topic: Vec<String>,
    #[prost(string, required, tag = "4")]
    pub topics_hash: String,
}

/// Topics came or went.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandWatchTopicUpdate {
    #[prost(uint64, required, tag = "1")]
    pub watcher_id: u64,
    #[prost(string, repeated, tag = "2")]
    pub new_topics: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub deleted_topics: Vec<String>,
    #[prost(string, required, tag = "4")]
    pub topics_hash: String,
}

/// Ends a watch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandWatchTopicListClose {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub watcher_id: u64,
}

/// Which topics of a namespace are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum TopicsMode {
    Persistent = 0,
    NonPersistent = 1,
    All = 2,
}
