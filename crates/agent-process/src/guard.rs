//! The guard: a process that outlives the program by as long as it takes to kill what the program started.
//!
//! Handles kill their trees when they are dropped, but a program that is killed with SIGKILL drops nothing. So a second
//! process, in a session of its own, reads from a pipe what is running. The system closes the pipe however the program ends;
//! then the guard kills what is registered, in the order of [`Priority`], and everything else that carries the run's mark
//! (which holds what was started a moment before it could be registered), and ends itself.
//!
//! A program offers itself as the guard's program by calling [`main_if_asked`] first thing in `main`. Where none does, the
//! guard is a script in `sh` that does the same with less: it does not follow descendants by parent.

mod entry;
mod shell;
mod watch;

use std::{
    collections::BTreeMap,
    env,
    ffi::{CStr, OsStr},
    fs::File,
    io::Write,
    os::unix::ffi::OsStrExt,
    process::Stdio,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    Error, ErrorKind, Result, Tree,
    mark::{Mark, new_run},
    platform,
};

/// How long the guard waits between SIGTERM and SIGKILL for the processes of one priority.
pub const TERM_TIME: Duration = Duration::from_millis(500);

/// How long it waits so in all, whatever the number of priorities.
pub const TERM_TIME_IN_ALL: Duration = Duration::from_millis(1500);

/// The argument by which the program knows that it is to be the guard.
const ARGUMENT: &str = "__agent-process-guard";

/// What the guard is called in lists of processes. It is not the program's name: who ends the program by its name leaves it the one
/// that cleans up.
const NAME: &CStr = c"agent-guard";

/// What the guard says once nothing but the end of its pipe ends it.
const READY: &str = "ready";

const START_TIME: Duration = Duration::from_secs(10);

static OFFERED: OnceLock<()> = OnceLock::new();

/// Lets this program be its own guard: to be called first thing in `main`, before a runtime or a thread exists. It returns at
/// once, unless the program was started to be the guard: then it never returns.
pub fn main_if_asked() {
    let mut args = env::args_os().skip(1);
    if args.next().as_deref() == Some(OsStr::new(ARGUMENT)) {
        let run = args.next().unwrap_or_default();
        watch::main(&run.to_string_lossy());
    }
    let _ = OFFERED.set(());
}

/// The order in which the guard kills: the lower first, so that a debuggee goes before the adapter that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// What an adapter debugs.
    pub const DEBUGGEE: Self = Self(10);
    /// What holds a debuggee.
    pub const ADAPTER: Self = Self(20);
    /// Everything else.
    pub const LAST: Self = Self(255);
}

/// Who guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GuardKind {
    /// The program itself, started once more.
    Program,
    /// A script in `sh`.
    Shell,
    /// Nobody: what runs when the program is killed lives on.
    Nobody,
}

/// One run's guard. It is started with the first program that is; its pipe closes when the last clone, the last
/// [`crate::Process`] and the last [`Watched`] are dropped. A guard that was killed is replaced before the next start.
#[derive(Debug, Clone)]
pub struct Guard {
    inner: Arc<Inner>,
}

/// Something that the guard kills when the program ends, until this is dropped.
#[derive(Debug)]
pub struct Watched {
    guard: Arc<Inner>,
    number: Option<u64>,
}

#[derive(Debug)]
struct Inner {
    kind: GuardKind,
    run: String,
    numbers: AtomicU64,
    starting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Never blocks: a guard that does not read counts as lost.
    pipe: Option<File>,
    id: Option<u32>,
    entries: BTreeMap<u64, String>,
}

impl Guard {
    /// This program if it called [`main_if_asked`], a script in `sh` otherwise.
    pub fn new() -> Self {
        match OFFERED.get() {
            Some(()) => Self::of_kind(GuardKind::Program),
            None => Self::shell(),
        }
    }

    /// A script in `sh`, whatever the program offers.
    pub fn shell() -> Self {
        Self::of_kind(GuardKind::Shell)
    }

    /// No guard: dropped handles still kill, a killed program's children live on.
    pub fn nobody() -> Self {
        Self::of_kind(GuardKind::Nobody)
    }

