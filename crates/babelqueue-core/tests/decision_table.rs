//! Every row of the decision, printed.
//!
//! One snapshot holds all combinations, so a change of behaviour shows as a changed line.
//! `docs/decision-table.md` is the same with equal lines joined; `UPDATE_DOCS=1` writes it anew.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fmt::Write;
use std::path::Path;

use babelqueue_core::dead_letter::restore;
use babelqueue_core::{
    Body, Cause, Delivery, Destination, Envelope, Outgoing, Plan, Policy, Properties, Refusal, Settlement,
    Target, Verdict, conclude, plan, properties, refuse,
};

const CAP: u32 = 3;
const GOOD: &str =
    r#"{"job":"urn:babel:lab:a","trace_id":"t","data":{},"meta":{"id":"m","schema_version":1},"attempts":0}"#;

#[derive(Clone, Copy)]
enum Gate {
    Passes,
    Stops,
}

#[derive(Clone, Copy)]
enum Arrives {
    Envelope,
    NoEntry,
    NoJson,
    NoIdentity,
    NotAccepted,
}

#[derive(Clone, Copy)]
enum Route {
    Body,
    Property,
}

#[derive(Clone, Copy)]
enum Handler {
    Known,
    Hook,
    Nobody,
}

#[derive(Clone, Copy)]
enum Says {
    Done,
    Failed,
}

/// What a delivery is and whom it meets.
#[derive(Clone, Copy)]
struct Situation {
    name: &'static str,
    gate: Gate,
    arrives: Arrives,
    route: Route,
    handler: Handler,
    says: Says,
}

/// What the consumer has, and how often the delivery was tried.
#[derive(Clone, Copy)]
struct Setting {
    dead_letter: bool,
    retry: bool,
    at_cap: bool,
}

/// The eight settings, in the order of three binary digits.
fn settings() -> [Setting; 8] {
    std::array::from_fn(|bits| Setting {
        dead_letter: bits & 4 == 0,
        retry: bits & 2 == 0,
        at_cap: bits & 1 != 0,
    })
}

fn situations() -> Vec<Situation> {
    let gated = |name, arrives| Situation {
        name,
        gate: Gate::Stops,
        arrives,
        route: Route::Body,
        handler: Handler::Known,
        says: Says::Done,
    };
    let poison = |name, arrives| Situation {
        gate: Gate::Passes,
        ..gated(name, arrives)
    };
    let work = |name, route, handler, says| Situation {
        route,
        handler,
        says,
        ..poison(name, Arrives::Envelope)
    };
    vec![
        gated("gated, envelope", Arrives::Envelope),
        gated("gated, undecodable entry", Arrives::NoEntry),
        gated("gated, not JSON", Arrives::NoJson),
        gated("gated, no identity", Arrives::NoIdentity),
        gated("gated, not accepted", Arrives::NotAccepted),
        poison("poison, undecodable entry (P0)", Arrives::NoEntry),
        poison("poison, not JSON (P2)", Arrives::NoJson),
        poison("poison, no identity (P7)", Arrives::NoIdentity),
        Situation {
            route: Route::Property,
            ..poison("poison, only bq-job names it (P7)", Arrives::NoIdentity)
        },
        poison("poison, not accepted (P8)", Arrives::NotAccepted),
        work("no handler, hook answers", Route::Body, Handler::Hook, Says::Done),
        work(
            "no handler, hook answers, mismatch",
            Route::Property,
            Handler::Hook,
            Says::Done,
        ),
        work("no handler, hook fails", Route::Body, Handler::Hook, Says::Failed),
        work("no handler, no hook", Route::Body, Handler::Nobody, Says::Failed),
        work(
            "no handler, no hook, mismatch",
            Route::Property,
            Handler::Nobody,
            Says::Failed,
        ),
        work("handler succeeds", Route::Body, Handler::Known, Says::Done),
        work(
            "handler succeeds, mismatch",
            Route::Property,
            Handler::Known,
            Says::Done,
        ),
        work("handler fails", Route::Body, Handler::Known, Says::Failed),
        work(
            "handler fails, mismatch",
            Route::Property,
            Handler::Known,
            Says::Failed,
        ),
    ]
}

