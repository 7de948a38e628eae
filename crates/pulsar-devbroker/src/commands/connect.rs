//! CONNECT: any version, any credentials.

use pulsar_wire::proto::{CommandConnect, CommandConnected, FeatureFlags};

use crate::broker::Broker;
use crate::peer::PeerId;

/// The newest version of the protocol that the broker speaks.
const VERSION: i32 = 21;

impl Broker {
    pub(super) fn on_connect(&mut self, peer: PeerId, connect: &CommandConnect) {
        if let Some(state) = self.peers.get_mut(&peer) {
            state.connected = true;
        }
        let connected = CommandConnected {
            server_version: self.config.server_version.clone(),
            protocol_version: Some(connect.protocol_version().min(VERSION)),
            max_message_size: i32::try_from(self.config.max_message_size).ok(),
            // Only what works here; Pulsar's list is longer.
            feature_flags: Some(FeatureFlags {
                supports_get_partitioned_metadata_without_auto_creation: Some(true),
                supports_topic_watchers: Some(true),
                ..Default::default()
            }),
        };
        self.out.send(peer, connected);
    }
}
