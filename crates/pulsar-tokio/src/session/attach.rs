//! How a producer or a consumer comes to the broker that serves its topic, and comes back.
//!
//! The first attempt ends with an answer for the caller: open, or the error. After the first
//! success the machine tries for ever, since a worker that gives up is a worker that somebody has
//! to restart at night.

use std::time::{Duration, Instant};

use pulsar_wire::ServerError;

use super::backoff::Backoff;
use crate::error::{Error, ErrorKind};
use crate::lookup::Target;

/// What the driver of a machine has to do next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Wait until this time (or for an event, when there is none).
    Wait(Option<Instant>),
    /// Ask which broker serves the topic.
    LookUp,
    /// Connect to that broker.
    Dial(Target),
    /// Nothing more: the machine has ended.
    End,
}

#[derive(Debug)]
enum State {
    /// Waiting for the next try.
    Resting {
        until: Instant,
        then: Option<Target>,
    },
    LookUp,
    Dial(Target),
    /// The command that opens was sent; its answer has to come by the deadline.
    Opening {
        deadline: Instant,
    },
    Open,
    Ended,
}

/// The way of one producer or consumer to its broker.
#[derive(Debug)]
pub(crate) struct Attach {
    state: State,
    backoff: Backoff,
    timeout: Duration,
    /// Until when the first attempt may try again; gone after the first success.
    first_until: Option<Instant>,
    last_error: Option<Error>,
}

impl Attach {
    pub(crate) fn new(now: Instant, timeout: Duration) -> Self {
        Self {
            state: State::LookUp,
            backoff: Backoff::default(),
            timeout,
            first_until: Some(now + timeout),
            last_error: None,
        }
    }

    pub(crate) fn step(&mut self, now: Instant) -> Step {
        match &mut self.state {
            State::Resting { until, .. } if now < *until => Step::Wait(Some(*until)),
            State::Resting { then, .. } => {
                self.state = then.take().map_or(State::LookUp, State::Dial);
                self.step(now)
            }
            State::LookUp => Step::LookUp,
            State::Dial(target) => Step::Dial(target.clone()),
            State::Opening { deadline } => Step::Wait(Some(*deadline)),
            State::Open => Step::Wait(None),
            State::Ended => Step::End,
        }
    }

    pub(crate) fn looked_up(&mut self, target: Target) {
        if matches!(self.state, State::LookUp) {
            self.state = State::Dial(target);
        }
    }

    /// The opening command goes out now. False if nobody wants it any more.
    pub(crate) fn dialled(&mut self, now: Instant) -> bool {
        if matches!(self.state, State::Dial(_)) {
            self.state = State::Opening {
                deadline: now + self.timeout,
            };
            return true;
        }
        false
    }

    pub(crate) fn opened(&mut self) {
        self.state = State::Open;
        self.backoff.reset();
        self.first_until = None;
        self.last_error = None;
    }

    /// The attempt failed. Returns true if that ends the machine.
    pub(crate) fn failed(&mut self, now: Instant, chance: f64, error: Error) -> bool {
        if self.is_ended() {
            return false;
        }
        let delay = match self.first_until {
            Some(until) => {
                if !may_pass_while_opening(&error) {
                    return self.end(error);
                }
                let delay = self.backoff.next(chance);
                if now + delay >= until {
                    return self.end(error);
                }
                delay
            }
            None if error.is_terminal() => return self.end(error),
            None if error.is_transient() => self.backoff.next(chance),
            None => {
                // Somebody has to do something, and the caller has its answer long since. Once is
                // enough: health and last error go on saying it.
                let told = self.last_error.as_ref();
                if told.is_none_or(|told| told.to_string() != error.to_string()) {
                    tracing::warn!(%error, "refused, and tried again until somebody mends it");
                }
                self.backoff.greatest(chance)
            }
        };
        tracing::debug!(%error, ?delay, "trying again");
        self.state = State::Resting {
            until: now + delay,
            then: None,
        };
        self.last_error = Some(error);
        false
    }

