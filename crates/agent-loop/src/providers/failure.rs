use std::{
    error::Error,
    time::{Duration, SystemTime},
};

use agent_tool_core::clip;
use reqwest::{Url, header::HeaderMap};
use serde_json::Value;

use super::{Key, remote::is_here};
use crate::{ModelError, ModelErrorKind as Kind};

/// How many characters of a server's own words an error repeats.
const WORDS_LIMIT: usize = 500;

/// What an error of a connection is called where the name of the host could not be looked up.
const NAME_FAILED: &str = "dns error";

/// What a provider says where a conversation is too long, in lower case: Anthropic, OpenAI, llama.cpp,
/// vLLM, gateways.
const TOO_LONG: [&str; 8] = [
    "prompt is too long",
    "context_length_exceeded",
    "context length",
    "context limit",
    "context window",
    "context size",
    "maximum context",
    "exceed_context_size",
];

/// What a provider says where an account has nothing left, in lower case.
const NOTHING_LEFT: [&str; 4] =
    ["insufficient_quota", "credit balance is too low", "billing_error", "billing_hard_limit"];

/// Who failed.
pub(super) struct Server<'a> {
    pub(super) url: &'a Url,
    pub(super) key: Option<&'a Key>,
}

/// What a server says of its failure.
#[derive(Default)]
struct Said {
    status: Option<u16>,
    /// Types and codes, in lower case.
    codes: String,
    words: String,
}

pub(super) fn read(error: genai::Error, server: &Server<'_>) -> ModelError {
    match error {
        genai::Error::HttpError { status, body, headers, .. } => {
            answered(Said::of(Some(status.as_u16()), &body), Some(&headers), server)
        }
        genai::Error::WebStream { error, .. } => broken(error, server),
        genai::Error::ChatResponse { body, .. } => answered(Said::of_value(&body), None, server),
        // A frame that ends in its middle is the last one of a connection that broke.
        genai::Error::StreamParse { serde_error, .. } if serde_error.is_eof() => ModelError::cut(),
        genai::Error::WebModelCall { .. } | genai::Error::WebAdapterCall { .. } => {
            let headers = error.headers().cloned();
            let said = Said { status: error.status().map(|s| s.as_u16()), ..Said::default() };
            answered(said, headers.as_ref(), server)
        }
        genai::Error::StreamParse { .. } | genai::Error::JsonValueExt(_) => unreadable(server),
        other => {
            let words = server.hide(&other.to_string());
            let message = format!("the request could not be made: {words}");
            ModelError::new(Kind::InvalidRequest, message)
        }
    }
}

/// An error below the answer: of the connection, or an answer that says that it is an error.
fn broken(error: genai::BoxError, server: &Server<'_>) -> ModelError {
    let error = match error.downcast::<genai::Error>() {
        Ok(error) => return read(*error, server),
        Err(error) => error,
    };
    match error.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => {
            ModelError::new(Kind::Timeout, format!("{} did not answer in time", server.host()))
        }
        Some(error) if error.is_body() || error.is_decode() => ModelError::cut(),
        Some(error) if error.is_connect() => {
            let why = server.hide(&innermost(error));
            let (kind, next) = match (is_of_name(error), is_here(server.url)) {
                (true, _) => (Kind::UnknownHost, "look at the name and at the network"),
                (false, true) => (Kind::Connection, "is it running?"),
                (false, false) => (Kind::Connection, "look at the address and at the network"),
            };
            ModelError::new(kind, format!("cannot reach {}: {why}; {next}", server.host()))
        }
        Some(error) if error.is_builder() => {
            ModelError::new(Kind::InvalidRequest, "the request could not be made")
        }
        Some(error) => {
            let why = server.hide(&innermost(error));
            let message = format!("the connection to {} broke: {why}", server.host());
            ModelError::new(Kind::Connection, message)
        }
        None => unreadable(server),
    }
}

