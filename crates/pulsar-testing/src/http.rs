//! JSON over HTTP as far as the REST interface needs it.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::{Method, Request, Response, StatusCode, header};

/// A broker asks the owner of a topic, and the owner may have changed meanwhile.
const MOST_REDIRECTS: usize = 5;

#[derive(Debug)]
pub(crate) struct Http {
    base: String,
    agent: Agent,
}

/// Why a call did not succeed.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The broker's answer.
    Refused(StatusCode, String),
    /// There was no answer.
    Unanswered(String),
}

impl Problem {
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(StatusCode::NOT_FOUND, _))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(status, reason) => write!(formatter, "{status}: {reason}"),
            Self::Unanswered(why) => write!(formatter, "no answer: {why}"),
        }
    }
}

impl Http {
    pub(crate) fn new(base: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Ours: the agent does not repeat a body at the new place.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A kept connection would be a dead one after a restart.
            .max_idle_connections(0)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(30)))
            .build();
        Self {
            base: base.trim_end_matches('/').to_owned(),
            agent: config.new_agent(),
        }
    }

    /// One call; the answer's JSON, `Null` when it has no content. What is no JSON is taken for a string.
    pub(crate) fn call(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<Value, Problem> {
        let mut url = format!("{}{path}", self.base);
        for _ in 0..=MOST_REDIRECTS {
            let mut response = self.send(method, &url, body)?;
            let status = response.status();
            if status.is_redirection() {
                url = location(&response)?;
                continue;
            }
            let answer = response
                .body_mut()
                .read_to_string()
                .map_err(|error| unanswered(&error))?;
            let json = match &*answer {
                "" => Value::Null,
                text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            };
            return match status.is_success() {
                true => Ok(json),
                false => Err(Problem::Refused(status, reason(&json, answer))),
            };
        }
        Err(Problem::Unanswered(format!(
            "sent around in a circle, last to {url}"
        )))
    }

    fn send(
        &self,
        method: &Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Response<ureq::Body>, Problem> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(header::CONTENT_TYPE, "application/json");
        let request = request
            .body(body)
            .map_err(|error| Problem::Unanswered(error.to_string()))?;
        self.agent.run(request).map_err(|error| unanswered(&error))
    }
}

fn location(response: &Response<ureq::Body>) -> Result<String, Problem> {
    let place = response.headers().get(header::LOCATION);
    place
        .and_then(|place| place.to_str().ok())
        .map(str::to_owned)
        .ok_or_else(|| Problem::Unanswered("a redirect to nowhere".to_owned()))
}

fn reason(json: &Value, answer: String) -> String {
    json["reason"].as_str().map_or(answer, str::to_owned)
}

fn unanswered(error: &ureq::Error) -> Problem {
    Problem::Unanswered(error.to_string())
}
