//! Which broker serves a topic, and how many partitions it has.

use std::fmt;
use std::time::Instant;

use pulsar_wire::proto::{
    CommandGetTopicsOfNamespace, CommandLookupTopic, CommandLookupTopicResponse,
    CommandPartitionedTopicMetadata, LookupType, MetadataLookupType, TopicsMode,
};
use pulsar_wire::{Command, ServerError};

use crate::client::ClientInner;
use crate::error::{Error, ErrorKind};
use crate::link::Link;
use crate::pool::Role;
use crate::service_url::{Scheme, ServiceUrl};
use crate::session::backoff::Backoff;
use crate::topic::TopicName;
use crate::topics::Pattern;

/// More redirects than this mean that the brokers disagree.
const REDIRECTS: usize = 20;

/// A broker, and whether it is reached through the hosts of the service URL.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    broker: ServiceUrl,
    way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    Direct,
    /// The hosts of the service URL are proxies. Which of them leads there is found when dialling.
    ThroughService,
}

impl Target {
    /// A broker that is dialled at its own address.
    #[cfg(test)]
    pub(crate) fn direct(url: &str) -> Result<Self, Error> {
        Ok(Self::at(ServiceUrl::parse(url)?))
    }

    /// A broker that is dialled at this address.
    pub(crate) fn at(broker: ServiceUrl) -> Self {
        Self {
            broker,
            way: Way::Direct,
        }
    }

    /// Another broker, on the same way.
    ///
    /// # Errors
    ///
    /// The URL cannot be used.
    pub(crate) fn moved_to(&self, url: &str) -> Result<Self, Error> {
        Ok(Self {
            broker: ServiceUrl::parse(url)?,
            way: self.way,
        })
    }

    pub(crate) fn broker(&self) -> &ServiceUrl {
        &self.broker
    }

    pub(crate) fn is_proxied(&self) -> bool {
        self.way == Way::ThroughService
    }

    /// What a proxy has to be told: the broker as `host:port`.
    pub(crate) fn behind_proxy(&self) -> Option<String> {
        self.is_proxied().then(|| self.broker.host_and_port())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.way {
            Way::Direct => write!(f, "{}", self.broker),
            Way::ThroughService => write!(f, "{} through the service URL", self.broker),
        }
    }
}

impl ClientInner {
    /// The broker that serves `topic`.
    pub(crate) async fn look_up(&self, topic: &str, role: Role) -> Result<Target, Error> {
        let mut link = self.pool.service(role).await?;
        let mut authoritative = false;
        for _ in 0..REDIRECTS {
            let answer = self
                .ask(&link, |request_id| {
                    Command::LookupTopic(Box::new(CommandLookupTopic {
                        topic: topic.to_owned(),
                        request_id,
                        authoritative: Some(authoritative),
                        advertised_listener_name: self.listener.clone(),
                        ..CommandLookupTopic::default()
                    }))
                })
                .await?;
            let response = match answer {
                Command::LookupTopicResponse(response) => response,
                other => return Err(unexpected(&other, "LOOKUP")),
            };
            let target = target(topic, &link, &response)?;
            if response.response == Some(LookupType::Connect as i32) {
                return Ok(target);
            }
            authoritative = response.authoritative.unwrap_or_default();
            link = self.pool.link(&target, role).await?;
        }
        let text = format!("looking up {topic} was redirected more than {REDIRECTS} times");
        Err(Error::new(ErrorKind::Refused(ServerError::ServiceNotReady), text))
    }

