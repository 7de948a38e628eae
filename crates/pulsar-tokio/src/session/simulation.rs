//! The machines against a model of a broker, through anything that can go wrong, from one number.
//!
//! A seed decides who publishes and consumes, what is lost, what is late, and what everybody does
//! next; the same seed always gives the same run. `world` holds the broker, the connections and
//! the clock; `frames` go between them and `faults` hinder them; `driver` does what the endpoints
//! do around the machines; `application` is their users, `peer` a client of another kind; `truth`
//! knows what really happened and what must never happen; `rest` ends a run.
//!
//! `SIM_SEED=123` runs one seed and prints all that happened; `SIM_SEEDS=100000` sets how many run,
//! `SIM_FIRST` where they begin.

mod application;
mod driver;
mod endpoint;
mod faults;
mod frames;
mod link;
mod peer;
mod plan;
mod rest;
mod truth;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use self::world::World;

const SEEDS: u64 = 10_000;

/// How many events before a failure are shown.
const SHOWN: usize = 60;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is {text:?}, expected a number")),
    )
}

/// Runs a seed; what went wrong, and how far it came.
fn run(seed: u64, is_traced: bool) -> (Result<(), String>, Vec<String>) {
    let mut world = World::new(seed, is_traced);
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    let result = result.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    });
    (result, world.trace().to_vec())
}

/// The story of a seed that failed.
fn story(seed: u64, shown: usize) -> String {
    let (result, trace) = run(seed, true);
    let plan = trace.first().cloned().unwrap_or_default();
    let last = trace[trace.len().saturating_sub(shown)..].join("\n");
    format!("seed {seed}: {result:?}\n{plan}\n…\n{last}\nseed {seed}: {result:?}")
}

#[test]
fn no_seed_loses_repeats_or_reorders_anything() {
    if let Some(seed) = number("SIM_SEED") {
        println!("{}", story(seed, usize::MAX));
        assert_eq!(run(seed, false).0, Ok(()));
        return;
    }
    let first = number("SIM_FIRST").unwrap_or(0);
    let end = first + number("SIM_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(first);
    let failed = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    if let (Err(why), _) = run(seed, false) {
                        let mut failed = failed.lock().unwrap();
                        failed.push((seed, why));
                        if failed.len() >= 20 {
                            break;
                        }
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    if let Some((seed, _)) = failed.first() {
        let all: Vec<String> = failed
            .iter()
            .map(|(seed, why)| format!("{seed}: {why}"))
            .collect();
        panic!("{}\nall that failed:\n{}", story(*seed, SHOWN), all.join("\n"));
    }
}

#[test]
fn a_seed_always_gives_the_same_run() {
    for seed in 0..50 {
        assert_eq!(run(seed, true), run(seed, true));
    }
}
