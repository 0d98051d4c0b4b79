//! How a test starts the fake: its own executable, run again.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf, absolute},
    process::{self, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Log, Script,
    log::{Kind, Recorder},
    server,
};
use crate::played;

/// Names the file of the script: a process with it is a server.
pub const SCRIPT_VARIABLE: &str = "AGENT_TESTKIT_LSP";
/// Holds milliseconds: a process with it sleeps so long and does nothing else.
pub(crate) const SLEEP_VARIABLE: &str = "AGENT_TESTKIT_SLEEP_MS";
/// What starts a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment must hold.
    pub env: Vec<(String, String)>,
    /// The file of the script.
    pub script: PathBuf,
    /// The file of the log.
    pub log: PathBuf,
}

impl Script {
    /// Writes the script into a folder as `NAME.json` and says what starts it. The log is
    /// `NAME.log` beside it if the script names none; a relative name is one in this folder.
    ///
    /// # Errors
    /// The file cannot be written, or a path is no UTF-8.
    pub fn install(&self, folder: &Path) -> io::Result<Launch> {
        // The server may run in another folder.
        let folder = absolute(folder)?;
        let path = folder.join(format!("{}.json", self.name));
        let named = self.log.clone().unwrap_or_else(|| format!("{}.log", self.name).into());
        let log = folder.join(named);
        let script = Self { log: Some(log.clone()), ..self.clone() };
        fs::write(&path, serde_json::to_string_pretty(&script)?)?;
        let value = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        Ok(Launch {
            program: env::current_exe()?,
            args: Vec::new(),
            env: vec![(SCRIPT_VARIABLE.to_owned(), value)],
            script: path,
            log,
        })
    }
}

impl Launch {
    /// The command, with nothing said yet of its pipes.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The server's log, of which nothing was read yet.
    #[must_use]
    pub fn log(&self) -> Log {
        Log::at(&self.log)
    }

    /// Puts an executable into a folder that starts this server and answers `--version`, for a test
    /// whose subject looks programs up. It needs a POSIX shell and nothing of the environment.
    ///
    /// # Errors
    /// The file cannot be written, or a path is no UTF-8.
    pub fn stub(&self, folder: &Path, name: &str) -> io::Result<PathBuf> {
        let mut text = String::from("#!/bin/sh\nexec env");
        for (variable, value) in &self.env {
            text += &format!(" {}", quoted(&format!("{variable}={value}")));
        }
        let program = self.program.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        text += &format!(" {}", quoted(program));
        for arg in &self.args {
            text += &format!(" {}", quoted(arg));
        }
        text += " \"$@\"\n";
        executable(folder, name, &text)
    }
}

/// Puts an executable into a folder that writes a line to standard error and exits with a code,
/// whatever it is asked: a proxy of a tool that is not installed.
///
/// # Errors
/// The file cannot be written, or a path is no UTF-8.
pub fn broken_stub(folder: &Path, name: &str, stderr: &str, code: u8) -> io::Result<PathBuf> {
    let text = format!("#!/bin/sh\nprintf '%s\\n' {} >&2\nexit {code}\n", quoted(stderr));
    executable(folder, name, &text)
}

/// Serves and exits if this process was started as a server; else does nothing. A test program
/// calls it first in `main`.
pub fn main_if_asked() {
    if let Ok(ms) = env::var(SLEEP_VARIABLE) {
        thread::sleep(Duration::from_millis(ms.parse().unwrap_or(0)));
        process::exit(0);
    }
    let Some(script) = played::script::<Script>(SCRIPT_VARIABLE) else { return };
    let log = Recorder::new(script.log.as_deref());
    if env::args().any(|arg| arg == "--version") {
        log.note(Kind::Version, &Value::Null);
        let _gone = writeln!(io::stdout(), "{} {}", script.name, script.version);
        process::exit(0);
    }
    server::run(script, log)
}

/// What the log says of a start.
pub(crate) fn circumstances() -> Value {
    let args: Vec<String> = env::args().skip(1).collect();
    let mut names: Vec<_> =
        env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    json!({
        "args": args, "folder": env::current_dir().unwrap_or_default(), "environment": names,
    })
}

/// A file that this process never had open for writing: had it, a child that another thread forks
/// at that moment would hold it open, and starting the file would fail with "text file busy".
fn executable(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = shell.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    let status = shell.wait()?;
    if status.success() {
        return Ok(path);
    }
    Err(io::Error::other(format!("{} was not written: {status}", path.display())))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
