//! A checkout with a debugger, and the count of everything that it started.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use agent_debug::{Debugger, debug_tool};
use agent_process::{Command as Started, Finder, Guard, Launcher, Sandbox, Trust};
use agent_tool_core::{Context, ToolError, ToolOutput};
use agent_workspace::Workspace;
use serde_json::Value;
use tempfile::TempDir;

/// The variable by which everything that a test started is found, whatever became of its parent.
pub(crate) const TOKEN: &str = "AGENT_DEBUG_TEST";

/// How long processes may take to be gone once nothing holds them.
const GONE_TIME: Duration = Duration::from_secs(5);

/// How long something may take to come on a machine that has much else to do.
const COME_TIME: Duration = Duration::from_secs(60);

/// A checkout in a folder of its own.
pub(crate) struct Checkout {
    pub(crate) folder: TempDir,
    pub(crate) debugger: Debugger,
    token: String,
}

/// Adds the token to the environment of whatever is started.
#[derive(Debug)]
struct Marked(String);

impl Sandbox for Marked {
    fn name(&self) -> &str {
        "marked"
    }

    fn rewrite(&self, mut command: Started) -> Result<Started, String> {
        command.environment.insert(TOKEN.into(), self.0.clone().into());
        Ok(command)
    }
}

impl Checkout {
    /// A trusted one with these files, where programs are looked for in these folders.
    pub(crate) fn new<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        search_path: &[PathBuf],
    ) -> Self {
        Self::with(files, search_path, Trust::Trusted)
    }

    pub(crate) fn with<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        search_path: &[PathBuf],
        trust: Trust,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let token = format!("{}.{number}", std::process::id());
        let launcher = Launcher::new(Guard::new()).sandbox(Marked(token.clone()));
        let workspace = Workspace::open(folder.path()).unwrap();
        let finder =
            Finder::new(launcher.clone()).search_path(std::env::join_paths(search_path).unwrap());
        let debugger = Debugger::with_finder(workspace, launcher, finder, trust);
        Self { folder, debugger, token }
    }

    /// Drops the debugger, and with it its session.
    pub(crate) fn let_go(self) -> Self {
        let Self { folder, debugger, token } = self;
        drop(debugger);
        let launcher = Launcher::new(Guard::nobody());
        let workspace = Workspace::open(folder.path()).unwrap();
        let debugger = Debugger::new(workspace, launcher, Trust::Untrusted);
        Self { folder, debugger, token }
    }

    /// One call of the tool.
    pub(crate) async fn call(&self, args: Value) -> Result<ToolOutput, ToolError> {
        debug_tool(self.debugger.clone()).call(args, &Context::detached()).await
    }

    /// The data of a call that is to succeed.
    pub(crate) async fn data(&self, args: Value) -> Value {
        match self.call(args.clone()).await {
            Ok(output) => output.data,
            Err(error) => panic!("{args}: {} {}", error.code, error.message),
        }
    }

    /// The code of a call that is to fail.
    pub(crate) async fn code(&self, args: Value) -> String {
        match self.call(args.clone()).await {
            Err(error) => error.code.into_owned(),
            Ok(output) => panic!("{args}: {}", output.joined_text()),
        }
    }

    /// Builds a program in the checkout.
    pub(crate) fn build(&self, words: &[&str]) {
        let built =
            Command::new(words[0]).args(&words[1..]).current_dir(self.folder.path()).output();
        let built = built.unwrap_or_else(|error| panic!("{words:?}: {error}"));
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }

    /// Everything of this checkout that runs.
    pub(crate) fn processes(&self) -> Vec<String> {
        processes_of(&self.token)
    }

    /// What marks everything of this checkout.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Holds that nothing of this checkout is left; the system may take a moment.
    pub(crate) fn nothing_left(&self) {
        let deadline = Instant::now() + GONE_TIME;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left behind: {left:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Everything that runs with this token: its id and its command line.
pub(crate) fn processes_of(token: &str) -> Vec<String> {
    let wanted = format!("{TOKEN}={token}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()) {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(format!("{name} {}", String::from_utf8_lossy(&words).replace('\0', " ")));
        }
    }
    found
}

/// How many of these sleep for so long.
pub(crate) fn sleeping(processes: &[String], time: &str) -> usize {
    let wanted = format!(" sleep {time} ");
    processes.iter().filter(|words| words.ends_with(&wanted)).count()
}

/// Whether somebody listens on a port of this machine, without a connection.
pub(crate) fn listening(port: u16) -> bool {
    let port = format!(":{port:04X} ");
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    tables
        .iter()
        .flat_map(|table| table.lines())
        .any(|line| line.contains(&port) && line.contains(" 0A "))
}

/// The memory of this process that is in use, in KiB.
pub(crate) fn memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Waits until something of another process holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + COME_TIME;
    while !holds() {
        assert!(Instant::now() < deadline, "it does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a test of several tasks.
pub(crate) fn block_on<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(test)
}

/// Runs a test on one thread, in which the clock can be stopped after the first part: what real processes do takes real time.
pub(crate) fn paused_after<T>(first: impl Future<Output = T>, then: impl AsyncFnOnce(T)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let first = first.await;
        then(first).await;
    });
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// The text of a program of the fixtures.
pub(crate) fn program(path: &str) -> String {
    fs::read_to_string(root().join("fixtures/dap/programs").join(path)).unwrap()
}

/// The line of a program that is marked with this word.
pub(crate) fn line(text: &str, mark: &str) -> u32 {
    let mark = format!("BP:{mark}");
    let index = text.lines().position(|line| line.split_whitespace().any(|word| word == mark));
    u32::try_from(index.unwrap_or_else(|| panic!("no {mark}")) + 1).unwrap()
}

/// What the folders of this machine's search path are, those of the installed tools before them.
pub(crate) fn search_path() -> Vec<PathBuf> {
    let mut folders = vec![root().join(".tools/debugpy/bin")];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    folders
}
