//! What a test does when something it needs is missing, and how it waits for what a broker does in its own time.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(25);

/// The broker that the test talks to: a fresh development broker in this process, or where `PULSAR_URL` is set the real
/// one that it names.
///
/// # Panics
/// When `PULSAR_URL` is set and `PULSAR_ADMIN_URL` is not.
#[macro_export]
macro_rules! broker {
    () => {
        $crate::Broker::from_env()
    };
}

/// A broker of the test's own that it may stop and kill: `own_broker!("name", Profile::default())`. A development
/// broker, or where `PULSAR_URL` is set a real one; then it returns from the test, with a line on standard error, where
/// `scripts/pulsar` never ran, so that no test fetches 235 MB unasked.
///
/// # Panics
/// When the broker does not start, and where the script never ran and `BABELQUEUE_REQUIRE_BROKER=1`.
#[macro_export]
macro_rules! own_broker {
    ($name:expr, $profile:expr $(,)?) => {{
        if !$crate::Broker::can_own() {
            return $crate::skip(
                "BABELQUEUE_REQUIRE_BROKER",
                "needs a broker of its own (run scripts/pulsar up once)",
            );
        }
        $crate::Broker::own($name, &$profile)
    }};
}

/// The real broker that `PULSAR_URL` names, for what only a real Pulsar can show; without it returns from the test, with
/// a line on standard error that gives the reason: `real_broker_or_skip!("its own figures are printed")`.
///
/// # Panics
/// When `PULSAR_URL` is set and `PULSAR_ADMIN_URL` is not.
#[macro_export]
macro_rules! real_broker_or_skip {
    ($why:literal) => {
        match $crate::Broker::real() {
            Some(broker) => broker,
            None => {
                return $crate::skip(
                    "BABELQUEUE_REQUIRE_BROKER",
                    concat!("needs a real Pulsar: ", $why),
                );
            }
        }
    };
}

/// The interpreter with the Python peer; returns from the test, with a line on standard error, when there is none.
///
/// # Panics
/// When there is none and `BABELQUEUE_REQUIRE_PYTHON=1`.
#[macro_export]
macro_rules! python_or_skip {
    () => {
        match $crate::python() {
            Some(python) => python,
            None => {
                return $crate::skip(
                    "BABELQUEUE_REQUIRE_PYTHON",
                    "needs the Python peer (run scripts/python-peer)",
                );
            }
        }
    };
}

/// Says on standard error that the current test is skipped and why.
///
/// # Panics
/// When the environment variable `require` is `1`: there, what is missing is a failure.
#[track_caller]
pub fn skip(require: &str, why: &str) {
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    assert!(
        env::var_os(require).is_none_or(|value| value != "1"),
        "{require}=1, but {test} {why}"
    );
    // Standard error itself: `eprintln!` is swallowed when a test passes.
    let line = format!("skipped: {test}: {why}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

/// Waits until `check` holds: for what a broker does in its own time and tells nobody.
///
/// # Panics
/// When it does not hold within 15 seconds; `what` completes the sentence "waited in vain until ...".
#[track_caller]
pub fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !check() {
        assert!(
            Instant::now() < deadline,
            "waited in vain until {what} ({PATIENCE:?})"
        );
        thread::sleep(PAUSE);
    }
}
