use std::{fmt, net::IpAddr, time::Duration};

use futures::{StreamExt, TryFutureExt, stream};
use genai::{
    Client, Headers, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    resolver::{AuthData, Endpoint},
};
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};

use super::{Key, failure, hear::Hearing, noted::Frames, request, silent::Silent};
use crate::{DeltaStream, Model, ModelError, ModelErrorKind, ModelLimits, Request};

/// Tokens of context of Anthropic's models, unless the host says otherwise.
pub const ANTHROPIC_CONTEXT: usize = 200_000;

/// Tokens of an answer that Anthropic's models are asked for, unless the host says otherwise. The
/// interface demands a number.
pub const ANTHROPIC_OUTPUT: u32 = 32_000;

/// Tokens of context of OpenAI's models, unless the host says otherwise.
pub const OPENAI_CONTEXT: usize = 128_000;

/// Tokens of context of any other model, unless the host says otherwise. A local server often has less
/// than its model could take: tell it what holds.
pub const COMPATIBLE_CONTEXT: usize = 32_000;

/// How long a connection may take.
pub const CONNECT_TIME: Duration = Duration::from_secs(15);

const ANTHROPIC_URL: &str = "https://api.anthropic.com/v1";
const ANTHROPIC_VERSION: &str = "2023-06-01";
const OPENAI_URL: &str = "https://api.openai.com/v1";

/// What an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Anthropic's messages, `POST …/messages`.
    Anthropic,
    /// OpenAI's chat completions, `POST …/chat/completions`.
    OpenAi,
}

/// A model of a provider's. A clone shares its connections.
#[derive(Clone)]
#[must_use]
pub struct Remote {
    format: Format,
    url: Url,
    model: String,
    key: Option<Key>,
    limits: ModelLimits,
    client: Client,
}

impl Remote {
    /// A model of Anthropic's.
    ///
    /// # Errors
    /// The platform gives no TLS.
    pub fn anthropic(model: impl Into<String>, key: Key) -> Result<Self, ModelError> {
        Self::of(Format::Anthropic, ANTHROPIC_URL, model)?.with_key(key)
    }

    /// A model of OpenAI's.
    ///
    /// # Errors
    /// The platform gives no TLS.
    pub fn openai(model: impl Into<String>, key: Key) -> Result<Self, ModelError> {
        Self::of(Format::OpenAi, OPENAI_URL, model)?.with_key(key)
    }

    /// A model behind any address that speaks OpenAI's chat completions, such as
    /// `http://127.0.0.1:11434/v1` for Ollama or `http://127.0.0.1:8080/v1` for llama.cpp. It has no key
    /// until one is given.
    ///
    /// # Errors
    /// What is no address of HTTP, or has a password in it.
    pub fn compatible(url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        Self::of(Format::OpenAi, url, model)
    }

    /// A model behind an address that speaks this format. The address is that of the interface as a
    /// whole, most often with `/v1` at its end.
    ///
    /// # Errors
    /// What is no address of HTTP, or has a password in it.
    pub fn of(format: Format, url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        let limits = match format {
            Format::Anthropic => ModelLimits::new(ANTHROPIC_CONTEXT).with_output(ANTHROPIC_OUTPUT),
            Format::OpenAi if url == OPENAI_URL => ModelLimits::new(OPENAI_CONTEXT),
            Format::OpenAi => ModelLimits::new(COMPATIBLE_CONTEXT),
        };
        let url = address(format, url)?;
        let client = client(format, &url, None)?;
        Ok(Self { format, url, model: model.into(), key: None, limits, client })
    }

    /// The same model with a key.
    ///
    /// # Errors
    /// The platform gives no TLS.
    pub fn with_key(mut self, key: Key) -> Result<Self, ModelError> {
        self.key = Some(key);
        self.reconnect()
    }

