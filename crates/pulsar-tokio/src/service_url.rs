//! The address of a broker or a cluster: `pulsar://host:6650`.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// The port of a plain connection when the URL names none.
const DEFAULT_PORT: u16 = 6650;

/// The address of one broker.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServiceUrl {
    host: String,
    port: u16,
}

impl ServiceUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |kind, why: &str| {
            Err(Error::new(
                kind,
                format!("service URL {:?} {why}", without_secrets(text)),
            ))
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse(
                ErrorKind::InvalidServiceUrl,
                "has no scheme, expected pulsar://host:port",
            );
        };
        match scheme {
            "pulsar" => {}
            "pulsar+ssl" => {
                return refuse(
                    ErrorKind::Unsupported,
                    "asks for TLS, which this version does not speak yet; use pulsar://",
                );
            }
            "http" | "https" => {
                return refuse(
                    ErrorKind::InvalidServiceUrl,
                    "is an HTTP address; expected the binary protocol's, pulsar://host:port",
                );
            }
            _ => {
                return refuse(
                    ErrorKind::InvalidServiceUrl,
                    "has an unknown scheme, expected pulsar://host:port",
                );
            }
        }
        let address = rest.strip_suffix('/').unwrap_or(rest);
        if address.contains(',') {
            return refuse(
                ErrorKind::Unsupported,
                "names several hosts, which this version does not take yet; name one",
            );
        }
        if address.contains(['/', '@', '?', '#', ' ']) {
            return refuse(
                ErrorKind::InvalidServiceUrl,
                "has more than a host and a port, expected pulsar://host:port",
            );
        }
        let (host, port) = match split_port(address) {
            Some((host, port)) => match port.parse() {
                Ok(port) if port > 0 => (host, port),
                _ => {
                    return refuse(
                        ErrorKind::InvalidServiceUrl,
                        "has a port that is not a number from 1 to 65535",
                    );
                }
            },
            None => (address, DEFAULT_PORT),
        };
        if host.is_empty() || host == "[]" {
            return refuse(
                ErrorKind::InvalidServiceUrl,
                "has no host, expected pulsar://host:port",
            );
        }
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
        })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// The URL as it may be shown: without a password or a token that somebody wrote into it.
pub(crate) fn without_secrets(url: &str) -> String {
    let (url, query) = match url.split_once('?') {
        Some((url, _)) => (url, "?***"),
        None => (url, ""),
    };
    match url.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
            format!("{scheme}***@{host}{query}")
        }
        None => format!("{url}{query}"),
    }
}

/// Splits `host:port`; colons within `[…]` belong to an IPv6 address.
fn split_port(address: &str) -> Option<(&str, &str)> {
    let (host, port) = address.rsplit_once(':')?;
    (!port.ends_with(']')).then_some((host, port))
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "pulsar://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "pulsar://{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_port_is_the_default_one() {
        assert_eq!(
            ServiceUrl::parse("pulsar://localhost").unwrap().to_string(),
            "pulsar://localhost:6650"
        );
        assert_eq!(
            ServiceUrl::parse("pulsar://[::1]").unwrap().to_string(),
            "pulsar://[::1]:6650"
        );
        assert_eq!(
            ServiceUrl::parse("pulsar://[::1]:7000/").unwrap().to_string(),
            "pulsar://[::1]:7000"
        );
    }

    #[test]
    fn what_is_not_a_service_url_is_refused_with_its_text() {
        for text in [
            "",
            "localhost:6650",
            "http://localhost:8080",
            "pulsar://",
            "pulsar://h:0",
            "pulsar://h:x",
            "kafka://h:1",
        ] {
            let error = ServiceUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidServiceUrl, "{text}");
            assert!(error.to_string().contains(&format!("{text:?}")));
        }
    }

    #[test]
    fn passwords_and_tokens_are_not_repeated() {
        for (text, shown) in [
            ("pulsar://u:s3cret@h:1", "pulsar://***@h:1"),
            ("pulsar://u:s3cr@et@h", "pulsar://***@h"),
            ("u:s3cret@h", "***@h"),
            ("pulsar://h:1?token=s3cret", "pulsar://h:1?***"),
            ("http://u:s3cret@h/?a=b@c", "http://***@h/?***"),
        ] {
            let error = ServiceUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidServiceUrl, "{text}");
            assert!(error.to_string().contains(&format!("{shown:?}")), "{error}");
            let builder = format!("{:?}", crate::Client::builder(text));
            assert!(builder.contains(shown) && !builder.contains("s3cr"), "{builder}");
        }
    }

    #[test]
    fn what_is_not_there_yet_is_refused_by_name() {
        for (text, named) in [
            ("pulsar+ssl://h:6651", "TLS"),
            ("pulsar://a:1,b:2", "several hosts"),
        ] {
            let error = ServiceUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(named));
        }
    }
}
