//! Counts the allocations of each case; `bench` runs it. Prints one line a case, in their order.

use std::alloc::System;

use bench::Result;
use bench::work::{Bench, CASES};
use pulsar_testing::Broker;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> Result<()> {
    let bench = Bench {
        broker: Broker::real().ok_or("PULSAR_URL is not set")?,
        messages: std::env::args()
            .nth(1)
            .ok_or("usage: allocations MESSAGES")?
            .parse()?,
        count: || {
            let stats = ALLOCATOR.stats();
            (stats.allocations + stats.reallocations) as u64
        },
    };
    for case in CASES {
        println!("{}", bench.run(case)?.allocations);
    }
    Ok(())
}
