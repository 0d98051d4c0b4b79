use std::{fmt::Write as _, time::Duration};

use agent_tool_core::{ErrorKind, ToolError};
use serde_json::json;

/// Why no server can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoServer {
    pub code: &'static str,
    /// The server, where it is about one.
    pub id: Option<String>,
    /// Why, without the server's name.
    pub why: String,
}

impl NoServer {
    /// No server takes the file, or none finds its root.
    pub(crate) fn without_marker(file: &str, markers: &[(String, Vec<String>)]) -> Self {
        let why = if markers.is_empty() {
            format!("no language server is known for {file}; `lsp status` lists those that are")
        } else {
            let mut why = format!("no root marker is above {file}");
            for (id, markers) in markers {
                let _ = write!(why, "; {id} looks for {}", markers.join(", "));
            }
            why
        };
        Self { code: "no_server", id: None, why }
    }

    /// The path is that of no file of the workspace.
    pub(crate) fn unplaced(why: String) -> Self {
        Self { code: "no_server", id: None, why }
    }

    /// The program is not there, or does not answer.
    pub(crate) fn without_program(id: &str, why: String, install: &str) -> Self {
        let why = format!("{why}; to install it: {install}");
        Self { code: "no_server", id: Some(id.to_owned()), why }
    }

    /// It was found, and cannot be started or ended.
    pub(crate) fn failed(id: &str, why: String) -> Self {
        Self { code: "server_failed", id: Some(id.to_owned()), why }
    }

    /// It would run what this file of an untrusted checkout names.
    pub(crate) fn untrusted(id: &str, file: &str) -> Self {
        let why = format!(
            "it is not started: it would run what {file} names, and this checkout is not trusted; its person can \
             start the run with --trust"
        );
        Self { code: "untrusted", id: Some(id.to_owned()), why }
    }

    /// It ended, and is not started again so soon, or not at all.
    pub(crate) fn ended(id: &str, why: &str, again: Option<Duration>) -> Self {
        let again = again.map(|again| {
            format!("; it is started again by a call in {:.0} s", again.as_secs_f64().ceil())
        });
        Self::failed(id, format!("{why}{}", again.unwrap_or_default()))
    }

    /// It is being started.
    pub(crate) fn starting(id: &str) -> Self {
        let why = "it is still starting; ask again in a few seconds".to_owned();
        Self { code: "not_ready", id: Some(id.to_owned()), why }
    }

    /// The run is over.
    pub(crate) fn closed(id: &str) -> Self {
        let why = "it is not started: the language servers of this run were closed".to_owned();
        Self { code: "closed", id: Some(id.to_owned()), why }
    }

    /// None of several.
    pub(crate) fn all(file: &str, failures: Vec<Self>) -> Self {
        if let [only] = failures.as_slice() {
            return only.clone();
        }
        let whys: Vec<_> = failures.iter().map(Self::words).collect();
        let why = if whys.is_empty() {
            format!("no language server for {file} answers such a question")
        } else {
            format!("no language server for {file} runs: {}", whys.join("; "))
        };
        Self { code: "no_server", id: None, why }
    }

    /// Whether the server's program is there, so that no other one is to stand in for it.
    pub(crate) fn exists(&self) -> bool {
        !matches!(self.code, "no_server" | "closed" | "untrusted")
    }

    /// Whether a write has to say that it could not be asked: nothing has to be said of one that is not
    /// installed.
    pub(crate) fn is_told(&self) -> bool {
        self.exists() || self.is_untrusted()
    }

    /// Whether it is trust that is missing.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.code == "untrusted"
    }

    /// Why, in words that name the server.
    pub(crate) fn words(&self) -> String {
        match &self.id {
            Some(id) => format!("{id}: {}", self.why),
            None => self.why.clone(),
        }
    }

    pub(crate) fn into_error(self) -> ToolError {
        let kind = match self.code {
            "server_failed" => ErrorKind::Failed,
            "untrusted" => ErrorKind::Denied,
            _ => ErrorKind::Unavailable,
        };
        ToolError::new(kind, self.code, self.words()).with_data(json!({ "server": self.id }))
    }
}
