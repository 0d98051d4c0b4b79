use std::{
    env, fs,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf, absolute},
    process,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use super::{Script, server};

/// Names the file of the script: a process with it is a server.
pub const SCRIPT_VARIABLE: &str = "AGENT_TESTKIT_MCP";

/// The exit code where the script cannot be read.
const BAD_SCRIPT: i32 = 4;

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
    let Some(path) = env::var_os(SCRIPT_VARIABLE) else { return };
    let read = fs::read_to_string(&path).map_err(|error| error.to_string());
    let script = read
        .and_then(|text| serde_json::from_str::<Script>(&text).map_err(|error| error.to_string()));
    match script {
        Ok(script) => server::run(script),
        Err(error) => {
            let _gone = writeln!(io::stderr(), "{}: {error}", Path::new(&path).display());
            process::exit(BAD_SCRIPT);
        }
    }
}

/// The writing side of a [`Log`].
#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Option<File>>);

impl Recorder {
    pub(super) fn new(path: Option<&Path>) -> Self {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Self(Mutex::new(path.and_then(open)))
    }

    pub(super) fn write(&self, line: &str) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = file.as_mut() {
            let _full = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}
