//! What the scripted peers of one process have in common: the file that a script comes from, and the log of what they are sent.

use std::{
    env,
    fmt::Display,
    fs,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    process,
    sync::{Mutex, PoisonError},
};

use serde::de::DeserializeOwned;

/// The exit code where the script cannot be read.
const BAD_SCRIPT: i32 = 4;

/// The script in the file that this variable names: nothing where this process is no peer. Exits where the file is no script.
pub(crate) fn script<S: DeserializeOwned>(variable: &str) -> Option<S> {
    let path = env::var_os(variable)?;
    let read = fs::read_to_string(&path).map_err(|error| error.to_string());
    let script =
        read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    match script {
        Ok(script) => Some(script),
        Err(error) => {
            let _gone = writeln!(io::stderr(), "{}: {error}", Path::new(&path).display());
            process::exit(BAD_SCRIPT);
        }
    }
}

/// A log that is written a line at a time, each in one write so that several processes may share it; or none.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<File>>);

impl Recorder {
    pub(crate) fn new(path: Option<&Path>) -> Self {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Self(Mutex::new(path.and_then(open)))
    }

    pub(crate) fn write(&self, line: impl Display) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = file.as_mut() {
            let _full = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}
