//! The address of a broker or a cluster: `pulsar://host:6650`, `pulsar+ssl://a:6651,b:6651`.

use std::fmt;
use std::net::IpAddr;

use crate::error::{Error, ErrorKind};

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Plain,
    Tls,
}

impl Scheme {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "pulsar" => Ok(Self::Plain),
            "pulsar+ssl" => Ok(Self::Tls),
            "http" | "https" => {
                Err("is an HTTP address; expected the binary protocol's, pulsar:// or pulsar+ssl://")
            }
            _ => Err("has an unknown scheme, expected pulsar:// or pulsar+ssl://"),
        }
    }

    /// The port when the URL names none.
    fn default_port(self) -> u16 {
        match self {
            Self::Plain => 6650,
            Self::Tls => 6651,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "pulsar",
            Self::Tls => "pulsar+ssl",
        }
    }
}

/// The address of one broker.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServiceUrl {
    scheme: Scheme,
    host: String,
    port: u16,
}

/// The address of a cluster: at least one host, all with one scheme.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServiceUrls(Vec<ServiceUrl>);

impl ServiceUrls {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            let text = format!("service URL {:?} {why}", without_secrets(text));
            Error::new(ErrorKind::InvalidServiceUrl, text)
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(refuse("has no scheme, expected pulsar://host:port"));
        };
        let scheme = Scheme::parse(scheme).map_err(refuse)?;
        let hosts = rest.strip_suffix('/').unwrap_or(rest);
        let urls: Result<Vec<_>, _> = hosts
            .split(',')
            .map(|address| ServiceUrl::of(scheme, address.trim()))
            .collect();
        urls.map(Self).map_err(refuse)
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.0[0].scheme
    }

    pub(crate) fn hosts(&self) -> &[ServiceUrl] {
        &self.0
    }

    /// True if what is sent leaves this machine, for anybody on the way to read.
    pub(crate) fn leads_out_without_tls(&self) -> bool {
        self.scheme() == Scheme::Plain && !self.0.iter().all(|url| is_this_machine(&url.host))
    }
}

impl ServiceUrl {
    /// # Errors
    ///
    /// The text is not the address of one broker.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let mut urls = ServiceUrls::parse(text)?;
        if urls.0.len() > 1 {
            let text = format!("{:?} names several brokers, expected one", without_secrets(text));
            return Err(Error::new(ErrorKind::InvalidServiceUrl, text));
        }
        Ok(urls.0.remove(0))
    }

    fn of(scheme: Scheme, address: &str) -> Result<Self, &'static str> {
        if address.contains(['/', '@', '?', '#', ' ']) {
            return Err("has more than hosts and ports, expected pulsar://host:port");
        }
        let (host, port) = match split_port(address) {
            Some((host, port)) => match port.parse() {
                Ok(port) if port > 0 => (host, port),
                _ => return Err("has a port that is not a number from 1 to 65535"),
            },
            None => (address, scheme.default_port()),
        };
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(host) => host,
            None if host.contains(':') => {
                return Err("has an IPv6 address without brackets, expected pulsar://[address]:port");
            }
            None => host,
        };
        if host.is_empty() {
            return Err("has no host, expected pulsar://host:port");
        }
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port,
        })
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`, as a proxy wants it.
    pub(crate) fn host_and_port(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// True for the names and addresses by which a machine reaches itself.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
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
        write!(f, "{}://{}", self.scheme.name(), self.host_and_port())
    }
}

impl fmt::Debug for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ServiceUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.0.iter().map(ServiceUrl::host_and_port).collect();
        write!(f, "{}://{}", self.scheme().name(), hosts.join(","))
    }
}

impl fmt::Debug for ServiceUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_port_is_the_default_one_of_the_scheme() {
        for (given, full) in [
            ("pulsar://localhost", "pulsar://localhost:6650"),
            ("pulsar+ssl://localhost", "pulsar+ssl://localhost:6651"),
            ("pulsar://[::1]", "pulsar://[::1]:6650"),
            ("pulsar+ssl://[::1]/", "pulsar+ssl://[::1]:6651"),
            ("pulsar://[::1]:7000/", "pulsar://[::1]:7000"),
        ] {
            assert_eq!(ServiceUrl::parse(given).unwrap().to_string(), full);
        }
    }

    #[test]
    fn a_cluster_can_have_several_hosts_each_with_its_port_or_the_default() {
        let urls = ServiceUrls::parse("pulsar+ssl://a,b:7000, [::1]:7001,[::2]/").unwrap();
        assert_eq!(urls.hosts().len(), 4);
        assert_eq!(
            urls.to_string(),
            "pulsar+ssl://a:6651,b:7000,[::1]:7001,[::2]:6651"
        );
        let error = ServiceUrl::parse("pulsar://a,b").unwrap_err();
        assert!(error.to_string().contains("expected one"), "{error}");
    }

    #[test]
    fn what_leaves_the_machine_without_tls_is_known() {
        for (url, leads_out) in [
            ("pulsar://localhost,127.0.0.2,[::1]", false),
            ("pulsar://localhost,broker", true),
            ("pulsar+ssl://broker", false),
        ] {
            assert_eq!(
                ServiceUrls::parse(url).unwrap().leads_out_without_tls(),
                leads_out,
                "{url}"
            );
        }
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
            "pulsar://a,",
            "pulsar://a,b:x",
            "pulsar://::1",
            "pulsar+tls://h",
            "kafka://h:1",
        ] {
            let error = ServiceUrls::parse(text).unwrap_err();
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
            let error = ServiceUrls::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidServiceUrl, "{text}");
            assert!(error.to_string().contains(&format!("{shown:?}")), "{error}");
            let builder = format!("{:?}", crate::Client::builder(text));
            assert!(builder.contains(shown) && !builder.contains("s3cr"), "{builder}");
        }
    }
}
