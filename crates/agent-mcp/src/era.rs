//! Which revision of the protocol a server speaks.
//!
//! The revision of 2026-07-28 has no handshake: each request says what it needs. It is asked for first, by `server/discover`.
//! What does not know that method is of an older revision and is greeted by `initialize`. (Specification of 2026-07-28, "Versioning",
//! backward compatibility.)

use std::{fmt, io, time::Duration};

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::{
    text::{clean_line, quoted},
    wire::{Incoming, Wire, string_of},
};

/// The revision without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The revisions with one, the newest first.
const WITH_INITIALIZE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The code of a server that knows of revisions and not of the one that it was asked for.
const UNSUPPORTED: ErrorCode = ErrorCode(-32022);

/// The ids of the first requests. The SDK's own are numbers.
const DISCOVER: &str = "discover";
const INITIALIZE: &str = "initialize";

/// The name and the version under which servers know this client.
pub(crate) const CLIENT: (&str, &str) = ("agent-mcp", env!("CARGO_PKG_VERSION"));

const META: &str = "io.modelcontextprotocol";

/// So many characters of a server's name and version are kept.
const NAME_CHARS: usize = 80;

/// How a server is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// By [`STATELESS`].
    Stateless,
    /// By an older revision, after `initialize`.
    Initialize(String),
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stateless => f.write_str(STATELESS),
            Self::Initialize(version) => f.write_str(version),
        }
    }
}

/// What is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Discover,
    /// For a server that is known to take nothing else, or to end at what it does not know.
    Initialize,
}

/// A server that answered.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) era: Era,
    /// Its name and version, as it says.
    pub(crate) says_it_is: Option<String>,
}

/// Why a server cannot be spoken to.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// Its output ended.
    Ended,
    /// Its input cannot be written.
    Pipe(io::Error),
    /// It knows no revision that is known here.
    NoCommonRevision(Vec<String>),
    /// It greets in the old way by the revision that has another one.
    OtherWay,
    /// It refused, with its words.
    Refused(String),
}

impl From<io::Error> for NotOpened {
    fn from(error: io::Error) -> Self {
        Self::Pipe(error)
    }
}

/// Finds out the revision. There is no end to it but the caller's patience: a server that is silent for `probe` is greeted in
/// the old way too, and from then on whichever answer comes counts.
pub(crate) async fn open(
    wire: &mut Wire,
    capabilities: &Value,
    first: First,
    probe: Duration,
) -> Result<Opened, NotOpened> {
    let mut greeting = Greeting { wire, capabilities, discover: false, initialize: false };
    match first {
        First::Discover => greeting.discover().await?,
        First::Initialize => greeting.initialize(WITH_INITIALIZE[0]).await?,
    }
    let patience = Instant::now() + probe;
    loop {
        let incoming = match greeting.initialize {
            true => greeting.wire.next().await,
            false => match timeout_at(patience, greeting.wire.next()).await {
                Ok(incoming) => incoming,
                Err(_) => {
                    greeting.initialize(WITH_INITIALIZE[0]).await?;
                    continue;
                }
            },
        };
        if let Some(opened) = greeting.take(incoming.ok_or(NotOpened::Ended)?).await? {
            return Ok(opened);
        }
    }
}

struct Greeting<'a> {
    wire: &'a mut Wire,
    capabilities: &'a Value,
    /// What was asked.
    discover: bool,
    initialize: bool,
}

