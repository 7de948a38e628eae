//! What is refused, and how it is said.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use support::run;

#[test]
fn the_help_states_the_exit_codes() {
    let help = run(&["--help"], "");
    assert!(
        help.done().contains("0 done, 1 failed, 2 wrong usage"),
        "{}",
        help.out
    );
}

#[test]
fn the_help_says_where_a_new_subscription_begins() {
    let help = run(&["consume", "--help"], "");
    let words: Vec<_> = help.done().split_whitespace().collect();
    assert!(words.join(" ").contains("the default is latest"), "{}", help.out);
}

#[test]
fn no_command_is_wrong_usage() {
    run(&[], "").is_usage_error();
}

#[test]
fn options_that_cannot_be_read_are_wrong_usage() {
    for options in [
        &["--delay", "soon"],
        &["--delay", "5"],
        &["--delay", "99999999999999999999s"],
        &["--header", "novalue"],
        &["--header", "=x"],
        &["--header", "bq-job=urn:babel:x"],
        &["--meta", "shop"],
        &["--meta", "shop=NaN"],
        &["--meta", "shop=1e999"],
        &["--count", "some"],
    ] {
        run(
            &[&["publish", "orders", "urn:babel:x"], options.as_slice()].concat(),
            "",
        )
        .is_usage_error();
    }
}

#[test]
fn an_address_that_is_none_is_wrong_usage_in_one_sentence() {
    for url in ["http://localhost:8080", "localhost", "pulsar://", ""] {
        let ended = run(&["publish", "orders", "urn:babel:x", "--url", url], "");
        ended.is_usage_error();
        ended.one_sentence(&[url]);
    }
}

#[test]
fn data_that_is_no_object_is_refused() {
    for data in ["[]", "7", "null", "\"text\""] {
        run(&["publish", "orders", "urn:babel:x", "--data", data], "").failed_with(&["not a JSON object"]);
    }
}

#[test]
fn data_that_is_not_json_is_refused_with_the_place() {
    for data in ["{\"n\":NaN}", "{", "", "{} {}", "{'a':1}"] {
        run(&["publish", "orders", "urn:babel:x", "--data", data], "").failed_with(&["at byte "]);
    }
}

#[test]
fn a_number_beyond_all_doubles_is_refused() {
    run(
        &["publish", "orders", "urn:babel:x", "--data", "{\"n\":1e999}"],
        "",
    )
    .failed_with(&["not finite"]);
}

#[test]
fn data_from_standard_input_is_checked_too() {
    run(&["publish", "orders", "urn:babel:x", "--data", "-"], "[1]").failed_with(&["not a JSON object"]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    run(
        &["publish", "orders", "urn:babel:x", "--data", "@no-such.json"],
        "",
    )
    .failed_with(&["no-such.json"]);
}

#[test]
fn reserved_and_forbidden_meta_keys_are_refused() {
    for key in ["id", "lang", "schema_version", "attempts", "ts"] {
        let meta = format!("{key}=1");
        run(&["publish", "orders", "urn:babel:x", "--meta", &meta], "")
            .failed_with(&[&format!("/meta/{key}")]);
    }
}

#[test]
fn a_blank_urn_is_refused() {
    for urn in ["", " \t"] {
        run(&["publish", "orders", urn], "").failed_with(&["URN is blank"]);
    }
}

#[test]
fn a_delay_beyond_the_calendar_is_refused() {
    let ended = run(
        &[
            "publish",
            "orders",
            "urn:babel:x",
            "--delay",
            "9223372036854775807s",
        ],
        "",
    );
    ended.failed_with(&["too long"]);
}

#[test]
fn an_absent_broker_is_named_within_a_bounded_time() {
    let absent = "pulsar://127.0.0.1:1";
    let begun = Instant::now();
    run(&["publish", "orders", "urn:babel:x", "--url", absent], "")
        .failed_with(&["bqctl: cannot connect to pulsar://127.0.0.1:1: "]);
    run(&["consume", "orders", "--subscription", "s", "--url", absent], "")
        .failed_with(&["bqctl: cannot connect to pulsar://127.0.0.1:1: "]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn attempts_out_of_range_are_wrong_usage() {
    for attempts in ["0", "2147483648", "-1"] {
        run(
            &[
                "consume",
                "orders",
                "--subscription",
                "s",
                "--max-attempts",
                attempts,
            ],
            "",
        )
        .is_usage_error();
    }
}
