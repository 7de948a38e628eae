//! One file per command of the protocol, or per pair that belongs together.

mod ack;
mod close;
mod connect;
mod consumer_stats;
mod flow;
mod last_message_id;
mod lookup;
mod producer;
mod redeliver;
mod schema;
mod seek;
mod send;
mod subscribe;
mod topics;
mod unsubscribe;
mod watch;

use bytes::Bytes;
use pulsar_wire::proto::CommandPong;
use pulsar_wire::{Command, ServerError};

use crate::broker::Broker;
use crate::outbox::UNASKED;
use crate::peer::PeerId;
use crate::refusal::Refusal;

pub(crate) use self::watch::Watch;

impl Broker {
    pub(crate) fn handle(&mut self, peer: PeerId, command: Command, message: Option<Bytes>) {
        let is_connected = self.peers.get(&peer).is_some_and(|peer| peer.connected);
        match command {
            Command::Ping(_) => self.out.send(peer, CommandPong {}),
            Command::Pong(_) => {}
            Command::Connect(connect) if !is_connected => self.on_connect(peer, &connect),
            Command::Connect(_) => self.close(peer, "a second CONNECT"),
            command if !is_connected => self.close(peer, format!("{} before CONNECT", command.name())),
            command => self.handle_connected(peer, command, message),
        }
    }

    fn handle_connected(&mut self, peer: PeerId, command: Command, message: Option<Bytes>) {
        match command {
            Command::PartitionMetadata(question) => self.on_partition_metadata(peer, &question),
            Command::LookupTopic(lookup) => self.on_lookup(peer, &lookup),
            Command::Producer(producer) => self.on_producer(peer, *producer),
            Command::Send(send) => self.on_send(peer, &send, message),
            Command::CloseProducer(close) => self.on_close_producer(peer, &close),
            Command::Subscribe(subscribe) => self.on_subscribe(peer, &subscribe),
            Command::Flow(flow) => self.on_flow(peer, flow),
            Command::Ack(ack) => self.on_ack(peer, ack),
            Command::RedeliverUnacknowledgedMessages(redeliver) => self.on_redeliver(peer, &redeliver),
            Command::CloseConsumer(close) => self.on_close_consumer(peer, &close),
            Command::Unsubscribe(unsubscribe) => self.on_unsubscribe(peer, &unsubscribe),
            Command::Seek(seek) => self.on_seek(peer, &seek),
            Command::GetLastMessageId(question) => self.on_last_message_id(peer, &question),
            Command::ConsumerStats(question) => self.on_consumer_stats(peer, &question),
            Command::GetTopicsOfNamespace(question) => self.on_topics_of_namespace(peer, &question),
            Command::WatchTopicList(watch) => self.on_watch(peer, &watch),
            Command::WatchTopicListClose(close) => self.on_close_watch(peer, &close),
            Command::GetSchema(question) => self.on_get_schema(peer, &question),
            Command::GetOrCreateSchema(command) => self.on_get_or_create_schema(peer, &command),
            Command::AuthResponse(_) => self.on_auth_response(peer),
            other => self.refuse_unsupported(peer, &other),
        }
    }

    /// Nobody asked for it.
    fn on_auth_response(&mut self, peer: PeerId) {
        let refusal = Refusal::new(ServerError::AuthenticationError, "No credentials were asked for");
        self.out.refuse(peer, UNASKED, refusal);
        self.close(peer, "AUTH_RESPONSE without a challenge");
    }

    /// A command without an answer would make a client reconnect and repeat it for ever.
    fn refuse_unsupported(&mut self, peer: PeerId, command: &Command) {
        let Some(request_id) = command.request_id().filter(|_| !is_answer(command)) else {
            self.close(peer, format!("{} is not for a broker", command.name()));
            return;
        };
        let message = match command {
            Command::TcClientConnectRequest(_)
            | Command::NewTxn(_)
            | Command::AddPartitionToTxn(_)
            | Command::AddSubscriptionToTxn(_)
            | Command::EndTxn(_)
            | Command::EndTxnOnPartition(_)
            | Command::EndTxnOnSubscription(_) => "Transactions are not enabled.".to_owned(),
            _ => format!("This development broker does not support {}", command.name()),
        };
        let refusal = Refusal::new(ServerError::NotAllowedError, message);
        self.out.refuse(peer, request_id, refusal);
    }
}

/// What only a broker says, with the request id of what it answers.
fn is_answer(command: &Command) -> bool {
    matches!(
        command,
        Command::Success(_)
            | Command::Error(_)
            | Command::ProducerSuccess(_)
            | Command::PartitionMetadataResponse(_)
            | Command::LookupTopicResponse(_)
            | Command::ConsumerStatsResponse(_)
            | Command::GetLastMessageIdResponse(_)
            | Command::GetTopicsOfNamespaceResponse(_)
            | Command::GetSchemaResponse(_)
            | Command::GetOrCreateSchemaResponse(_)
            | Command::AckResponse(_)
            | Command::NewTxnResponse(_)
            | Command::AddPartitionToTxnResponse(_)
            | Command::AddSubscriptionToTxnResponse(_)
            | Command::EndTxnResponse(_)
            | Command::EndTxnOnPartitionResponse(_)
            | Command::EndTxnOnSubscriptionResponse(_)
            | Command::TcClientConnectResponse(_)
            | Command::WatchTopicListSuccess(_)
    )
}
