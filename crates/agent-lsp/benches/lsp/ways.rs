//! How a raw client knows that diagnostics are there: the least that can be waited for.

use std::time::Duration;

use serde_json::{Value, json};

use crate::raw::Raw;

/// How long a server must be silent to count as ready.
const QUIET: Duration = Duration::from_secs(2);

/// How rust-analyzer's tokens of a check begin.
const FLYCHECK: &str = "rust-analyzer/flycheck";

/// tsserver's question, and the command that carries it.
const TSSERVER: &str = "typescript.tsserverRequest";
const QUESTIONS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// They are asked for.
    Pull,
    /// They are published with a version.
    Versioned,
    /// tsserver is asked past its server.
    Tsserver,
    /// They are whole when a check after the save has ended.
    Flycheck,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pull => "write, pull",
            Self::Versioned => "write, versioned push",
            Self::Tsserver => "write, tsserver asked",
            Self::Flycheck => "write, end of flycheck",
        }
    }

    /// Waits until the server has read the project.
    pub(crate) fn get_ready(self, raw: &mut Raw) {
        raw.settle(QUIET);
    }

    /// Writes a text and waits for its diagnostics.
    pub(crate) fn write(self, raw: &mut Raw, file: &str, text: &str) {
        let version = raw.change(file, text);
        let uri = raw.uri(file);
        let pull = json!({ "textDocument": { "uri": uri } });
        match self {
            Self::Pull => drop(raw.request("textDocument/diagnostic", pull)),
            Self::Versioned => {
                raw.until(|message| {
                    message["method"] == "textDocument/publishDiagnostics"
                        && message["params"]["version"] == version
                });
            }
            Self::Tsserver => {
                for question in QUESTIONS {
                    let arguments = json!([question, { "file": raw.path(file) }]);
                    let params = json!({ "command": TSSERVER, "arguments": arguments });
                    raw.request("workspace/executeCommand", params);
                }
            }
            Self::Flycheck => {
                // Not the other way about: a quick check would begin, and perhaps end, among what a request reads past.
                let mut begun = false;
                raw.until(|message| {
                    begun |= progress(message) == Some("begin");
                    begun && progress(message) == Some("end")
                });
                raw.request("textDocument/diagnostic", pull);
            }
        }
    }
}

/// What a message says of a check.
fn progress(message: &Value) -> Option<&str> {
    let params = &message["params"];
    let is_check = params["token"].as_str().is_some_and(|token| token.starts_with(FLYCHECK));
    (message["method"] == "$/progress" && is_check).then(|| params["value"]["kind"].as_str())?
}
