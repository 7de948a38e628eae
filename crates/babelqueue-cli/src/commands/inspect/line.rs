//! A delivery as a line of JSON, and the answer as another.

use std::fmt;

use babelqueue_pulsar::inspect::{Action, Finish, Inspection, Reason, Verdict};
use babelqueue_pulsar::{Destination, Properties, dead_letter_topic};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::options::{Context, LineContext};

/// A delivery, with the consumer that is to get it.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) id: Option<Box<RawValue>>,
    pub(super) body: Bytes,
    pub(super) properties: Properties,
    pub(super) redelivery_count: u32,
    pub(super) context: Context,
}

/// The line itself. Members that are not known are ignored.
#[derive(Deserialize)]
struct Text {
    id: Option<Box<RawValue>>,
    body_base64: String,
    #[serde(default, deserialize_with = "properties")]
    properties: Properties,
    #[serde(default)]
    redelivery_count: u32,
    context: Option<LineContext>,
}

impl Input {
    /// Reads a line; the error says what is wrong with it.
    pub(super) fn parse(line: &[u8], defaults: &Context) -> Result<Self, String> {
        let text: Text = serde_json::from_slice(line).map_err(|error| problem(&error))?;
        let body = STANDARD
            .decode(&text.body_base64)
            .map_err(|error| format!("body_base64 is not base64: {error}"))?;
        Ok(Self {
            id: text.id,
            body: body.into(),
            properties: text.properties,
            redelivery_count: text.redelivery_count,
            context: text.context.unwrap_or_default().over(defaults),
        })
    }
}

/// Without the place of the fault where that is the line, which is always the first.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string().replace(" at line 1 column ", " at column ");
    match error.classify() {
        serde_json::error::Category::Data => text,
        _ => format!("not JSON: {text}"),
    }
}

fn properties<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Properties, D::Error> {
    struct InOrder;

    impl<'de> Visitor<'de> for InOrder {
        type Value = Properties;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of texts as properties")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
            let mut properties = Properties::new();
            while let Some(key) = map.next_key::<String>()? {
                let value: String = map
                    .next_value()
                    .map_err(|error| de::Error::custom(format_args!("property {key:?}: {error}")))?;
                properties.set(key, value);
            }
            Ok(properties)
        }
    }

    deserializer.deserialize_map(InOrder)
}

/// The answer; the order of the members is part of the format.
#[derive(Serialize)]
struct Output<'a> {
    id: Option<&'a RawValue>,
    verdict: &'static str,
    action: &'static str,
    cause: Option<&'a str>,
    reason: Option<&'static str>,
    route: Option<&'a str>,
    mismatch: Option<(&'a str, &'a str)>,
    attempts: Option<i64>,
    counted: Option<i64>,
    hooks: &'a [&'static str],
    on_error_envelope: Option<bool>,
    publish: Option<Publish<'a>>,
    finish: &'static str,
    warnings: &'a [String],
    dropped: bool,
}

#[derive(Serialize)]
struct Publish<'a> {
    to: &'static str,
    topic: String,
    body_base64: String,
    #[serde(serialize_with = "put_properties")]
    properties: &'a Properties,
}

/// The answer as a line.
pub(super) fn output(
    id: Option<&RawValue>,
    inspection: &Inspection,
    context: &Context,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Output {
        id,
        verdict: verdict(inspection.verdict),
        action: action(inspection.action),
        cause: inspection.cause.as_deref(),
        reason: inspection.reason.map(reason),
        route: inspection.route.as_deref(),
        mismatch: inspection
            .mismatch
            .as_ref()
            .map(|(property, body)| (property.as_str(), body.as_str())),
        attempts: inspection.attempts,
        counted: inspection.counted,
        hooks: &inspection.hooks,
        on_error_envelope: inspection.on_error_envelope.filter(|with| *with),
        publish: inspection.published.as_ref().map(|outgoing| Publish {
            to: destination(outgoing.target),
            topic: topic(outgoing.target, context),
            body_base64: STANDARD.encode(&outgoing.body),
            properties: &outgoing.properties,
        }),
        finish: finish(inspection.finish),
        warnings: &inspection.warnings,
        dropped: inspection.dropped(),
    })
}

fn put_properties<S: Serializer>(properties: &Properties, serializer: S) -> Result<S::Ok, S::Error> {
    let text = String::from_utf8_lossy;
    serializer.collect_map(properties.iter().map(|(key, value)| (text(key), text(value))))
}

fn destination(target: Destination) -> &'static str {
    match target {
        Destination::WorkTopic => "topic",
        Destination::DeadLetter => "dlq",
    }
}

pub(super) fn topic(target: Destination, context: &Context) -> String {
    match target {
        Destination::WorkTopic => context.topic.clone(),
        Destination::DeadLetter => dead_letter_topic(&context.topic),
    }
}

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Handle => "handle",
        Verdict::Retry => "retry",
        Verdict::DeadLetter => "dead_letter",
        Verdict::UnknownHook => "unknown_hook",
        Verdict::Drop => "drop",
        Verdict::Nack => "nack",
        Verdict::Poison => "poison",
        Verdict::Gated => "gated",
        _ => "unknown",
    }
}

pub(super) fn action(action: Action) -> &'static str {
    match action {
        Action::Ack => "ack",
        Action::Retry => "retry",
        Action::DeadLetter => "dead_letter",
        Action::Drop => "drop",
        Action::Nack => "nack",
        _ => "unknown",
    }
}

pub(super) fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Failed => "failed",
        Reason::UnknownUrn => "unknown_urn",
        Reason::Poison => "poison",
        Reason::Version => "version",
        _ => "unknown",
    }
}

pub(super) fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Ack => "ack",
        Finish::Nack => "nack",
        _ => "unknown",
    }
}
