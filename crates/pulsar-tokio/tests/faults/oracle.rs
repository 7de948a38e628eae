//! The official Java client beside ours, in the same scenarios through the same kind of proxy.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use pulsar_testing::{Proxy, broker, eventually, skip};
use pulsar_tokio::{NewMessage, SubscriptionType};

use crate::scene::*;
use crate::support::*;

/// What a client came to in a scenario.
#[derive(Debug, Default)]
struct Outcome {
    handled: usize,
    acknowledged: usize,
    duplicates: usize,
    backlog: u64,
    permits: Vec<i64>,
}

/// The Java client, compiled.
struct Java {
    class_path: String,
}

impl Java {
    /// `None` without a JDK or without the jars that `scripts/pulsar` fetches.
    fn compiled() -> Option<&'static Self> {
        // Once: a test that compiles would take the classes away from one that starts them.
        static JAVA: OnceLock<Option<Java>> = OnceLock::new();
        JAVA.get_or_init(Self::compile).as_ref()
    }

    fn compile() -> Option<Self> {
        let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
        let jars = crate_dir.join("../../target/pulsar/lib-4.0.7");
        let classes = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("oracle");
        if !jars.is_dir() || Command::new("javac").arg("-version").output().is_err() {
            return None;
        }
        let class_path = format!("{}/*:{}", jars.display(), classes.display());
        let compiled = Command::new("javac")
            .args(["-cp", &class_path, "-d"])
            .arg(&classes)
            .arg(crate_dir.join("tests/oracle/Oracle.java"))
            .status()
            .expect("javac runs");
        assert!(compiled.success());
        Some(Self { class_path })
    }

    fn start(&self, url: &str, topic: &str, mode: &str, count: usize, steps: usize) -> Running {
        let mut child = Command::new("java")
            .args([
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                &self.class_path,
                "Oracle",
            ])
            .args([url, topic, mode, &count.to_string(), &steps.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("java runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let input = child.stdin.take();
        Running { child, lines, input }
    }
}

struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: Option<ChildStdin>,
}

impl Running {
    /// The next line that begins like this; others are a log's.
    fn line(&mut self, beginning: &str) -> String {
        let line = self.lines.by_ref().map(|line| line.expect("text"));
        let mut line = line.filter(|line| line.starts_with(beginning));
        line.next().expect("the Java client goes on")
    }

    fn go_on(&mut self) {
        self.input
            .as_mut()
            .expect("a pipe")
            .write_all(b"\n")
            .expect("a pipe");
    }

    fn outcome(&mut self) -> Outcome {
        let line = self.line("done ");
        let figures: Vec<usize> = line
            .split(' ')
            .skip(1)
            .map(|word| word.parse().unwrap())
            .collect();
        Outcome {
            handled: figures[0],
            acknowledged: figures[1],
            duplicates: figures[2],
            ..Outcome::default()
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn print(scenario: &str, java: &Outcome, ours: &Outcome) {
    println!("{scenario}");
    println!("client  handled  acknowledged  backlog  duplicates  permits");
    for (name, outcome) in [("Java", java), ("ours", ours)] {
        let Outcome {
            handled,
            acknowledged,
            duplicates,
            backlog,
            permits,
        } = outcome;
        println!("{name:<6}  {handled:>7}  {acknowledged:>12}  {backlog:>7}  {duplicates:>10}  {permits:?}");
    }
}

fn add_what_the_broker_says(scene: &Scene, outcome: &mut Outcome) {
    // What comes again is acknowledged again, in a moment or never.
    let deadline = Instant::now() + Duration::from_secs(2);
    while scene.broker.admin().backlog(&scene.topic, SUB) > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    let stats = scene.broker.admin().stats(&scene.topic);
    let subscription = stats.subscription(SUB);
    outcome.backlog = subscription.backlog;
    outcome.permits = subscription
        .consumers
        .iter()
        .map(|consumer| consumer.permits)
        .collect();
}

#[tokio::test(flavor = "multi_thread")]
async fn consuming_through_cuts_loses_no_more_than_the_java_client() {
    const COUNT: usize = 10_000;
    const STEPS: usize = 6;
    let broker = broker!();
    let Some(java) = Java::compiled() else {
        return skip("BABELQUEUE_REQUIRE_JAVA", "needs a JDK and Pulsar's jars");
    };
    let scene = Scene::new(broker, "oracle-java");
    publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
    let theirs = tokio::task::block_in_place(|| {
        let mut running = java.start(scene.proxy.url(), &scene.topic, "consume", COUNT, STEPS);
        for _ in 1..STEPS {
            running.line("at ");
            scene.proxy.cut();
        }
        let mut outcome = running.outcome();
        add_what_the_broker_says(&scene, &mut outcome);
        outcome
    });

    let scene = Scene::on(scene.broker, format!("{}-ours", scene.topic));
    publish(&producer(&scene.outside(), &scene.topic).await, COUNT).await;
    let consumer = consumer(&scene.client, &scene.topic, SubscriptionType::Shared).await;
    let mut tally = Tally::default();
    for step in 1..=STEPS {
        while tally.different() < COUNT * step / STEPS {
            tally.one(&consumer).await;
        }
        if step < STEPS {
            scene.proxy.cut();
        }
    }
    let (acknowledged, _) = tally.ends().await;
    let mut ours = Outcome {
        handled: tally.different(),
        acknowledged,
        duplicates: tally.duplicates(),
        ..Outcome::default()
    };
    tokio::task::block_in_place(|| add_what_the_broker_says(&scene, &mut ours));
    scene.is_settled(&consumer).await;

    print("10,000 consumed on Shared through five cuts", &theirs, &ours);
    assert!(ours.handled >= theirs.handled);
    assert!(ours.backlog <= theirs.backlog);
    assert!(ours.duplicates <= theirs.duplicates);
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_through_cuts_loses_no_more_than_the_java_client() {
    const COUNT: usize = 500;
    const CUTS: usize = 4;
    let broker = broker!();
    let Some(java) = Java::compiled() else {
        return skip("BABELQUEUE_REQUIRE_JAVA", "needs a JDK and Pulsar's jars");
    };
    let cut_all = |proxy: &Proxy| {
        for session in 1..=CUTS + 1 {
            eventually("all are stored once more", || {
                proxy.kept_back("SEND_RECEIPT") >= session * COUNT
            });
            if session <= CUTS {
                proxy.cut();
            }
        }
        proxy.pass("SEND_RECEIPT");
    };
    let scene = Scene::new(broker, "oracle-java");
    let checked = consumer(&scene.outside(), &scene.topic, SubscriptionType::Shared).await;
    let mut theirs = tokio::task::block_in_place(|| {
        let mut running = java.start(scene.proxy.url(), &scene.topic, "send", COUNT, 1);
        running.line("at ");
        scene.proxy.withhold("SEND_RECEIPT");
        running.go_on();
        cut_all(&scene.proxy);
        running.outcome()
    });
    count_copies(&scene, &checked, &mut theirs).await;

    let scene = Scene::on(scene.broker, format!("{}-ours", scene.topic));
    let checked = consumer(&scene.outside(), &scene.topic, SubscriptionType::Shared).await;
    let producer = scene.patient_producer().await;
    scene.proxy.withhold("SEND_RECEIPT");
    let mut receipts = Vec::new();
    for number in 0..COUNT {
        receipts.push(
            producer
                .enqueue(NewMessage::new(number.to_string()))
                .await
                .unwrap(),
        );
    }
    tokio::task::block_in_place(|| cut_all(&scene.proxy));
    let mut ours = Outcome::default();
    for receipt in receipts {
        ours.acknowledged += usize::from(within("a receipt", receipt).await.is_ok());
    }
    count_copies(&scene, &checked, &mut ours).await;

    print(
        "500 sends through four cuts, receipts withheld (handled: stored)",
        &theirs,
        &ours,
    );
    assert_eq!((ours.handled, ours.acknowledged), (COUNT, COUNT));
    assert!(ours.handled >= theirs.handled);
    assert!(ours.acknowledged >= theirs.acknowledged);
}

/// How many of the messages are stored, and how many copies there are of them.
async fn count_copies(scene: &Scene, consumer: &pulsar_tokio::Consumer, outcome: &mut Outcome) {
    let mut tally = Tally::default();
    let backlog = scene.broker.admin().backlog(&scene.topic, SUB);
    for _ in 0..backlog {
        tally.one(consumer).await;
    }
    tally.ends().await;
    outcome.handled = tally.different();
    outcome.duplicates = tally.duplicates();
    scene.is_settled(consumer).await;
    outcome.backlog = scene.broker.admin().backlog(&scene.topic, SUB);
}