/// An answer that is an error.
fn answered(said: Said, headers: Option<&HeaderMap>, server: &Server<'_>) -> ModelError {
    let kind = kind(&said);
    let host = server.host();
    let status = said.status.map(|status| format!(" {status}")).unwrap_or_default();
    let words = clip(server.hide(&said.words).trim_end_matches('.'), WORDS_LIMIT).text;
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    let next = match (kind, server.key) {
        (Kind::Authentication, Some(key)) => format!("; look at the key in {}", key.name()),
        (Kind::Authentication, None) => "; it wants a key".to_owned(),
        (Kind::NotFound, _) => "; look at the model's name and the address".to_owned(),
        _ => String::new(),
    };
    let mut error = ModelError::new(kind, format!("{host} answered{status}{words}{next}"));
    error.status = said.status;
    error.retry_after = headers.and_then(retry_after);
    error
}

fn kind(said: &Said) -> Kind {
    let words = format!("{} {}", said.codes, said.words.to_lowercase());
    let says = |list: &[&str]| list.iter().any(|known| words.contains(known));
    let named = |code: &str| said.codes.contains(code);
    match said.status {
        Some(400 | 413 | 422 | 429) | None if says(&NOTHING_LEFT) => Kind::Quota,
        Some(401 | 403) => Kind::Authentication,
        Some(402) => Kind::Quota,
        Some(404 | 405) => Kind::NotFound,
        Some(408) => Kind::Timeout,
        Some(413) => Kind::ContextTooLong,
        Some(429) => Kind::RateLimited,
        Some(503 | 529) => Kind::Overloaded,
        Some(500..) if says(&["exceed_context_size"]) => Kind::ContextTooLong,
        Some(500..) => Kind::Server,
        Some(300..=399) => Kind::NotFound,
        Some(400..) | None if says(&TOO_LONG) => Kind::ContextTooLong,
        None if named("overloaded") => Kind::Overloaded,
        None if named("rate_limit") => Kind::RateLimited,
        None if named("authentication") || named("permission") => Kind::Authentication,
        None if named("invalid_request") => Kind::InvalidRequest,
        None if named("not_found") => Kind::NotFound,
        // What fails in the middle of an answer without a known name failed at the server's.
        None => Kind::Server,
        Some(_) => Kind::InvalidRequest,
    }
}

impl Said {
    fn of(status: Option<u16>, body: &str) -> Self {
        match serde_json::from_str(body) {
            Ok(value) => Self { status, ..Self::of_value(&value) },
            Err(_) => Self { status, words: body.trim().to_owned(), ..Self::default() },
        }
    }

    /// Both formats wrap the error, `{"error": {"type", "code", "message"}}`; a server may also say
    /// `{"error": "…"}`, and the crate may have taken the wrap off.
    fn of_value(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let code = |name: &str| match error.get(name) {
            Some(Value::String(code)) => code.to_lowercase(),
            _ => String::new(),
        };
        let words = error.get("message").or(Some(error)).and_then(Value::as_str);
        let words = words.map_or_else(|| error.to_string(), str::to_owned);
        let status = error.get("code").and_then(Value::as_u64);
        Self {
            status: status.and_then(|status| u16::try_from(status).ok()),
            codes: format!("{} {}", code("type"), code("code")),
            words,
        }
    }
}

impl Server<'_> {
    fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or("the server");
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    fn hide(&self, text: &str) -> String {
        self.key.map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }
}

fn unreadable(server: &Server<'_>) -> ModelError {
    let message = format!("{} sent what cannot be read; look at the address", server.host());
    ModelError::new(Kind::Unreadable, message)
}

/// Whether a connection failed at the name of its host. The crate behind this one says so in words alone.
fn is_of_name(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.to_string() == NAME_FAILED {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The last cause, which says it best; the ones before it repeat the address.
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    let asked = header("retry-after");
    let seconds = asked.and_then(|text| text.parse::<f64>().ok());
    if let Some(seconds) = milliseconds.map(|milliseconds| milliseconds / 1000.0).or(seconds) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(asked?).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}
