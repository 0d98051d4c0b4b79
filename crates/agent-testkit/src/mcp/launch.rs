use std::{
    env, fs, io,
    path::{Path, PathBuf, absolute},
};

use serde_json::Value;

use super::{Script, server};
use crate::played;

/// Names the file of the script: a process with it is a server.
pub const SCRIPT_VARIABLE: &str = "AGENT_TESTKIT_MCP";

/// How a scripted server is started: a program with one variable in its environment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Peer {
    /// The program's absolute path.
    pub command: String,
    /// The variable and its value.
    pub env: (String, String),
    /// What it is sent.
    pub log: Log,
}

/// What a server was sent.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
}

impl Script {
    /// Puts the script into a folder, under a name, and says how its server is started.
    ///
    /// # Errors
    /// A file cannot be written, or a path is no UTF-8.
    pub fn peer(&self, folder: &Path, name: &str) -> io::Result<Peer> {
        let folder = absolute(folder)?;
        let (path, log) = (folder.join(format!("{name}.json")), folder.join(format!("{name}.log")));
        let script = Self { log: Some(log.clone()), ..self.clone() };
        fs::write(&path, serde_json::to_string_pretty(&script)?)?;
        fs::write(&log, "")?;
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or(io::Error::from(io::ErrorKind::InvalidFilename))
        };
        Ok(Peer {
            command: text(&env::current_exe()?)?,
            env: (SCRIPT_VARIABLE.to_owned(), text(&path)?),
            log: Log { path: log },
        })
    }
}

impl Log {
    /// The messages so far.
    ///
    /// # Panics
    /// The log cannot be read.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.path).expect("a log");
        // The last line may be on its way.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).expect("a line of the log")).collect()
    }

    /// The messages of this method so far.
    #[must_use]
    pub fn of(&self, method: &str) -> Vec<Value> {
        self.messages().into_iter().filter(|message| message["method"] == method).collect()
    }
}

/// Serves and exits if this process was started as a server; else does nothing. A test program calls it first in `main`.
pub fn main_if_asked() {
    if let Some(script) = played::script(SCRIPT_VARIABLE) {
        server::run(script)
    }
}
