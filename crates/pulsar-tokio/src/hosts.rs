//! The hosts of a service URL: whose turn it is, and who failed lately.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind};
use crate::link::lock;
use crate::service_url::{ServiceUrl, ServiceUrls};

/// How long a host that failed is asked only after all others.
const MEMORY: Duration = Duration::from_secs(10);

/// The hosts of one service URL. Questions go round them; one that failed is passed over for a
/// while, unless nothing else is left.
#[derive(Debug)]
pub(crate) struct Hosts {
    urls: ServiceUrls,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next: usize,
    /// When each host failed last; none when it has worked since.
    failed: Vec<Option<Instant>>,
}

impl Hosts {
    /// `chance` says where the round begins, so that many clients don't all begin at the first.
    pub(crate) fn new(urls: ServiceUrls, chance: u32) -> Self {
        let count = urls.hosts().len();
        let state = State {
            next: chance as usize % count,
            failed: vec![None; count],
        };
        Self {
            urls,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn urls(&self) -> &ServiceUrls {
        &self.urls
    }

    /// All hosts in the order in which they should be tried now. Each call begins one further.
    pub(crate) fn order(&self, now: Instant) -> Vec<ServiceUrl> {
        let hosts = self.urls.hosts();
        let mut state = lock(&self.state);
        let first = state.next;
        state.next = (first + 1) % hosts.len();
        let mut order: Vec<usize> = (0..hosts.len())
            .map(|step| (first + step) % hosts.len())
            .collect();
        // Those that work come first, in their round; then the one whose failure is oldest.
        order.sort_by_key(|index| state.failed[*index].filter(|at| now < *at + MEMORY));
        order.into_iter().map(|index| hosts[index].clone()).collect()
    }

    /// Notes how it went with a host; addresses of other brokers are none of ours.
    pub(crate) fn note(&self, address: &ServiceUrl, worked: bool, now: Instant) {
        if let Some(index) = self.urls.hosts().iter().position(|host| host == address) {
            lock(&self.state).failed[index] = (!worked).then_some(now);
        }
    }

    /// The error of a question for which every host failed.
    pub(crate) fn all_failed(&self, mut errors: Vec<Error>) -> Error {
        if errors.len() == 1 {
            return errors.remove(0);
        }
        // What nobody can wait for says more than what may pass.
        let telling = errors
            .iter()
            .find(|error| !error.is_transient())
            .or(errors.first());
        let kind = telling.map_or(ErrorKind::Unreachable, Error::kind);
        let each: Vec<String> = errors.iter().map(with_reason).collect();
        Error::new(
            kind,
            format!(
                "none of the hosts of {} can be used: {}",
                self.urls,
                each.join("; ")
            ),
        )
    }
}

fn with_reason(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error} ({source})"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::new(ServiceUrls::parse("pulsar://a,b,c").unwrap(), 0)
    }

    fn order(hosts: &Hosts, now: Instant) -> String {
        let order = hosts.order(now);
        order.iter().map(ServiceUrl::host).collect()
    }

    #[test]
    fn questions_go_round_the_hosts() {
        let (hosts, now) = (hosts(), Instant::now());
        assert_eq!(order(&hosts, now), "abc");
        assert_eq!(order(&hosts, now), "bca");
        assert_eq!(order(&hosts, now), "cab");
        assert_eq!(order(&hosts, now), "abc");
    }

    #[test]
    fn a_host_that_failed_comes_last_for_a_while() {
        let (hosts, now) = (hosts(), Instant::now());
        let a = ServiceUrl::parse("pulsar://a").unwrap();
        hosts.note(&a, false, now);
        assert_eq!(order(&hosts, now), "bca");
        assert_eq!(order(&hosts, now), "bca");
        hosts.note(&ServiceUrl::parse("pulsar://b").unwrap(), false, now + MEMORY / 2);
        assert_eq!(order(&hosts, now + MEMORY / 2), "cab", "the oldest failure first");
        assert_eq!(
            order(&hosts, now + MEMORY),
            "acb",
            "the first failure is forgotten"
        );
    }

    #[test]
    fn a_host_that_works_again_has_its_turn_again() {
        let (hosts, now) = (hosts(), Instant::now());
        let a = ServiceUrl::parse("pulsar://a").unwrap();
        hosts.note(&a, false, now);
        hosts.note(&a, true, now);
        assert_eq!(order(&hosts, now), "abc");
    }

    #[test]
    fn when_all_fail_the_error_names_each() {
        let error = |kind, text| Error::new(kind, text);
        let all = hosts().all_failed(vec![
            error(ErrorKind::Unreachable, "cannot connect to a"),
            error(ErrorKind::Tls, "the certificate of b has expired"),
        ]);
        assert_eq!(all.kind(), ErrorKind::Tls);
        let text = all.to_string();
        assert!(text.contains("pulsar://a:6650,b:6650,c:6650"), "{text}");
        assert!(
            text.contains("connect to a") && text.contains("b has expired"),
            "{text}"
        );
    }
}
