//! Which broker serves a topic, and how many partitions it has.

use std::fmt;
use std::time::Instant;

use pulsar_wire::proto::{
    CommandLookupTopic, CommandLookupTopicResponse, CommandPartitionedTopicMetadata, LookupType,
    MetadataLookupType,
};
use pulsar_wire::{Command, ServerError};

use crate::client::ClientInner;
use crate::error::{Error, ErrorKind};
use crate::pool::Role;
use crate::service_url::ServiceUrl;
use crate::session::backoff::Backoff;
use crate::topic::TopicName;

/// More redirects than this mean that the brokers disagree.
const REDIRECTS: usize = 20;

/// A broker and the address that leads to it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    broker: ServiceUrl,
    /// The proxy, when the broker can only be reached through one.
    through: Option<ServiceUrl>,
}

impl Target {
    /// A broker that is dialled at its own address.
    pub(crate) fn direct(url: &str) -> Result<Self, Error> {
        Ok(Self {
            broker: ServiceUrl::parse(url)?,
            through: None,
        })
    }

    /// Another broker, on the same way.
    ///
    /// # Errors
    ///
    /// The URL cannot be used.
    pub(crate) fn moved_to(&self, url: &str) -> Result<Self, Error> {
        Ok(Self {
            broker: ServiceUrl::parse(url)?,
            through: self.through.clone(),
        })
    }

    /// The address to dial.
    pub(crate) fn address(&self) -> &ServiceUrl {
        self.through.as_ref().unwrap_or(&self.broker)
    }

    /// What a proxy has to be told: the broker as `host:port`.
    pub(crate) fn behind_proxy(&self) -> Option<String> {
        self.through.as_ref()?;
        Some(self.broker.to_string().trim_start_matches("pulsar://").to_owned())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.through {
            Some(proxy) => write!(f, "{} through {proxy}", self.broker),
            None => write!(f, "{}", self.broker),
        }
    }
}

impl ClientInner {
    /// The broker that serves `topic`.
    pub(crate) async fn look_up(&self, topic: &str, role: Role) -> Result<Target, Error> {
        let mut ask = self.service.clone();
        let mut authoritative = false;
        for _ in 0..REDIRECTS {
            let link = self.pool.link(&ask, role).await?;
            let answer = link
                .call(self.options.operation_timeout, |request_id| {
                    Command::LookupTopic(Box::new(CommandLookupTopic {
                        topic: topic.to_owned(),
                        request_id,
                        authoritative: Some(authoritative),
                        ..CommandLookupTopic::default()
                    }))
                })
                .await?;
            let response = match answer {
                Command::LookupTopicResponse(response) => response,
                other => return Err(unexpected(&other, "LOOKUP")),
            };
            let target = self.target(topic, &ask, &response)?;
            if response.response == Some(LookupType::Connect as i32) {
                return Ok(target);
            }
            authoritative = response.authoritative.unwrap_or_default();
            ask = target;
        }
        let text = format!("looking up {topic} was redirected more than {REDIRECTS} times");
        Err(Error::new(ErrorKind::Refused(ServerError::ServiceNotReady), text))
    }

    fn target(
        &self,
        topic: &str,
        asked: &Target,
        response: &CommandLookupTopicResponse,
    ) -> Result<Target, Error> {
        if response.response == Some(LookupType::Failed as i32) || response.error.is_some() {
            let code = ServerError::from_i32(response.error.unwrap_or_default());
            let text = response.message.as_deref().unwrap_or_default();
            return Err(Error::refused(code, text, format_args!("look up {topic}")));
        }
        let url = response.broker_service_url.as_deref().unwrap_or_default();
        let broker = ServiceUrl::parse(url).map_err(|error| {
            let text = format!("looking up {topic} gave an address that cannot be used");
            Error::with_source(ErrorKind::InvalidServiceUrl, text, error)
        })?;
        let is_redirect = response.response == Some(LookupType::Redirect as i32);
        let proxied = response.proxy_through_service_url.unwrap_or_default() && !is_redirect;
        let through = (proxied && broker != *asked.address()).then(|| self.service.address().clone());
        Ok(Target { broker, through })
    }

    /// How many partitions `topic` has, 0 for a topic without partitions.
    pub(crate) async fn partitions(&self, topic: &TopicName, role: Role) -> Result<u32, Error> {
        let deadline = Instant::now() + self.options.operation_timeout;
        let mut backoff = Backoff::default();
        loop {
            let error = match self.ask_partitions(topic, role).await {
                Ok(count) => return Ok(count),
                Err(error) => error,
            };
            let may_pass = matches!(error.kind(), ErrorKind::Refused(_) | ErrorKind::ConnectionLost)
                && error.is_transient();
            let pause = backoff.next(rand::random());
            if !may_pass || Instant::now() + pause >= deadline {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn ask_partitions(&self, topic: &TopicName, role: Role) -> Result<u32, Error> {
        let link = self.pool.link(&self.service, role).await?;
        let answer = link
            .call(self.options.operation_timeout, |request_id| {
                Command::PartitionMetadata(Box::new(CommandPartitionedTopicMetadata {
                    topic: topic.as_str().to_owned(),
                    request_id,
                    ..CommandPartitionedTopicMetadata::default()
                }))
            })
            .await?;
        let response = match answer {
            Command::PartitionMetadataResponse(response) => response,
            other => return Err(unexpected(&other, "PARTITIONED_METADATA")),
        };
        if response.response == Some(MetadataLookupType::Failed as i32) || response.error.is_some() {
            let code = ServerError::from_i32(response.error.unwrap_or_default());
            let text = response.message.as_deref().unwrap_or_default();
            return Err(Error::refused(
                code,
                text,
                format_args!("tell the partitions of {topic}"),
            ));
        }
        Ok(response.partitions.unwrap_or_default())
    }
}

/// The broker answered something else than was asked.
pub(crate) fn unexpected(answer: &Command, request: &str) -> Error {
    match answer {
        Command::Error(error) => Error::refused(
            ServerError::from_i32(error.error),
            &error.message,
            format_args!("answer {request}"),
        ),
        other => Error::new(
            ErrorKind::ConnectionLost,
            format!("the broker answered {request} with {}", other.name()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_that_is_named_instead_of_another_is_reached_in_the_same_way() {
        let direct = Target::direct("pulsar://old:6650").unwrap();
        let moved = direct.moved_to("pulsar://new:6650").unwrap();
        assert_eq!(moved.address().to_string(), "pulsar://new:6650");
        assert_eq!(moved.behind_proxy(), None);

        let proxied = Target {
            broker: ServiceUrl::parse("pulsar://old:6650").unwrap(),
            through: Some(ServiceUrl::parse("pulsar://proxy:6650").unwrap()),
        };
        let moved = proxied.moved_to("pulsar://new:6650").unwrap();
        assert_eq!(moved.address().to_string(), "pulsar://proxy:6650");
        assert_eq!(moved.behind_proxy().as_deref(), Some("new:6650"));
    }
}
