//! Why a model did not answer.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

/// What a program branches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing, wrong, or may not do this.
    Authentication,
    /// The account has nothing left. Waiting does not help.
    Quota,
    /// Too many requests for now.
    RateLimited,
    /// The provider has too much to do for now.
    Overloaded,
    /// The provider failed.
    Server,
    /// The provider could not be reached.
    Connection,
    /// The name of the provider's host is not known here: it is wrong, or there is no network.
    UnknownHost,
    /// Nothing came for too long.
    Timeout,
    /// The answer ended before it was complete.
    CutStream,
    /// The conversation is longer than the model takes.
    ContextTooLong,
    /// The provider refuses the request as it stands.
    InvalidRequest,
    /// There is no such model or endpoint.
    NotFound,
    /// What came cannot be read.
    Unreadable,
}

impl ModelErrorKind {
    /// The kind as it is written in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::Quota => "quota",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Connection => "connection",
            Self::UnknownHost => "unknown_host",
            Self::Timeout => "timeout",
            Self::CutStream => "cut_stream",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::NotFound => "not_found",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether the very same request may succeed when it is made again.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Overloaded
                | Self::Server
                | Self::Connection
                | Self::UnknownHost
                | Self::Timeout
                | Self::CutStream
        )
    }
}

/// A model that did not answer: a kind to branch on and a message for the person.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ModelError {
    /// What a program branches on.
    pub kind: ModelErrorKind,
    /// Lowercase, without a full stop at its end; says what to do next where that is known. Holds no
    /// key.
    pub message: String,
    /// The status of HTTP, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asks to wait before the next request.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
    #[serde(skip)]
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ModelError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, source: None }
    }

    /// The same error with the status of HTTP.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same error with the wait that the provider asks for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The same error with the error that caused it, which must hold no key.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    pub(crate) fn cut() -> Self {
        let message = "the answer ended before it was complete";
        Self::new(ModelErrorKind::CutStream, message)
    }

    pub(crate) fn silent(waited: Duration) -> Self {
        let message = format!("nothing came from the model for {} s", waited.as_secs());
        Self::new(ModelErrorKind::Timeout, message)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