    /// The session is over; the next one is looked for at once, at `target` if the broker named it.
    pub(crate) fn lost(&mut self, now: Instant, chance: f64, target: Option<Target>, error: Error) -> bool {
        match self.state {
            State::Open => {
                self.last_error = Some(error);
                // The first try comes soon but not at once: a broker that unloads a topic needs a
                // moment, and a broker that cuts every session must not be hammered.
                let until = if target.is_some() {
                    now
                } else {
                    now + self.backoff.next(chance)
                };
                self.state = State::Resting { until, then: target };
                false
            }
            State::Opening { .. } => self.failed(now, chance, error),
            _ => false,
        }
    }

    /// True if the opening command has waited too long for its answer.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        matches!(self.state, State::Opening { deadline } if now >= deadline)
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    pub(crate) fn last_error(&self) -> Option<&Error> {
        self.last_error.as_ref()
    }

    pub(crate) fn end(&mut self, error: Error) -> bool {
        self.state = State::Ended;
        self.last_error = Some(error);
        true
    }
}

/// What may pass by itself while a topic is opened for the first time. A busy subscription or
/// producer name, or an address where nobody listens, is an answer for the caller instead.
fn may_pass_while_opening(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Refused(code) => matches!(
            code,
            ServerError::ServiceNotReady
                | ServerError::MetadataError
                | ServerError::PersistenceError
                | ServerError::TooManyRequests
        ),
        ErrorKind::ConnectionLost => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target::direct("pulsar://127.0.0.1:6650").unwrap()
    }

    fn open(attach: &mut Attach, now: Instant) {
        attach.looked_up(target());
        assert!(attach.dialled(now));
        attach.opened();
    }

    fn unreachable() -> Error {
        Error::new(ErrorKind::Unreachable, "nobody listens")
    }

    #[test]
    fn before_the_first_success_the_error_goes_to_the_caller() {
        let now = Instant::now();
        let mut attach = Attach::new(now, Duration::from_secs(30));
        assert!(attach.failed(now, 0.0, unreachable()));
        assert!(matches!(attach.step(now), Step::End));
    }

    #[test]
    fn a_broker_that_is_not_ready_is_asked_again_until_the_timeout() {
        let mut now = Instant::now();
        let end = now + Duration::from_secs(5);
        let mut attach = Attach::new(now, Duration::from_secs(5));
        while !attach.failed(now, 0.0, Error::refused(ServerError::ServiceNotReady, "", "open")) {
            let Step::Wait(Some(until)) = attach.step(now) else {
                panic!("expected a pause")
            };
            now = until;
            assert!(matches!(attach.step(now), Step::LookUp));
        }
        assert!(now < end);
    }

    #[test]
    fn after_the_first_success_no_error_ends_the_attempts_but_a_terminal_one() {
        let mut now = Instant::now();
        let mut attach = Attach::new(now, Duration::from_secs(5));
        open(&mut attach, now);
        attach.lost(now, 0.0, None, unreachable());
        for code in [
            ServerError::AuthorizationError,
            ServerError::TopicNotFound,
            ServerError::ServiceNotReady,
        ] {
            now += Duration::from_secs(10);
            assert!(matches!(attach.step(now), Step::LookUp));
            assert!(!attach.failed(now, 0.0, Error::refused(code, "", "open")));
        }
        assert!(attach.failed(now, 0.0, Error::refused(ServerError::ProducerFenced, "", "open")));
    }

    #[test]
    fn an_assigned_broker_is_dialled_at_once_and_looked_up_when_that_fails() {
        let now = Instant::now();
        let mut attach = Attach::new(now, Duration::from_secs(5));
        open(&mut attach, now);
        attach.lost(
            now,
            0.0,
            Some(target()),
            Error::new(ErrorKind::ConnectionLost, "moved"),
        );
        assert!(matches!(attach.step(now), Step::Dial(_)));
        attach.failed(now, 0.0, unreachable());
        assert!(matches!(attach.step(now + Duration::from_secs(4)), Step::LookUp));
    }
}
