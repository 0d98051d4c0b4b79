//! What came and went, as JSON lines: one writer in each server process, a reader for the test.

mod recorder;

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process, thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::recorder::Recorder;

/// Texts in the log are cut beyond so many bytes.
pub const LOGGED_TEXT: usize = 16 * 1024;
/// How often a waiting reader looks.
const LOOK: Duration = Duration::from_millis(2);

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When, in milliseconds since the Unix epoch: the test's clock is the server's.
    pub at_ms: u64,
    /// Which process wrote it.
    pub pid: u32,
    /// What it is.
    pub kind: Kind,
    /// The method; for a response, that of the request which it answers. Empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// The message's id, `null` where it has none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub id: Value,
    /// `params` of a request or notification, `result` or `error` of a response; for the other kinds
    /// what there is to say.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

/// What a line of the log tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The server started; `body` has its arguments, its folder and the names of its environment.
    Started,
    /// A process was started for `--version` alone.
    Version,
    /// The client sent a request.
    Request,
    /// The client sent a notification.
    Notification,
    /// The client answered a request; `body` is the result.
    Response,
    /// The client refused a request; `body` is the error.
    Refusal,
    /// The client sent what is no message; `body` says what. The server exits with code 3.
    Junk,
    /// The server has written a message.
    Sent,
    /// The server started a process; `body` is its id.
    Spawned,
    /// The input ended.
    EndOfInput,
    /// The server ends; `body` is its code, or the text `abort`.
    Exit,
}

/// The log of a server, as far as it was read.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
    read: u64,
    entries: Vec<Entry>,
}

impl Log {
    /// A log of which nothing was read yet. The file need not exist.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), read: 0, entries: Vec::new() }
    }

    /// Reads what is there.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no entry. A missing file is an empty log.
    pub fn read(path: impl Into<PathBuf>) -> io::Result<Self> {
        let mut log = Self::at(path);
        log.refresh()?;
        Ok(log)
    }

    /// Reads what came since.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn refresh(&mut self) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line that is being written has no end yet: it is read the next time.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.entries.push(serde_json::from_slice(line)?);
        }
        self.read += whole as u64;
        Ok(())
    }

    /// Waits until `sought` finds something. It blocks the thread: see [`seen`](Self::seen).
    ///
    /// # Errors
    /// It found nothing within the time (the message lists what came), or [`refresh`](Self::refresh)
    /// failed.
    pub fn wait<T>(
        &mut self,
        within: Duration,
        sought: impl Fn(&Self) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(found) = self.look(deadline, within, &sought)? {
                return Ok(found);
            }
            thread::sleep(LOOK);
        }
    }

    /// As [`wait`](Self::wait), for a test that runs on tokio (with time enabled).
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn seen<T>(
        &mut self,
        within: Duration,
        sought: impl Fn(&Self) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(found) = self.look(deadline, within, &sought)? {
                return Ok(found);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn look<T>(
        &mut self,
        deadline: Instant,
        within: Duration,
        sought: impl Fn(&Self) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let last = Instant::now() >= deadline;
        self.refresh()?;
        match sought(self) {
            None if last => {
                let came = self.methods().join(", ");
                let message = format!("not in the log after {within:?}; what came: {came}");
                Err(io::Error::new(io::ErrorKind::TimedOut, message))
            }
            found => Ok(found),
        }
    }

    /// Every entry, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    /// What the client sent of its own: requests and notifications.
    pub fn received(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| matches!(entry.kind, Kind::Request | Kind::Notification))
    }

    /// The methods that the client sent, in order.
    #[must_use]
    pub fn methods(&self) -> Vec<&str> {
        self.received().map(|entry| entry.method.as_str()).collect()
    }

    /// The requests and notifications of one method.
    #[must_use]
    pub fn calls(&self, method: &str) -> Vec<&Entry> {
        self.received().filter(|entry| entry.method == method).collect()
    }

    /// The client's answers to the server's requests of one method, refusals included.
    #[must_use]
    pub fn answers(&self, method: &str) -> Vec<&Entry> {
        let answers = |kind| matches!(kind, Kind::Response | Kind::Refusal);
        let mine = |entry: &&Entry| answers(entry.kind) && entry.method == method;
        self.entries.iter().filter(mine).collect()
    }

    /// The processes that were started to serve, by their ids, in order.
    #[must_use]
    pub fn started(&self) -> Vec<u32> {
        self.of(Kind::Started).map(|entry| entry.pid).collect()
    }

    /// The processes that servers started, by their ids, in order.
    #[must_use]
    pub fn spawned(&self) -> Vec<u32> {
        let pid = |entry: &Entry| entry.body.as_u64().and_then(|pid| u32::try_from(pid).ok());
        self.of(Kind::Spawned).filter_map(pid).collect()
    }
}

/// Whether a process runs. One that ended and was not reaped does not.
#[must_use]
pub fn alive(pid: u32) -> bool {
    let state = match fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state is the field after the name, which is in parentheses and may hold any.
        Ok(stat) => stat.rsplit_once(") ").map(|(_, state)| state.to_owned()),
        Err(_) if Path::new("/proc/self/stat").exists() => None,
        Err(_) => process::Command::new("ps")
            .args(["-o", "stat=", "-p", &pid.to_string()])
            .output()
            .ok()
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()),
    };
    state.is_some_and(|state| !state.is_empty() && !state.starts_with(['Z', 'X']))
}