impl Greeting<'_> {
    async fn discover(&mut self) -> io::Result<()> {
        self.discover = true;
        let meta = json!({
            format!("{META}/protocolVersion"): STATELESS,
            format!("{META}/clientInfo"): {"name": CLIENT.0, "version": CLIENT.1},
            format!("{META}/clientCapabilities"): self.capabilities,
        });
        let params = json!({"_meta": meta});
        let request = json!({"jsonrpc": "2.0", "id": DISCOVER, "method": "server/discover", "params": params});
        self.wire.write(&request).await
    }

    async fn initialize(&mut self, version: &str) -> io::Result<()> {
        self.initialize = true;
        let client = json!({"name": CLIENT.0, "version": CLIENT.1});
        let params = json!({"protocolVersion": version, "capabilities": self.capabilities, "clientInfo": client});
        let request =
            json!({"jsonrpc": "2.0", "id": INITIALIZE, "method": INITIALIZE, "params": params});
        self.wire.write(&request).await
    }

    async fn take(&mut self, incoming: Incoming) -> Result<Option<Opened>, NotOpened> {
        match incoming {
            Incoming::Result { id, result } if is(&id, DISCOVER) => self.discovered(&result).await,
            Incoming::Result { id, result } if is(&id, INITIALIZE) => {
                self.initialized(&result).await
            }
            Incoming::Error { id, error } => self.refused(id.as_ref(), error).await,
            // Before its greeting was answered a server of the older revisions may only ping.
            Incoming::Request { id, method, .. } if method == "ping" => {
                self.wire.write(&json!({"jsonrpc": "2.0", "id": id, "result": {}})).await?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    async fn discovered(&mut self, result: &Value) -> Result<Option<Opened>, NotOpened> {
        match result.get("supportedVersions") {
            Some(theirs) => self.choose(theirs, result).await,
            // Whatever it means, it is no answer to this question.
            None => self.fall_back(WITH_INITIALIZE[0]).await,
        }
    }

    async fn refused(
        &mut self,
        id: Option<&RequestId>,
        error: ErrorData,
    ) -> Result<Option<Opened>, NotOpened> {
        let supported = error.data.as_ref().and_then(|data| data.get("supported"));
        // What cannot read a request's id cannot name it, and only one request is open until the second one is written.
        let of_discover = id.map_or(!self.initialize, |id| is(id, DISCOVER));
        if of_discover {
            return match supported {
                Some(theirs) if error.code == UNSUPPORTED => {
                    self.choose(theirs, &Value::Null).await
                }
                _ => self.fall_back(WITH_INITIALIZE[0]).await,
            };
        }
        match id {
            Some(id) if is(id, INITIALIZE) => {}
            _ => return Ok(None),
        }
        if error.code == UNSUPPORTED && supported.is_some_and(|theirs| names(theirs, STATELESS)) {
            // It was slow, or is known for another one than it is: the answer to the first question is still to come.
            if !self.discover {
                self.discover().await?;
            }
            return Ok(None);
        }
        Err(NotOpened::Refused(quoted(&error.message, 400)))
    }

    /// The newest revision of those that the server names.
    async fn choose(
        &mut self,
        theirs: &Value,
        result: &Value,
    ) -> Result<Option<Opened>, NotOpened> {
        if names(theirs, STATELESS) && !result.is_null() {
            let meta = result.get("_meta").and_then(|meta| meta.get(format!("{META}/serverInfo")));
            return Ok(Some(Opened { era: Era::Stateless, says_it_is: says_it_is(meta) }));
        }
        match WITH_INITIALIZE.into_iter().find(|version| names(theirs, version)) {
            Some(version) => self.fall_back(version).await,
            None => {
                let theirs = theirs.as_array().into_iter().flatten().filter_map(Value::as_str);
                let theirs = theirs.take(8).map(|version| quoted(version, 20)).collect();
                Err(NotOpened::NoCommonRevision(theirs))
            }
        }
    }

    async fn fall_back(&mut self, version: &str) -> Result<Option<Opened>, NotOpened> {
        if !self.initialize {
            self.initialize(version).await?;
        }
        Ok(None)
    }

    async fn initialized(&mut self, result: &Value) -> Result<Option<Opened>, NotOpened> {
        let theirs = string_of(result, "protocolVersion").unwrap_or_default();
        if !WITH_INITIALIZE.contains(&theirs) {
            return Err(match theirs {
                STATELESS => NotOpened::OtherWay,
                theirs => NotOpened::NoCommonRevision(vec![quoted(theirs, 20)]),
            });
        }
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.wire.write(&note).await?;
        let says_it_is = says_it_is(result.get("serverInfo"));
        Ok(Some(Opened { era: Era::Initialize(theirs.to_owned()), says_it_is }))
    }
}

fn is(id: &RequestId, name: &str) -> bool {
    matches!(id, RequestId::String(id) if **id == *name)
}

fn names(versions: &Value, wanted: &str) -> bool {
    versions.as_array().is_some_and(|versions| versions.iter().any(|version| version == wanted))
}

fn says_it_is(info: Option<&Value>) -> Option<String> {
    let info = info?;
    let name = string_of(info, "name")?;
    let version = string_of(info, "version").unwrap_or_default();
    Some(clean_line(&format!("{name} {version}"), NAME_CHARS))
}
