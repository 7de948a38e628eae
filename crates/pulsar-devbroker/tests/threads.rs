//! Brokers on threads of their own leave none behind. Alone in its process, whose threads it counts.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use pulsar_devbroker::DevBroker;

fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    tasks.count()
}

#[test]
fn brokers_that_have_ended_leave_no_threads() {
    let before = threads();
    for _ in 0..50 {
        let broker = DevBroker::builder().start_on_thread().expect("a start");
        let _client = std::net::TcpStream::connect(broker.addr()).expect("a connection");
        drop(broker);
    }
    let start = Instant::now();
    while threads() > before {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} threads more",
            threads() - before
        );
        std::thread::yield_now();
    }
}