    fn of_kind(kind: GuardKind) -> Self {
        Self {
            inner: Arc::new(Inner {
                kind,
                run: new_run(),
                numbers: AtomicU64::new(1),
                starting: tokio::sync::Mutex::new(()),
                state: Mutex::default(),
            }),
        }
    }

    /// Who guards.
    pub fn kind(&self) -> GuardKind {
        self.inner.kind
    }

    /// The guard's process id, if it runs.
    pub fn id(&self) -> Option<u32> {
        self.inner.state().id
    }

    /// Starts the guard if it does not run, and waits until it listens. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::GuardFailed`].
    pub async fn ready(&self) -> Result<()> {
        let _one_starts = self.inner.starting.lock().await;
        if self.inner.kind == GuardKind::Nobody || self.inner.state().pipe.is_some() {
            return Ok(());
        }
        let failed = |why: &str, error| {
            Error::new(ErrorKind::GuardFailed, format!("the guard {why}")).with_source(error)
        };
        let (child, pipe) = self.start().await.map_err(|error| failed("did not start", error))?;
        let id = child.id();
        {
            let mut state = self.inner.state();
            let known: String = state.entries.values().map(String::as_str).collect();
            (&pipe).write_all(known.as_bytes()).map_err(|error| failed("does not read", error))?;
            state.pipe = Some(pipe);
            state.id = id;
        }
        tokio::spawn(reap(child, id, Arc::downgrade(&self.inner)));
        Ok(())
    }

    /// Has the guard kill a process that something else started, such as a debuggee, with its tree. The guard has to be
    /// [`Guard::ready`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::GuardFailed`] if the guard does not run.
    pub fn watch(&self, tree: Tree, priority: Priority) -> Result<Watched> {
        if self.inner.kind == GuardKind::Nobody {
            return Ok(self.unwatched());
        }
        let number = self.inner.next();
        let line = entry::register(number, &tree, priority);
        let mut state = self.inner.state();
        state.tell(&line).map_err(|error| {
            Error::new(ErrorKind::GuardFailed, "the guard does not listen").with_source(error)
        })?;
        state.entries.insert(number, line);
        drop(state);
        Ok(Watched { guard: self.inner.clone(), number: Some(number) })
    }

    pub(crate) fn unwatched(&self) -> Watched {
        Watched { guard: self.inner.clone(), number: None }
    }

    pub(crate) fn new_mark(&self) -> Mark {
        Mark::new(&self.inner.run, self.inner.next())
    }

    async fn start(&self) -> std::io::Result<(Child, File)> {
        let mut child = self
            .command()?
            .env_clear()
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .current_dir(platform::neutral_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let mut line = String::new();
        timeout(START_TIME, BufReader::new(stdout).read_line(&mut line)).await??;
        if line.trim_end() != READY {
            let said = format!("it said {line:?} instead of {READY:?}");
            return Err(std::io::Error::other(said));
        }
        let pipe = stdin.into_owned_fd()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok((child, pipe.into()))
    }

    fn command(&self) -> std::io::Result<Command> {
        if self.inner.kind == GuardKind::Shell {
            return Ok(shell::command(&self.inner.run));
        }
        let mut command = Command::new(platform::own_program()?);
        command.arg0(OsStr::from_bytes(NAME.to_bytes()));
        command.arg(ARGUMENT).arg(&self.inner.run);
        Ok(command)
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.guard.state();
        state.entries.remove(&number);
        // A guard that is gone has nothing to forget.
        let _ = state.tell(&entry::release(number));
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

impl State {
    fn tell(&mut self, line: &str) -> std::io::Result<()> {
        let told = match &self.pipe {
            // A line is far shorter than what a pipe takes in one piece, so none arrives torn.
            Some(pipe) => (&*pipe).write_all(line.as_bytes()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        if told.is_err() {
            self.pipe = None;
            self.id = None;
        }
        told
    }
}

async fn reap(mut child: Child, id: Option<u32>, guard: Weak<Inner>) {
    let _ = child.wait().await;
    if let Some(guard) = guard.upgrade() {
        let mut state = guard.state();
        if state.id == id {
            state.pipe = None;
            state.id = None;
        }
    }
}
