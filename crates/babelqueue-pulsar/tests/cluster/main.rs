//! A cluster of two brokers, of which one is killed while keyed messages are published and consumed.

mod figures;
mod scene;

use std::env;
use std::time::Duration;

use pulsar_testing::{Cluster, real_broker_or_skip, skip};

use crate::figures::print_figures;
use crate::scene::Scene;

const WORKERS: usize = 4;

/// How long after the cluster has noticed publishing and consuming go on.
const AIM: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_keys_keep_their_order_when_a_broker_of_two_is_killed() {
    let _ = real_broker_or_skip!("a cluster of real brokers is started");
    let Some(cluster) = Cluster::start() else {
        return skip(
            "BABELQUEUE_REQUIRE_BROKER",
            "needs Pulsar's jars (run scripts/pulsar up once)",
        );
    };
    let messages = if env::var_os("BABELQUEUE_SOAK").is_some() {
        200_000
    } else {
        20_000
    };
    print_figures(&cluster, messages / 4).await;

    let scene = Scene::new(cluster, messages).await;
    let workers = scene.workers(WORKERS).await;
    let publishing = scene.publish();
    scene.until_handled(messages / 4).await;
    let outage = scene.kill_a_broker().await;
    let receipts = publishing.await.expect("no panic");
    scene.until_all_are_handled().await;
    workers.close().await;

    let account = scene.account();
    println!(
        "{messages} messages, {WORKERS} workers, one of two brokers killed: noticed after {:.1} s; first receipt {:.1} s \
         and first message {:.1} s after that; {} handled again",
        outage.noticed_after().as_secs_f64(),
        outage.until_first(&receipts).as_secs_f64(),
        outage.until_first(&account.times).as_secs_f64(),
        account.again,
    );
    assert_eq!(account.missing, 0);
    assert_eq!(account.out_of_order, Vec::<String>::new());
    assert!(outage.until_first(&receipts) <= AIM, "publishing goes on");
    assert!(outage.until_first(&account.times) <= AIM, "consuming goes on");
    scene.is_settled();
}
