//! Running suites: a small one of our own, broken ones, and the official one when it is at hand.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{Ended, run};

const BLOCKS: [&str; 7] = [
    "cases",
    "roundtrip",
    "data_shape",
    "forbidden_keys",
    "pulsar.property_projection",
    "pulsar.attempts_reconciliation",
    "pulsar.schema_version_gate",
];

#[test]
fn our_own_suite_passes_and_says_what_it_skips() {
    let ended = conformance(&own());
    assert_eq!(
        ended.done(),
        "passed  cases (4)\n\
         passed  roundtrip (1)\n\
         passed  data_shape (2)\n\
         passed  forbidden_keys (2)\n\
         passed  pulsar.property_projection (1)\n\
         passed  pulsar.attempts_reconciliation (2)\n\
         passed  pulsar.schema_version_gate (5)\n\
         skipped idempotency: this build has no idempotency helper\n\
         skipped identity_verdict: unknown to this version\n\
         skipped kafka: the binding of another broker\n\
         skipped payload_schema: this build has no schema validator\n\
         skipped pulsar.tomorrow: unknown to this version\n\
         7 passed, 0 failed, 5 skipped\n"
    );
}

#[test]
fn the_official_suite_passes() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("BABELQUEUE_CONFORMANCE").map_or_else(beside, PathBuf::from);
    if !folder.join("manifest.json").is_file() {
        pulsar_testing::skip(
            "BABELQUEUE_REQUIRE_CONFORMANCE",
            "needs the official suite (name its folder in BABELQUEUE_CONFORMANCE)",
        );
        return;
    }
    let ended = conformance(&folder);
    for block in BLOCKS {
        assert!(
            ended.done().contains(&format!("passed  {block} (")),
            "{}",
            ended.out
        );
    }
}

#[test]
fn every_block_finds_what_is_not_as_expected() {
    for (block, good, bad, found) in [
        (
            "cases",
            "\"attempts\": 2,",
            "\"attempts\": 4,",
            "expected 4, found 2",
        ),
        (
            "cases",
            "9007199254740993",
            "9007199254740992",
            "expected {\"n\":9007199254740992",
        ),
        ("cases", "\"ratio\": 0.5", "\"ratio\": 5", "data: expected"),
        (
            "roundtrip",
            "\"expect_attempts\": 3",
            "\"expect_attempts\": 4",
            "expected 4, found 3",
        ),
        (
            "roundtrip",
            "\"rate\": 7",
            "\"rate\": 7.0",
            "expected {\"open\":[],\"rate\":7.0}",
        ),
        (
            "data_shape",
            "json\": \"{}\"",
            "json\": \"[]\"",
            "expected \"[]\", found \"{}\"",
        ),
        (
            "forbidden_keys",
            "\"forbidden_key\": \"/meta/ts\"",
            "\"forbidden_key\": \"/meta/source\"",
            "/meta/source",
        ),
        (
            "pulsar.property_projection",
            "\"bq-attempts\": \"2\"",
            "\"bq-delay\": \"2\"",
            "bq-delay",
        ),
        (
            "pulsar.attempts_reconciliation",
            "\"expected_attempts\": 5",
            "\"expected_attempts\": 6",
            "Some(6)",
        ),
        (
            "pulsar.schema_version_gate",
            "\"value\": \"2\"",
            "\"value\": \"1\"",
            "expected Gated, found Handle",
        ),
    ] {
        let suite = Copy::of_own(&format!("{block}-{}", bad.len()));
        suite.change(good, bad);
        let ended = conformance(&suite.0);
        assert_eq!(ended.code, Some(1), "{}", ended.out);
        let line = ended
            .out
            .lines()
            .find(|line| line.starts_with(&format!("failed  {block}: ")));
        assert!(
            line.is_some_and(|line| line.contains(found)),
            "{found} is not in:\n{}",
            ended.out
        );
    }
}

#[test]
fn a_fixture_that_is_missing_fails_its_case_only() {
    let suite = Copy::of_own("missing");
    fs::remove_file(suite.0.join("fixtures/extras.json")).unwrap();
    let ended = conformance(&suite.0);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .out
            .contains("failed  roundtrip: 1 of 1 cases; extras: cannot read"),
        "{}",
        ended.out
    );
    assert!(
        ended.out.ends_with("6 passed, 1 failed, 5 skipped\n"),
        "{}",
        ended.out
    );
}

#[test]
fn another_schema_version_stops_it() {
    let suite = Copy::of_own("version");
    suite.change(
        "\"schema_version\": 1,\n  \"description\"",
        "\"schema_version\": 2,\n  \"description\"",
    );
    conformance(&suite.0).failed_with(&["schema_version is 2"]);
}

#[test]
fn a_folder_without_a_manifest_is_named() {
    conformance(Path::new("no-such-folder")).failed_with(&["no-such-folder", "manifest.json"]);
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite")
}

fn conformance(folder: &Path) -> Ended {
    run(&["conformance", folder.to_str().unwrap()], "")
}

/// A copy of our own suite that a test may spoil.
struct Copy(PathBuf);

impl Copy {
    fn of_own(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("suite-{name}"));
        fs::create_dir_all(folder.join("fixtures")).unwrap();
        fs::copy(own().join("manifest.json"), folder.join("manifest.json")).unwrap();
        for fixture in fs::read_dir(own().join("fixtures")).unwrap() {
            let fixture = fixture.unwrap();
            fs::copy(fixture.path(), folder.join("fixtures").join(fixture.file_name())).unwrap();
        }
        Self(folder)
    }

    /// Changes the first place of a text in the manifest.
    #[track_caller]
    fn change(&self, good: &str, bad: &str) {
        let path = self.0.join("manifest.json");
        let manifest = fs::read_to_string(&path).unwrap();
        assert!(manifest.contains(good), "{good}");
        fs::write(path, manifest.replacen(good, bad, 1)).unwrap();
    }
}
