//! Who serves a topic, how many partitions it has, where it moved to.

use std::fmt;

use super::message::KeyValue;
use crate::hidden::Hidden;

/// Asks how many partitions a topic has.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct CommandPartitionedTopicMetadata {
    #[prost(string, required, tag = "1")]
    pub topic: String,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(string, optional, tag = "3")]
    pub original_principal: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub original_auth_data: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub original_auth_method: Option<String>,
    #[prost(bool, optional, default = "true", tag = "6")]
    pub metadata_auto_creation_enabled: Option<bool>,
}

/// Answer: 0 partitions means that the topic is not partitioned.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandPartitionedTopicMetadataResponse {
    #[prost(uint32, optional, tag = "1")]
    pub partitions: Option<u32>,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(enumeration = "MetadataLookupType", optional, tag = "3")]
    pub response: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub message: Option<String>,
}

/// Asks which broker serves a topic.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct CommandLookupTopic {
    #[prost(string, required, tag = "1")]
    pub topic: String,
    #[prost(uint64, required, tag = "2")]
    pub request_id: u64,
    #[prost(bool, optional, tag = "3")]
    pub authoritative: Option<bool>,
    #[prost(string, optional, tag = "4")]
    pub original_principal: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub original_auth_data: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub original_auth_method: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub advertised_listener_name: Option<String>,
    #[prost(message, repeated, tag = "8")]
    pub properties: Vec<KeyValue>,
}

/// Answer: connect here, ask there, or why not.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandLookupTopicResponse {
    #[prost(string, optional, tag = "1")]
    pub broker_service_url: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub broker_service_url_tls: Option<String>,
    #[prost(enumeration = "LookupType", optional, tag = "3")]
    pub response: Option<i32>,
    #[prost(uint64, required, tag = "4")]
    pub request_id: u64,
    #[prost(bool, optional, tag = "5")]
    pub authoritative: Option<bool>,
    #[prost(int32, optional, tag = "6")]
    pub error: Option<i32>,
    #[prost(string, optional, tag = "7")]
    pub message: Option<String>,
    #[prost(bool, optional, tag = "8")]
    pub proxy_through_service_url: Option<bool>,
}

/// The topic of a producer or consumer now lives in another cluster.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandTopicMigrated {
    #[prost(uint64, required, tag = "1")]
    pub resource_id: u64,
    #[prost(enumeration = "ResourceType", required, tag = "2")]
    pub resource_type: i32,
    #[prost(string, optional, tag = "3")]
    pub broker_service_url: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub broker_service_url_tls: Option<String>,
}

/// How a question for partitions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MetadataLookupType {
    Success = 0,
    Failed = 1,
}

/// How a lookup ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum LookupType {
    Redirect = 0,
    Connect = 1,
    Failed = 2,
}

/// What a migration is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ResourceType {
    Producer = 0,
    Consumer = 1,
}

impl fmt::Debug for CommandPartitionedTopicMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandPartitionedTopicMetadata")
            .field("topic", &self.topic)
            .field("request_id", &self.request_id)
            .field("original_principal", &self.original_principal)
            .field(
                "original_auth_data",
                &self
                    .original_auth_data
                    .as_ref()
                    .map(|data| Hidden(data.as_bytes())),
            )
            .field("original_auth_method", &self.original_auth_method)
            .field(
                "metadata_auto_creation_enabled",
                &self.metadata_auto_creation_enabled,
            )
            .finish()
    }
}

impl fmt::Debug for CommandLookupTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandLookupTopic")
            .field("topic", &self.topic)
            .field("request_id", &self.request_id)
            .field("authoritative", &self.authoritative)
            .field("original_principal", &self.original_principal)
            .field(
                "original_auth_data",
                &self
                    .original_auth_data
                    .as_ref()
                    .map(|data| Hidden(data.as_bytes())),
            )
            .field("original_auth_method", &self.original_auth_method)
            .field("advertised_listener_name", &self.advertised_listener_name)
            .field("properties", &self.properties)
            .finish()
    }
}
