use std::{
    env, fs,
    future::Future,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use agent_process::{Guard, Launcher, Process, Program};
use tokio::io::{AsyncBufReadExt, BufReader};

/// The variable that names what the child is to do.
pub(crate) const ROLE: &str = "AGENT_PROCESS_TEST_ROLE";

/// The variable by which a trial counts its processes; the crate itself knows nothing of it.
pub(crate) const TRIAL: &str = "AGENT_PROCESS_TEST_TRIAL";

/// Longer than anything takes on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("the trial hangs") })
}

/// What one trial starts, so that what is left of it can be counted.
pub(crate) struct Count(String);

impl Count {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{number}", std::process::id()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// This program in a role.
    pub(crate) fn child(&self, role: &str) -> Program {
        Program::new(own_program(), "/").env(ROLE, role).env(TRIAL, &self.0)
    }

    /// The ids of the trial's processes that live.
    pub(crate) fn living(&self) -> Vec<u32> {
        let entry = format!("{TRIAL}={}", self.0).into_bytes();
        let has = |id: &u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|found| found == entry) && !is_zombie(*id)
        };
        ids().filter(has).collect()
    }

    /// Waits until none is left.
    pub(crate) fn none_is_left(&self) {
        let deadline = Instant::now() + LONG;
        while !self.living().is_empty() {
            let lines: Vec<String> = self.living().iter().map(|id| command_line(*id)).collect();
            assert!(Instant::now() < deadline, "left after {LONG:?}: {lines:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A trial that failed leaves nothing to the next one.
impl Drop for Count {
    fn drop(&mut self) {
        for id in self.living() {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

pub(crate) fn own_program() -> PathBuf {
    env::current_exe().unwrap()
}

pub(crate) fn ids() -> impl Iterator<Item = u32> {
    let listed = fs::read_dir("/proc").unwrap();
    listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

pub(crate) fn lives(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists() && !is_zombie(id)
}

pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The fields of proc_pid_stat(5) after the name: state, parent, group, session, ….
pub(crate) fn stat(id: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn is_zombie(id: u32) -> bool {
    stat(id).is_none_or(|fields| fields[0] == "Z")
}

fn command_line(id: u32) -> String {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let role = environment.split('\0').find(|entry| entry.starts_with(ROLE)).unwrap_or_default();
    format!("{id} {role}")
}

/// A launcher without guard, for trials whose program does not die.
pub(crate) fn launcher() -> Launcher {
    Launcher::new(Guard::nobody())
}

/// Waits for the child's first line, which it prints when it stands as the trial needs it.
pub(crate) async fn ready(process: &Process) -> String {
    let mut line = String::new();
    let stdout = process.take_stdout().unwrap();
    BufReader::new(stdout).read_line(&mut line).await.unwrap();
    assert!(line.starts_with("ready"), "{line:?}; {:?}", process.exited());
    line.trim_end().to_owned()
}