    /// The same model with other limits.
    pub fn with_limits(mut self, limits: ModelLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same model at another address.
    ///
    /// # Errors
    /// What is no address of HTTP, or has a password in it.
    pub fn at(mut self, url: &str) -> Result<Self, ModelError> {
        self.url = address(self.format, url)?;
        self.reconnect()
    }

    fn reconnect(mut self) -> Result<Self, ModelError> {
        self.client = client(self.format, &self.url, self.key.as_ref())?;
        Ok(self)
    }

    fn adapter(&self) -> AdapterKind {
        match self.format {
            Format::Anthropic => AdapterKind::Anthropic,
            Format::OpenAi => AdapterKind::OpenAI,
        }
    }

    /// Where requests go, with the headers that are no secret. The key is with the client.
    fn target(&self) -> ServiceTarget {
        let headers = match self.format {
            Format::Anthropic => Headers::from(("anthropic-version", ANTHROPIC_VERSION)),
            Format::OpenAi => Headers::default(),
        };
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.url.as_str()),
            auth: AuthData::RequestOverride { url: self.url.to_string(), headers },
            model: ModelIden::new(self.adapter(), self.model.as_str()),
        }
    }

    fn failed(&self, error: genai::Error) -> ModelError {
        failure::read(error, &failure::Server { url: &self.url, key: self.key.as_ref() })
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn stream<'a>(&'a self, asked: Request<'a>) -> DeltaStream<'a> {
        let chat = request::chat(self.format, &self.model, &asked);
        let frames = Frames::default();
        let seen = frames.clone();
        let options = request::options(self.format, &self.model, &asked)
            .with_raw_frame_fn(move |_, frame| seen.note(frame.data));
        let open = async move {
            let opened = self.client.exec_chat_stream(self.target(), chat, Some(&options)).await;
            opened.map(|opened| opened.stream)
        };
        let mut hearing = Hearing::new(self.format, &self.model, frames);
        let events = Silent(Box::pin(open.try_flatten_stream()));
        let events = events.map(Some).chain(stream::once(async { None }));
        let deltas = events.flat_map(move |event| {
            stream::iter(match event {
                Some(Ok(event)) => hearing.hear(event),
                Some(Err(error)) => vec![Err(self.failed(error))],
                None => hearing.hear_end(),
            })
        });
        Box::pin(deltas)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("format", &self.format)
            .field("host", &self.url.host_str())
            .field("model", &self.model)
            .field("key", &self.key)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

fn address(format: Format, url: &str) -> Result<Url, ModelError> {
    let refuse = |why: &str| {
        let message = format!("the model's address {why}; give one like http://127.0.0.1:8080/v1");
        ModelError::new(ModelErrorKind::InvalidRequest, message)
    };
    let mut address =
        Url::parse(url).map_err(|error| refuse(&format!("cannot be read ({error})")))?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(refuse("is none of http or https"));
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err(refuse("has a name or a password in it, which belong into a variable"));
    }
    let own: &[&str] = match format {
        Format::Anthropic => &["messages"],
        Format::OpenAi => &["chat", "completions"],
    };
    let versioned = address.path().trim_end_matches('/').ends_with("/v1");
    if let Ok(mut path) = address.path_segments_mut() {
        path.pop_if_empty();
        // Anthropic's own variables name the address without the version.
        if format == Format::Anthropic && !versioned {
            path.push("v1");
        }
        path.extend(own);
    }
    Ok(address)
}

fn client(format: Format, url: &Url, key: Option<&Key>) -> Result<Client, ModelError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let (name, value) = match format {
            Format::Anthropic => (HeaderName::from_static("x-api-key"), key.value().to_owned()),
            Format::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.value())),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| unusable(key))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut http = reqwest::Client::builder()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIME)
        .default_headers(headers);
    if is_here(url) {
        // A proxy would look for the server on its own machine.
        http = http.no_proxy();
    }
    let http = http.build().map_err(|_| no_client())?;
    Client::builder().with_reqwest(http).build().map_err(|_| no_client())
}

/// Whether the server is on this machine.
pub(super) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn unusable(key: &Key) -> ModelError {
    let message = format!("what {} holds cannot be sent as a key", key.name());
    ModelError::new(ModelErrorKind::Authentication, message)
}

fn no_client() -> ModelError {
    let message = "the platform's TLS could not be set up; look at its certificates";
    ModelError::new(ModelErrorKind::Connection, message)
}
