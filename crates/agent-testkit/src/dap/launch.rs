use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf, absolute},
    process,
};

use serde_json::Value;

use super::{Script, adapter};
use crate::{lsp::Launch, played};

/// Names the file of the script: a process with it is an adapter.
pub const SCRIPT_VARIABLE: &str = "AGENT_TESTKIT_DAP";

/// What an adapter was sent.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
}

impl Script {
    /// Puts an executable into a folder that starts this adapter and answers probes (`--version`, `version`, `-c`). The log of
    /// what it is sent is beside it.
    ///
    /// # Errors
    /// A file cannot be written, or a path is no UTF-8.
    pub fn stub(&self, folder: &Path) -> io::Result<Log> {
        let folder = absolute(folder)?;
        let path = folder.join(format!("{}.json", self.name));
        let log = folder.join(format!("{}.log", self.name));
        let script = Self { log: Some(log.clone()), ..self.clone() };
        fs::write(&path, serde_json::to_string_pretty(&script)?)?;
        fs::write(&log, "")?;
        let value = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        let launch = Launch {
            program: env::current_exe()?,
            args: Vec::new(),
            env: vec![(SCRIPT_VARIABLE.to_owned(), value)],
            script: path,
            log: log.clone(),
        };
        launch.stub(&folder, &self.name)?;
        Ok(Log { path: log })
    }
}

impl Log {
    /// The requests so far: each command with its arguments.
    ///
    /// # Panics
    /// The log cannot be read.
    #[must_use]
    pub fn requests(&self) -> Vec<(String, Value)> {
        let text = fs::read_to_string(&self.path).expect("a log");
        let read = |line: &str| -> Value { serde_json::from_str(line).expect("a line of the log") };
        let entries = text.lines().map(read);
        let command = |entry: &Value| entry["command"].as_str().unwrap_or_default().to_owned();
        entries.map(|entry| (command(&entry), entry["arguments"].clone())).collect()
    }

    /// The commands so far.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        self.requests().into_iter().map(|(command, _)| command).collect()
    }

    /// The arguments of the last request of this command.
    #[must_use]
    pub fn last(&self, command: &str) -> Option<Value> {
        let requests = self.requests().into_iter().rev();
        requests.into_iter().find(|(sent, _)| sent == command).map(|(_, arguments)| arguments)
    }
}

/// Debugs and exits if this process was started as an adapter; else does nothing. A test program calls it first in `main`.
pub fn main_if_asked() {
    let Some(script) = played::script::<Script>(SCRIPT_VARIABLE) else { return };
    let args: Vec<String> = env::args().skip(1).collect();
    if args.iter().any(|arg| matches!(arg.as_str(), "--version" | "version" | "-c")) {
        let _gone = writeln!(io::stdout(), "{} 1.2.3", script.name);
        process::exit(0);
    }
    adapter::run(script, &args)
}
