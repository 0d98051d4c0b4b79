use std::{fmt, process::ExitStatus, time::Duration};

use crate::platform;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitReport {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// The last lines of its error output, oldest first, if its [`crate::Tail`] had them.
    pub stderr: Vec<String>,
}

/// How long each step of [`crate::Process::shutdown`] waits for the process before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownSteps {
    /// After its input was closed; one second by default.
    pub after_stdin: Duration,
    /// After SIGTERM to its tree; one second by default.
    pub after_term: Duration,
    /// After SIGKILL to its tree, for the system to take it away; one second by default.
    pub after_kill: Duration,
}

/// What a shutdown took.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shutdown {
    /// How the process ended; none if the system had not taken it away in time.
    pub exit: Option<ExitReport>,
    /// The step after which it ended.
    pub by: ShutdownStep,
    /// How many processes of its tree were killed after it had ended, or with it.
    pub killed: usize,
    /// The ids of those that live nevertheless, such as ones stuck in the kernel.
    pub left: Vec<u32>,
}

/// The steps of a shutdown, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ShutdownStep {
    /// It had ended before.
    Already,
    /// It ended once its input was closed.
    Stdin,
    /// It ended by SIGTERM, or on it.
    Term,
    /// It had to be killed.
    Kill,
}

impl Default for ShutdownSteps {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self { after_stdin: second, after_term: second, after_kill: second }
    }
}

impl ShutdownSteps {
    /// The default steps: a second each.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait after the input was closed.
    pub fn after_stdin(mut self, time: Duration) -> Self {
        self.after_stdin = time;
        self
    }

    /// How long to wait after SIGTERM.
    pub fn after_term(mut self, time: Duration) -> Self {
        self.after_term = time;
        self
    }

    /// How long to wait after SIGKILL.
    pub fn after_kill(mut self, time: Duration) -> Self {
        self.after_kill = time;
        self
    }
}

impl ExitReport {
    pub(crate) fn new(status: Option<ExitStatus>, stderr: Vec<String>) -> Self {
        Self {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(platform::ending_signal),
            stderr,
        }
    }

    /// Whether it ended by itself with the code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// `exited with code 3`, then the error output, a line each behind `> `: it is the process's, and no sentence of ours.
impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exited with code {code}")?,
            (None, Some(signal)) => {
                write!(f, "ended by signal {signal}{}", signal_name(signal))?;
            }
            (None, None) => f.write_str("ended, and the system did not say how")?,
        }
        for line in &self.stderr {
            write!(f, "\n> {line}")?;
        }
        Ok(())
    }
}

/// The names that have one number on every system.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}
