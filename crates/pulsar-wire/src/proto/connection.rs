//! The handshake, authentication, keep-alive, and the plain answers to requests.

use std::fmt;

use bytes::Bytes;

use super::schema::Schema;
use crate::hidden::Hidden;

/// First command of a client on a connection.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct CommandConnect {
    #[prost(string, required, tag = "1")]
    pub client_version: String,
    #[prost(enumeration = "AuthMethod", optional, tag = "2")]
    pub auth_method: Option<i32>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub auth_data: Option<Bytes>,
    #[prost(int32, optional, tag = "4")]
    pub protocol_version: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub auth_method_name: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub proxy_to_broker_url: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub original_principal: Option<String>,
    #[prost(string, optional, tag = "8")]
    pub original_auth_data: Option<String>,
    #[prost(string, optional, tag = "9")]
    pub original_auth_method: Option<String>,
    #[prost(message, optional, tag = "10")]
    pub feature_flags: Option<FeatureFlags>,
    #[prost(string, optional, tag = "11")]
    pub proxy_version: Option<String>,
}

/// Answer to [`CommandConnect`]: the broker is ready.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandConnected {
    #[prost(string, required, tag = "1")]
    pub server_version: String,
    #[prost(int32, optional, tag = "2")]
    pub protocol_version: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub max_message_size: Option<i32>,
    #[prost(message, optional, tag = "4")]
    pub feature_flags: Option<FeatureFlags>,
}

/// What a peer can do beyond its protocol version.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct FeatureFlags {
    #[prost(bool, optional, tag = "1")]
    pub supports_auth_refresh: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    pub supports_broker_entry_metadata: Option<bool>,
    #[prost(bool, optional, tag = "3")]
    pub supports_partial_producer: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    pub supports_topic_watchers: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub supports_get_partitioned_metadata_without_auto_creation: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub supports_repl_dedup_by_lid_and_eid: Option<bool>,
}

/// The broker wants (fresh) credentials.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAuthChallenge {
    #[prost(string, optional, tag = "1")]
    pub server_version: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub challenge: Option<AuthData>,
    #[prost(int32, optional, tag = "3")]
    pub protocol_version: Option<i32>,
}

/// The credentials asked for by [`CommandAuthChallenge`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandAuthResponse {
    #[prost(string, optional, tag = "1")]
    pub client_version: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub response: Option<AuthData>,
    #[prost(int32, optional, tag = "3")]
    pub protocol_version: Option<i32>,
}

/// Credentials of one authentication method.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct AuthData {
    #[prost(string, optional, tag = "1")]
    pub auth_method_name: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub auth_data: Option<Bytes>,
}

/// Asks whether the peer is alive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandPing {}

/// Answer to [`CommandPing`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandPong {}

/// A request succeeded.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandSuccess {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(message, optional, tag = "2")]
    pub schema: Option<Schema>,
}

/// A request failed.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct CommandError {
    #[prost(uint64, required, tag = "1")]
    pub request_id: u64,
    #[prost(int32, required, tag = "2")]
    pub error: i32,
    #[prost(string, required, tag = "3")]
    pub message: String,
}

/// The authentication method of clients before version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AuthMethod {
    None = 0,
    YcaV1 = 1,
    Athens = 2,
}

impl fmt::Debug for CommandConnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandConnect")
            .field("client_version", &self.client_version)
            .field("auth_method", &self.auth_method)
            .field("auth_data", &self.auth_data.as_deref().map(Hidden))
            .field("protocol_version", &self.protocol_version)
            .field("auth_method_name", &self.auth_method_name)
            .field("proxy_to_broker_url", &self.proxy_to_broker_url)
            .field("original_principal", &self.original_principal)
            .field(
                "original_auth_data",
                &self
                    .original_auth_data
                    .as_ref()
                    .map(|data| Hidden(data.as_bytes())),
            )
            .field("original_auth_method", &self.original_auth_method)
            .field("feature_flags", &self.feature_flags)
            .field("proxy_version", &self.proxy_version)
            .finish()
    }
}

impl fmt::Debug for AuthData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthData")
            .field("auth_method_name", &self.auth_method_name)
            .field("auth_data", &self.auth_data.as_deref().map(Hidden))
            .finish()
    }
}
