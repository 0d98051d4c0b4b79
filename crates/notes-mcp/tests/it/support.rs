//! An application on disk, and calls of the tools without a protocol.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use notes_mcp::{Clock, NotesTools, Refusal, Site};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::Value;
use tempfile::TempDir;

/// No test waits longer for what has to come.
pub(crate) const IN_TIME: Duration = Duration::from_secs(20);

/// A user without any right to files of another one.
const NOBODY: u32 = 65_534;

/// An application with an empty folder for its log and one for its notes.
pub(crate) struct App {
    folder: TempDir,
}

impl App {
    pub(crate) fn new() -> Self {
        let app = Self { folder: TempDir::new().expect("a folder") };
        fs::create_dir_all(app.path("app/logs")).expect("a folder for the log");
        fs::create_dir_all(app.path("app/data/notes")).expect("a folder for the notes");
        app
    }

    pub(crate) fn with_log(log: impl AsRef<[u8]>) -> Self {
        let app = Self::new();
        app.write("app/logs/app.log", log);
        app
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path("app/logs/app.log")
    }

    pub(crate) fn note(&self, name: &str) -> PathBuf {
        self.path("app/data/notes").join(name)
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn append(&self, bytes: impl AsRef<[u8]>) {
        let log = fs::OpenOptions::new().append(true).open(self.log());
        log.expect("the log").write_all(bytes.as_ref()).expect("written");
    }

    /// Appends to the log, which is made where it is missing.
    pub(crate) fn append_new(&self, bytes: impl AsRef<[u8]>) {
        let log = fs::OpenOptions::new().append(true).create(true).open(self.log());
        log.expect("the log").write_all(bytes.as_ref()).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).expect("a file")
    }

    /// What is in the folder of the log, but for what is the server's own.
    pub(crate) fn logs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("app/logs")).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).into_string().expect("a name")).collect();
        names.retain(|name| name != ".rotate");
        names.sort();
        names
    }

    pub(crate) fn site(&self) -> Site {
        Site::open(self.root()).expect("a site")
    }

    pub(crate) fn tools(&self) -> NotesTools {
        NotesTools::new(self.site())
    }

    pub(crate) fn call(&self, name: &str, arguments: Value) -> Result<Value, Refusal> {
        call(&self.tools(), name, arguments)
    }

    /// Hands the application to a user without rights, and says whom a program should run as to be that user. Where the tests
    /// themselves have no rights there is nothing to do.
    pub(crate) fn hand_over(&self) -> Option<u32> {
        let root = rustix_is_root();
        if root {
            hand_over(self.root());
        }
        root.then_some(NOBODY)
    }
}

/// Says that a test is over, however it ends, to the threads that it would wait for.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn hand_over(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).expect("the owner is changed");
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            hand_over(&entry.expect("an entry").path());
        }
    }
}

fn rustix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

pub(crate) fn call(tools: &NotesTools, name: &str, arguments: Value) -> Result<Value, Refusal> {
    tools.call(name, arguments.as_object().expect("an object"))
}

/// The code of a refusal, or what there was instead.
pub(crate) fn code(result: Result<Value, Refusal>) -> String {
    match result {
        Ok(value) => format!("no refusal: {value}"),
        Err(refusal) => refusal.code().as_str().to_owned(),
    }
}

/// The values of `key` of the objects in a list.
pub(crate) fn each<'a>(list: &'a Value, key: &str) -> Vec<&'a Value> {
    list.as_array().expect("a list").iter().map(|item| &item[key]).collect()
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

pub(crate) fn make_pipe(path: &Path) {
    let mode = Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a pipe");
}

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub(crate) struct StubClock(Arc<Hands>);

#[derive(Debug)]
struct Hands {
    now: Mutex<SystemTime>,
    elapsed: AtomicU64,
    /// How far each look at the time moves it, in milliseconds.
    step: AtomicU64,
}

impl StubClock {
    pub(crate) fn new() -> Self {
        let now = Mutex::new(SystemTime::now());
        Self(Arc::new(Hands { now, elapsed: AtomicU64::new(0), step: AtomicU64::new(0) }))
    }

    /// A clock whose every reading is later by so many milliseconds.
    pub(crate) fn stepping(milliseconds: u64) -> Self {
        let clock = Self::new();
        clock.0.step.store(milliseconds, Ordering::SeqCst);
        clock
    }

    pub(crate) fn forward(&self, by: Duration) {
        *self.0.now.lock().expect("the time") += by;
    }

    pub(crate) fn back(&self, by: Duration) {
        *self.0.now.lock().expect("the time") -= by;
    }
}

impl Clock for StubClock {
    fn now(&self) -> SystemTime {
        *self.0.now.lock().expect("the time")
    }

    fn elapsed(&self) -> Duration {
        let step = self.0.step.load(Ordering::SeqCst);
        Duration::from_millis(self.0.elapsed.fetch_add(step, Ordering::SeqCst))
    }
}