fn delivery(situation: Situation, setting: Setting) -> Delivery {
    let body = match situation.arrives {
        Arrives::Envelope => Body::Bytes(GOOD.into()),
        Arrives::NoEntry => Body::Undecodable {
            received: "?".into(),
            cause: "corrupt".to_owned(),
        },
        Arrives::NoJson => Body::Bytes("nope".into()),
        Arrives::NoIdentity => Body::Bytes(r#"{"trace_id":"t"}"#.into()),
        Arrives::NotAccepted => Body::Bytes(r#"{"job":"urn:babel:lab:a"}"#.into()),
    };
    let mut properties = Properties::new();
    if let Gate::Stops = situation.gate {
        properties.set(properties::SCHEMA_VERSION, "2");
    }
    if let Route::Property = situation.route {
        properties.set(properties::JOB, "urn:babel:lab:b");
    }
    if setting.at_cap {
        properties.set(properties::ATTEMPTS, "2");
    }
    Delivery {
        body,
        properties,
        redelivery_count: 0,
        queue: "lab".into(),
    }
}

/// Runs one delivery through the decision and describes what came out.
fn outcome(situation: Situation, setting: Setting) -> [String; 4] {
    let policy = Policy {
        max_attempts: CAP,
        dead_letter: setting.dead_letter,
        retry: setting.retry,
        unknown_urn_hook: matches!(situation.handler, Handler::Hook),
    };
    let delivery = delivery(situation, setting);
    let known = matches!(situation.handler, Handler::Known);
    let (asked, settlement) = match plan(&delivery, &policy, |_| known) {
        Plan::Refuse(refusal) => {
            let asked = match &refusal {
                Refusal::Gated(_) => "nobody (gated)".to_owned(),
                Refusal::Poison(poison) => format!("nobody ({})", poison.cause().rule()),
            };
            (asked, refuse(&delivery, &refusal, &policy, 5))
        }
        Plan::Dispatch(work) => {
            let failed = || {
                Verdict::Failed(Cause {
                    error: "why".to_owned(),
                    exception: None,
                })
            };
            let (target, verdict) = match (work.target(), situation.says) {
                (Target::Nobody, _) => ("nobody (unknown URN)", Verdict::Failed(work.unknown_urn())),
                (Target::Handler, Says::Done) => ("handler", Verdict::Done),
                (Target::Handler, Says::Failed) => ("handler", failed()),
                (Target::UnknownHook, Says::Done) => ("hook", Verdict::Done),
                (Target::UnknownHook, Says::Failed) => ("hook", failed()),
            };
            let mismatch = if work.mismatch().is_some() {
                ", after the mismatch hook"
            } else {
                ""
            };
            (
                format!("{target}{mismatch}"),
                conclude(&delivery, &work, &verdict, &policy, 5),
            )
        }
    };
    let (published, finish, log) = match settlement {
        Settlement::Ack => ("–".to_owned(), "ack", "–".to_owned()),
        Settlement::Nack => ("–".to_owned(), "nack", "–".to_owned()),
        Settlement::Drop(dropped) => ("–".to_owned(), "ack", format!("dropped: {:?}", dropped.why)),
        Settlement::Publish(outgoing) => (
            described(&delivery, &outgoing),
            "ack once confirmed",
            "–".to_owned(),
        ),
    };
    [asked, published, finish.to_owned(), log]
}

fn described(delivery: &Delivery, outgoing: &Outgoing) -> String {
    let to = match outgoing.target {
        Destination::WorkTopic => "work topic",
        Destination::DeadLetter => "dead-letter topic",
    };
    let mut text = format!("{:?} → {to}", outgoing.record);
    if let Body::Bytes(body) | Body::Undecodable { received: body, .. } = &delivery.body
        && *body == outgoing.body
    {
        text.push_str(", body as received");
    }
    if outgoing.properties == delivery.properties {
        text.push_str(", properties as received");
    }
    if let Some(block) = block(&outgoing.body) {
        write!(text, ", `dead_letter` {block}").unwrap();
    }
    text
}

/// The reason of a record's block. Records of bodies without identity are no envelopes, so the
/// text is searched.
fn block(body: &bytes::Bytes) -> Option<String> {
    restore(body)?;
    if let Ok(envelope) = Envelope::decode(body) {
        return envelope.dead_letter().map(|block| block.reason.into_owned());
    }
    String::from_utf8_lossy(body)
        .contains(r#""reason":"poison""#)
        .then(|| "poison".to_owned())
}

fn line(out: &mut String, cells: &[&str]) {
    writeln!(out, "| {} |", cells.join(" | ")).unwrap();
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn cap(at_cap: bool) -> &'static str {
    if at_cap { "≥ cap" } else { "< cap" }
}

fn heading(out: &mut String) {
    line(
        out,
        &[
            "situation",
            "dead-letter",
            "retry",
            "counted",
            "asked",
            "published",
            "finish",
            "log",
        ],
    );
    line(out, &["---"; 8]);
}

#[test]
fn every_combination_has_its_line() {
    let mut table = String::new();
    heading(&mut table);
    for situation in situations() {
        for setting in settings() {
            let [asked, published, finish, log] = outcome(situation, setting);
            let (dead_letter, retry) = (yes(setting.dead_letter), yes(setting.retry));
            let cells = [
                situation.name,
                dead_letter,
                retry,
                cap(setting.at_cap),
                &asked,
                &published,
                &finish,
                &log,
            ];
            line(&mut table, &cells);
        }
    }
    insta::assert_snapshot!(table);
}

/// A set of settings: each of the three is fixed or does not matter.
#[derive(Clone, Copy)]
struct Pattern {
    dead_letter: Option<bool>,
    retry: Option<bool>,
    at_cap: Option<bool>,
}

impl Pattern {
    /// All patterns, those that cover most first.
    fn all() -> Vec<Self> {
        let choices = [None, Some(true), Some(false)];
        let mut all: Vec<Self> = choices
            .into_iter()
            .flat_map(|dead_letter| choices.map(|retry| (dead_letter, retry)))
            .flat_map(|(dead_letter, retry)| {
                [None, Some(false), Some(true)].map(|at_cap| Self {
                    dead_letter,
                    retry,
                    at_cap,
                })
            })
            .collect();
        all.sort_by_key(|pattern| {
            [pattern.dead_letter, pattern.retry, pattern.at_cap]
                .into_iter()
                .filter(Option::is_some)
                .count()
        });
        all
    }

    fn covers(self, setting: Setting) -> bool {
        self.dead_letter.is_none_or(|value| value == setting.dead_letter)
            && self.retry.is_none_or(|value| value == setting.retry)
            && self.at_cap.is_none_or(|value| value == setting.at_cap)
    }
}

/// The lines of one situation with equal ones joined.
fn joined(out: &mut String, situation: Situation) {
    let all = settings().map(|setting| (setting, outcome(situation, setting)));
    let mut done = [false; 8];
    for pattern in Pattern::all() {
        let covered: Vec<usize> = (0..8).filter(|index| pattern.covers(all[*index].0)).collect();
        let first = &all[covered[0]].1;
        if covered
            .iter()
            .any(|index| done[*index] || all[*index].1 != *first)
        {
            continue;
        }
        for index in covered {
            done[index] = true;
        }
        let any = |value: Option<bool>, show: fn(bool) -> &'static str| value.map_or("any", show);
        let [asked, published, finish, log] = first;
        let (dead_letter, retry) = (any(pattern.dead_letter, yes), any(pattern.retry, yes));
        line(
            out,
            &[
                situation.name,
                dead_letter,
                retry,
                any(pattern.at_cap, cap),
                asked,
                published,
                finish,
                log,
            ],
        );
    }
}

const INTRODUCTION: &str = "\
# Decision table

Printed by `crates/babelqueue-core/tests/decision_table.rs`; run it with `UPDATE_DOCS=1` to write it
anew. Not to be edited by hand.

*dead-letter* and *retry* say whether the consumer has a producer for the dead-letter topic and for
retries. *counted* is the number of this delivery; the cap is `max_attempts`. *asked* is who handles
the delivery. A record that is published is acknowledged once the broker confirmed it; when it does
not, the delivery is negatively acknowledged and the same decision is taken again. `on_error` hears
of everything here but a success and an answering hook.

";

#[test]
fn the_printed_table_is_up_to_date() {
    let mut text = INTRODUCTION.to_owned();
    heading(&mut text);
    for situation in situations() {
        joined(&mut text, situation);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/decision-table.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/decision-table.md is not what the decision does; run with UPDATE_DOCS=1"
    );
}
