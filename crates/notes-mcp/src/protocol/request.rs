//! What a line is, and what is wrong with it.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Id, LINE_BYTES, VERSION, strict};

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What a line is.
pub(crate) enum Incoming {
    Request(Request),
    /// The client gave up the call with this id.
    Cancelled(Id),
    /// A notification that means nothing here, or an answer to something that was never asked. Neither is answered.
    Nothing,
    Fault(Option<Id>, Fault),
}

pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

/// What a request says of itself, checked.
pub(crate) struct Meta {
    pub(crate) progress: Option<Value>,
}

/// Why there is no result (JSON-RPC 2.0, section 5.1, and the codes of MCP).
pub(crate) struct Fault {
    code: i64,
    message: String,
    data: Option<Value>,
}

pub(crate) fn read(line: &[u8]) -> Incoming {
    let mut message = match strict::read(line) {
        Ok(Value::Object(message)) => message,
        Ok(_) => {
            let fault =
                Fault::request("a message is one object; batches are not part of this revision");
            return Incoming::Fault(None, fault);
        }
        Err(error) => return unread(line, &error),
    };
    let id = message.remove("id");
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Incoming::Fault(None, Fault::request("`id` has to be a string or a whole number"));
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Incoming::Fault(id, Fault::request("`jsonrpc` has to be \"2.0\""));
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        None if message.contains_key("result") || message.contains_key("error") => {
            return Incoming::Nothing;
        }
        _ => return Incoming::Fault(id, Fault::request("`method` has to be a string")),
    };
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) if id.is_none() => return Incoming::Nothing,
        Some(_) => return Incoming::Fault(id, Fault::params("`params` has to be an object")),
    };
    match id {
        Some(id) => Incoming::Request(Request { id, method, params }),
        None => notification(&method, params),
    }
}

/// The id of a message whose other fields may hold texts that are no Unicode.
#[derive(Deserialize)]
struct Addressed {
    id: Value,
}

/// Who asked is told where a less strict reader finds the id.
fn unread(line: &[u8], error: &serde_json::Error) -> Incoming {
    let (id, fault) = match serde_json::from_slice::<Value>(line) {
        Ok(mut message) => {
            (message.get_mut("id").map(Value::take), Fault::request(&error.to_string()))
        }
        Err(error) => {
            let addressed = serde_json::from_slice::<Addressed>(line);
            (addressed.ok().map(|addressed| addressed.id), Fault::parse(&error))
        }
    };
    Incoming::Fault(id.filter(is_id), fault)
}

fn notification(method: &str, mut params: Map<String, Value>) -> Incoming {
    match params.remove("requestId") {
        Some(id) if method == "notifications/cancelled" => Incoming::Cancelled(id),
        _ => Incoming::Nothing,
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

impl Request {
    /// Holds the request to what each has to say of itself.
    pub(crate) fn meta(&self) -> Result<Meta, Fault> {
        self.version()?;
        let meta = self.params.get("_meta").and_then(Value::as_object);
        let has = |key| meta.and_then(|meta| meta.get(key));
        let complete = has(PROTOCOL_VERSION).is_some_and(Value::is_string)
            && has(CLIENT_CAPABILITIES).is_some_and(Value::is_object);
        if !complete {
            return Err(Fault::params(&format!(
                "`params._meta` has to carry `{PROTOCOL_VERSION}` (a string) and `{CLIENT_CAPABILITIES}` (an object)"
            )));
        }
        if has(LOG_LEVEL).is_some_and(|level| !LOG_LEVELS.iter().any(|known| level == known)) {
            return Err(Fault::params(&format!(
                "`{LOG_LEVEL}` is one of {}",
                LOG_LEVELS.join(", ")
            )));
        }
        let progress = has("progressToken").cloned();
        if progress.as_ref().is_some_and(|token| !is_id(token)) {
            return Err(Fault::params("`progressToken` has to be a string or a whole number"));
        }
        Ok(Meta { progress })
    }

    /// A version that the request names has to be the one that is spoken.
    pub(crate) fn version(&self) -> Result<(), Fault> {
        let meta = self.params.get("_meta");
        match meta.and_then(|meta| meta.get(PROTOCOL_VERSION)) {
            Some(Value::String(version)) if version != VERSION => {
                Err(Fault::version(Some(&json!(version))))
            }
            _ => Ok(()),
        }
    }
}

impl Fault {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    fn parse(error: &serde_json::Error) -> Self {
        Self::new(-32700, format!("the line cannot be read as JSON: {error}"))
    }

    pub(crate) fn too_long() -> Self {
        Self::request(&format!("a line has at most {LINE_BYTES} bytes; this one was skipped"))
    }

    pub(crate) fn request(message: &str) -> Self {
        Self::new(-32600, message)
    }

    pub(crate) fn no_method(method: &str) -> Self {
        Self::new(-32601, format!("there is no method {method:?}"))
    }

    pub(crate) fn params(message: &str) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn no_tool(name: &str) -> Self {
        Self::new(-32602, format!("there is no tool {name:?}"))
    }

    pub(crate) fn internal() -> Self {
        Self::new(-32603, "the tool failed inside; its standard error says why")
    }

    /// The code by which a client finds out which revisions there are.
    pub(crate) fn version(requested: Option<&Value>) -> Self {
        let requested = requested.and_then(Value::as_str).unwrap_or_default();
        Self {
            code: -32022,
            message: format!(
                "this server speaks MCP {VERSION} and no other revision, without a handshake"
            ),
            data: Some(json!({"supported": [VERSION], "requested": requested})),
        }
    }

    /// The message. Where the id could not be read there is none.
    pub(crate) fn message(self, id: Option<Id>) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = self.data {
            error["data"] = data;
        }
        let mut message = json!({"jsonrpc": "2.0", "error": error});
        if let Some(id) = id {
            message["id"] = id;
        }
        message
    }
}
