//! The answer about one delivery, to be read by a person.

use std::fmt::Write;

use babelqueue_pulsar::Outgoing;
use babelqueue_pulsar::inspect::{Action, Inspection, Reason, Verdict};

use super::line;
use super::options::Context;
use crate::failure::one_line;

/// First what happens and why, then what was found out on the way.
pub(super) fn text(inspection: &Inspection, context: &Context) -> String {
    let mut answer = Answer(format!(
        "{}: {}",
        line::verdict(inspection.verdict),
        sentence(inspection)
    ));
    if let Some(cause) = &inspection.cause {
        answer.row("cause", &one_line(cause));
    }
    if let Some(route) = &inspection.route {
        answer.row("route", route);
    }
    if let Some((property, body)) = &inspection.mismatch {
        answer.row("mismatch", &format!("bq-job names {property}, the body {body}"));
    }
    if let Some(attempts) = inspection.attempts {
        answer.row("attempts", &format!("{attempts} (what a handler sees)"));
    }
    if let Some(counted) = inspection.counted {
        answer.row("counted", &format!("{counted} of {}", context.max_attempts));
    }
    if !inspection.hooks.is_empty() {
        answer.row("hooks", &inspection.hooks.join(", "));
    }
    if !inspection.warnings.is_empty() {
        answer.row("warnings", &inspection.warnings.join(", "));
    }
    if let Some(outgoing) = &inspection.published {
        answer.record(outgoing, context);
    }
    answer.row("finish", line::finish(inspection.finish));
    answer.0
}

struct Answer(String);

impl Answer {
    fn row(&mut self, name: &str, value: &str) {
        let _ = write!(self.0, "\n  {name:<11}{value}");
    }

    fn record(&mut self, outgoing: &Outgoing, context: &Context) {
        self.row("written to", &line::topic(outgoing.target, context));
        for (key, value) in outgoing.properties.iter() {
            let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
            let _ = write!(self.0, "\n    {key} = {value:?}");
        }
        match std::str::from_utf8(&outgoing.body) {
            Ok(body) => {
                let _ = write!(self.0, "\n    {}", body.replace('\n', "\n    "));
            }
            Err(_) => {
                let _ = write!(self.0, "\n    {} bytes that are not text", outgoing.body.len());
            }
        }
    }
}

fn sentence(inspection: &Inspection) -> String {
    let why = match inspection.verdict {
        Verdict::Handle => return "the handler succeeds and the message is acknowledged".to_owned(),
        Verdict::UnknownHook => return "nobody handles it, on_unknown_urn takes it".to_owned(),
        Verdict::Poison => "no handler can ever read it",
        Verdict::Gated => "it declares a schema version that is not supported",
        _ if inspection.reason == Some(Reason::UnknownUrn) => "nobody handles it",
        _ => "it failed",
    };
    let then = match inspection.action {
        Action::Retry => "it is published again and acknowledged",
        Action::DeadLetter => "a record is written to the dead-letter topic and it is acknowledged",
        Action::Drop => "it is dropped with a log line, there is no dead-letter producer",
        Action::Nack => "it is given back to the broker",
        _ => "it is acknowledged",
    };
    format!("{why}, so {then}")
}