    /// Asks a broker. One that does not answer is passed over by the next questions.
    async fn ask(&self, link: &Link, build: impl FnOnce(u64) -> Command) -> Result<Command, Error> {
        let answer = link.call(self.options.operation_timeout, build).await;
        if answer.is_err() {
            self.pool.hosts().note(link.address(), false, Instant::now());
        }
        answer
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

    /// The full names of the topics of a namespace, partitions each by itself. A broker that can leaves those out that do
    /// not match.
    pub(crate) async fn topics_like(&self, pattern: &Pattern) -> Result<Vec<String>, Error> {
        let mode = if pattern.persistent {
            TopicsMode::Persistent
        } else {
            TopicsMode::NonPersistent
        };
        let link = self.pool.service(Role::Consume).await?;
        let answer = self
            .ask(&link, |request_id| {
                Command::GetTopicsOfNamespace(CommandGetTopicsOfNamespace {
                    request_id,
                    namespace: pattern.namespace.clone(),
                    mode: Some(mode as i32),
                    topics_pattern: Some(pattern.text.clone()),
                    topics_hash: None,
                })
            })
            .await?;
        match answer {
            Command::GetTopicsOfNamespaceResponse(response) => Ok(response.topics.clone()),
            Command::Error(error) => Err(Error::refused(
                ServerError::from_i32(error.error),
                &error.message,
                format_args!("tell the topics of {}", pattern.namespace),
            )),
            other => Err(unexpected(&other, "GET_TOPICS_OF_NAMESPACE")),
        }
    }

    async fn ask_partitions(&self, topic: &TopicName, role: Role) -> Result<u32, Error> {
        let link = self.pool.service(role).await?;
        let answer = self
            .ask(&link, |request_id| {
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

/// Where the answer of the broker behind `link` leads.
fn target(topic: &str, link: &Link, response: &CommandLookupTopicResponse) -> Result<Target, Error> {
    if response.response == Some(LookupType::Failed as i32) || response.error.is_some() {
        let code = ServerError::from_i32(response.error.unwrap_or_default());
        let text = response.message.as_deref().unwrap_or_default();
        return Err(Error::refused(code, text, format_args!("look up {topic}")));
    }
    let asked = link.address();
    let (url, kind) = match asked.scheme() {
        Scheme::Plain => (&response.broker_service_url, "without TLS"),
        Scheme::Tls => (&response.broker_service_url_tls, "with TLS"),
    };
    let Some(url) = url.as_deref().filter(|url| !url.is_empty()) else {
        let text = format!("looking up {topic} at {asked} gave no address {kind}");
        return Err(Error::new(ErrorKind::InvalidServiceUrl, text));
    };
    let broker = ServiceUrl::parse(url).map_err(|error| {
        let text = format!("looking up {topic} gave an address that cannot be used");
        Error::with_source(ErrorKind::InvalidServiceUrl, text, error)
    })?;
    if broker.scheme() != asked.scheme() {
        let text = format!("looking up {topic} at {asked} gave {broker}, expected one {kind}");
        return Err(Error::new(ErrorKind::InvalidServiceUrl, text));
    }
    let is_redirect = response.response == Some(LookupType::Redirect as i32);
    let proxied = response.proxy_through_service_url.unwrap_or_default() && !is_redirect;
    let way = if proxied && broker != *asked {
        Way::ThroughService
    } else {
        Way::Direct
    };
    Ok(Target { broker, way })
}

/// The broker answered something else than was asked.
pub(crate) fn unexpected(answer: &Command, request: &str) -> Error {
    refusal(answer, request, format_args!("answer {request}"))
}

/// The broker refused what `doing` names, or answered something else than was asked.
pub(crate) fn refusal(answer: &Command, request: &str, doing: impl fmt::Display) -> Error {
    match answer {
        Command::Error(error) => Error::refused(ServerError::from_i32(error.error), &error.message, doing),
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
        assert_eq!(moved.broker().to_string(), "pulsar://new:6650");
        assert_eq!(moved.behind_proxy(), None);

        let proxied = Target {
            broker: ServiceUrl::parse("pulsar://old:6650").unwrap(),
            way: Way::ThroughService,
        };
        let moved = proxied.moved_to("pulsar+ssl://new").unwrap();
        assert!(moved.is_proxied());
        assert_eq!(moved.behind_proxy().as_deref(), Some("new:6651"));
    }
}
