use std::{
    env, fs,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf, absolute},
    process,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};

use super::{Script, adapter};
use crate::lsp::Launch;

/// Names the file of the script: a process with it is an adapter.
pub const SCRIPT_VARIABLE: &str = "AGENT_TESTKIT_DAP";

/// The exit code where the script cannot be read.
const BAD_SCRIPT: i32 = 4;

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
    let Some(path) = env::var_os(SCRIPT_VARIABLE) else { return };
    let read = fs::read_to_string(&path).map_err(|error| error.to_string());
    let script = read
        .and_then(|text| serde_json::from_str::<Script>(&text).map_err(|error| error.to_string()));
    let script = match script {
        Ok(script) => script,
        Err(error) => {
            let _gone = writeln!(io::stderr(), "{}: {error}", Path::new(&path).display());
            process::exit(BAD_SCRIPT);
        }
    };
    let args: Vec<String> = env::args().skip(1).collect();
    if args.iter().any(|arg| matches!(arg.as_str(), "--version" | "version" | "-c")) {
        let _gone = writeln!(io::stdout(), "{} 1.2.3", script.name);
        process::exit(0);
    }
    adapter::run(script, &args)
}

/// The writing side of a [`Log`].
#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Option<File>>);

impl Recorder {
    pub(super) fn new(path: Option<&Path>) -> Self {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Self(Mutex::new(path.and_then(open)))
    }

    pub(super) fn write(&self, message: &Value) {
        let entry = json!({"command": message["command"], "arguments": message["arguments"]});
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = file.as_mut() {
            let _full = file.write_all(format!("{entry}\n").as_bytes());
        }
    }
}
