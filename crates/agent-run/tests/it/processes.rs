//! Nothing that a test started is left when the test ends.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The variable by which everything that descends from a test is known.
const MARK: &str = "AGENT_RUN_TEST_MARK";

/// How long a process that was told to end may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Marks processes and, dropped, asserts that none with the mark is left.
pub(crate) struct Mark {
    value: String,
}

impl Mark {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self { value: format!("{}-{count}", std::process::id()) }
    }

    /// Children inherit it from the child.
    pub(crate) fn put_on(&self, command: &mut Command) {
        command.env(MARK, &self.value);
    }

    /// The command lines of all processes that carry the mark.
    pub(crate) fn left(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.value);
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let marked = processes.filter_map(|process| {
            // A process that is over, or someone else's, has no environment to read.
            let environment = fs::read(process.path().join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == mark.as_bytes()).then_some(())?;
            let command = fs::read(process.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&command).replace('\0', " "))
        });
        marked.filter(|command| !command.is_empty()).collect()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let began = Instant::now();
        let mut left = self.left();
        while !left.is_empty() && began.elapsed() < PATIENCE {
            thread::yield_now();
            left = self.left();
        }
        if !thread::panicking() {
            assert_eq!(left, Vec::<String>::new(), "processes that outlived the test");
        }
    }
}
